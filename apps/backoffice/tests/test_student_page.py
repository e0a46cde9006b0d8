"""The page of one student: everything about them, credentials again, block and unblock."""

from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from apps.classroom.access_links import make_token
from apps.classroom.accounts import set_password
from apps.classroom.models import Account, Enrolment, Provisioning
from apps.classroom.provisioning import grant_access
from apps.core.models import Mail
from apps.students.models import Student
from apps.students.sign_in_links import SignInLink, link_url, send_sign_in_link
from tests.helpers.admin import admin_url, make_staff
from tests.helpers.one_of_everything import make_one_of_everything

pytestmark = pytest.mark.django_db
PASSWORD = "estudiar-de-noche-7"
NEUTRAL = "Ahora mismo no puedes entrar"


@pytest.fixture
def ana(carla):
    """A student with an order, whose password is set."""
    ana = make_one_of_everything().student
    account = Account.objects.get(student=ana)
    subject = Enrolment.objects.filter(student=ana, lesson=None).get().subject
    Provisioning.objects.update(items=[[subject.pk, None]])
    set_password(token=make_token(account), first_name="Ana", last_name="Gil", password=PASSWORD)
    return ana


def press(client, button, student, **sent):
    url = reverse(f"admin:{button}", args=[student.pk])
    answer = client.post(url, sent, follow=True)
    assert answer.status_code == 200
    return [str(message) for message in answer.context["messages"]]


def sign_in(email, password=PASSWORD):
    device = Client()
    return device, device.post("/aula", {"email": email, "password": password}, follow=True).text


def test_page_shows_the_students_rows_and_those_of_nobody_else(client, ana):
    other = make_one_of_everything()
    order = ana.orders.get()
    page = client.get(admin_url(Student, "change", ana.pk)).text
    for part in (admin_url(type(order), "change", order.pk), "Acceso", "Confirmación de la compra",
                 "Dispositivos", "antes"):  # fmt: skip
        assert part in page, part
    assert other.email not in page
    assert admin_url(type(order), "change", other.pk) not in page


def test_page_says_which_order_waits_for_its_access_and_why(client, ana):
    number = ana.orders.get().pk
    Provisioning.objects.update(status="failed", last_error="El aula no contesta.")
    page = client.get(admin_url(Student, "change", ana.pk)).text
    assert f"Pedido {number}: fallido. El aula no contesta." in page
    Provisioning.objects.update(status="created")
    assert "El aula no contesta." not in client.get(admin_url(Student, "change", ana.pk)).text


def test_page_hides_what_the_user_may_not_see(client, ana):
    make_staff("eva", "view_student", client=client)
    page = client.get(admin_url(Student, "change", ana.pk)).text
    for part in (
        "Pedidos</h2>",
        "Correos</h2>",
        "Dispositivos</h2>",
        "Bloquear",
        "poner la contraseña",
    ):
        assert part not in page


def test_credentials_are_sent_once_for_a_click(client, ana):
    click = {"form_key": uuid4()}
    assert ana.email in press(client, "classroom_account_credenciales", ana, **click)[0]
    again = press(client, "classroom_account_credenciales", ana, **click)
    assert again == ["Ya estaba hecho."]
    assert Mail.objects.filter(template="classroom_link", to=ana.email).count() == 1
    # A malformed key is a click of its own, and no error.
    assert ana.email in press(client, "classroom_account_credenciales", ana, form_key="a\0b")[0]
    Account.objects.all().delete()
    assert "no tiene cuenta" in press(client, "classroom_account_credenciales", ana)[0]


def test_block_ends_sessions_pauses_access_and_is_not_disclosed(client, ana, settings):
    settings.STUDENT_LOGIN = True
    device, page = sign_in(ana.email)
    assert "Hola, Ana" in page
    assert press(client, "students_student_bloquear", ana, reason="") != []
    assert not Student.objects.exclude(blocked_at=None).exists()

    press(client, "students_student_bloquear", ana, reason="Comparte su cuenta")
    assert press(client, "students_student_bloquear", ana, reason="x") == ["Ya estaba hecho."]
    assert "Hola, Ana" not in device.get("/aula").text
    assert Provisioning.objects.get(student=ana).paused_for == ["blocked"]
    assert set(Enrolment.objects.filter(lesson=None).values_list("state", flat=True)) == {"paused"}
    for text in (
        sign_in(ana.email)[1],
        _by_link(ana),
    ):
        assert NEUTRAL in text
        assert "bloque" not in text.lower()
    assert NEUTRAL not in sign_in(ana.email, "otra-clave-mala-1")[1]
    assert "Comparte su cuenta" in client.get(admin_url(Student, "change", ana.pk)).text
    assert LogEntry.objects.filter(change_message__startswith="Bloqueo").count() == 1


def _by_link(student):
    send_sign_in_link(student.email)
    url = str(link_url(SignInLink.objects.get()))
    return Client().post(url[url.index("/login") :]).text


def test_purchase_of_a_blocked_student_waits_until_the_block_ends(client, ana):
    press(client, "students_student_bloquear", ana, reason="Comparte su cuenta")
    grant_access(student=ana, items=[(1, None)], order_id=99)
    assert Provisioning.objects.get(order_id=99).paused_for == ["blocked"]

    press(client, "students_student_desbloquear", ana)
    assert press(client, "students_student_desbloquear", ana) == ["Ya estaba hecho."]
    assert set(map(str, Provisioning.objects.values_list("paused_for", flat=True))) == {"[]"}
    assert "Hola, Ana" in sign_in(ana.email)[1]
