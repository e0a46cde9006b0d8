"""Staff change a student's address in the admin: never silently."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.classroom.access_links import account_for, make_token
from apps.classroom.accounts import set_password
from apps.classroom.models import AccessChange, Account
from apps.classroom.sync import sync_classroom
from apps.core.mail.registry import render_mail
from apps.core.models import Mail
from apps.students.models import SignIn, Student
from apps.students.services import find_or_create_student
from tests.helpers.admin import admin_url

pytestmark = pytest.mark.django_db
PASSWORD = "estudiar-de-noche-7"


@pytest.fixture
def ana():
    ana = find_or_create_student(email="ana@example.com", phone="+34600111111", first_name="Ana")
    account = Account.objects.create(
        student=ana,
        external_id=str(ana.pk),
        username=ana.email,
        address=ana.email,
        made_by_shop=True,
        classroom="local",
    )
    set_password(token=make_token(account), first_name="Ana", last_name="Gil", password=PASSWORD)
    return ana


@pytest.fixture
def carla(client):
    client.force_login(User.objects.create_superuser("carla"))
    return client


def change(client, student, **changes):
    data = {"email": student.email, "first_name": "Ana", "last_name": "Gil", "phone": ""}
    empty = {f"consents-{name}_FORMS": "0" for name in ("TOTAL", "INITIAL")}
    return client.post(admin_url(Student, "change", student.pk), {**data, **empty, **changes})


def sign_in(email):
    client = Client()
    client.post("/aula", {"email": email, "password": PASSWORD})
    return client


def is_signed_in(client):
    return "Hola, Ana" in client.get("/aula").text


def test_both_addresses_get_a_mail_and_every_session_ends(carla, ana):
    device = sign_in("ana@example.com")
    link = make_token(Account.objects.get())
    assert is_signed_in(device)
    assert change(carla, ana, email="Nueva@Example.com").status_code == 302

    assert Student.objects.get().email == "nueva@example.com"
    mails = Mail.objects.filter(template="email_changed").order_by("to")
    assert [mail.to for mail in mails] == ["ana@example.com", "nueva@example.com"]
    old, new = (render_mail(mail.template, mail.context, reveal=True) for mail in mails)
    assert "este ya no sirve para entrar" in old.text
    assert "nueva@example.com" not in old.text + old.html
    assert "Este es ahora el correo de tu cuenta" in new.text
    assert "ana@example.com" not in new.text + new.html
    assert not is_signed_in(device)
    assert not SignIn.objects.filter(ended_at=None).exists()
    assert account_for(link) is None
    assert "Correo" in LogEntry.objects.get().get_change_message()


def test_the_classroom_moves_the_user_name(carla, ana):
    change(carla, ana, email="nueva@example.com")
    sync_classroom.func(change_id=AccessChange.objects.get().pk)

    assert Account.objects.get().username == "nueva@example.com"
    assert not is_signed_in(sign_in("ana@example.com"))
    assert is_signed_in(sign_in("nueva@example.com"))


@pytest.mark.parametrize("same", ["ana@example.com", "ANA@example.com"])
def test_other_changes_end_no_session_and_send_no_mail(carla, ana, same):
    device = sign_in("ana@example.com")
    assert change(carla, ana, email=same, last_name="Gil Ruiz").status_code == 302
    assert Student.objects.get().last_name == "Gil Ruiz"
    assert not Mail.objects.exists()
    assert not AccessChange.objects.exists()
    assert is_signed_in(device)


def test_the_address_of_somebody_else_is_refused(carla, ana):
    find_or_create_student(email="bruno@example.com", phone="+34600111112")
    assert change(carla, ana, email="Bruno@example.com").status_code == 200
    assert not Mail.objects.exists()


def test_an_erased_student_gets_no_address_again(carla, ana):
    Student.objects.update(email="borrado-1@borrado.invalid", erased_at=timezone.now())
    change(carla, ana, email="nueva@example.com")
    assert Student.objects.get().email == "borrado-1@borrado.invalid"


@pytest.mark.postgres
def test_the_form_locks_the_orders_before_the_student_as_a_payment_does(carla, ana):
    with CaptureQueriesContext(connection) as queries:
        assert change(carla, ana, email="nueva@example.com").status_code == 302
    locks = [
        query["sql"]
        for query in queries
        if "FOR NO KEY UPDATE" in query["sql"]
        or query["sql"].startswith('UPDATE "students_student"')
    ]
    assert 'FROM "orders_order"' in locks[0]
