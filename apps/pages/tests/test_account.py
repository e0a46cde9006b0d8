"""Sign-in by link, and the account page."""

import json
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import monotonic

import pytest
import time_machine
from django.test import Client
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import escape

from apps.classroom import views as classroom
from apps.classroom.access_links import make_token
from apps.classroom.accounts import set_password
from apps.classroom.models import Account, Enrolment, Progress
from apps.core.mail.recipient_limits import ALL_FORMS, LINKS_OF_NETWORK, Origin, may_be_sent
from apps.core.mail.registry import NoLongerDue, render_mail
from apps.core.models import Mail, SiteSettings
from apps.core.privacy import erase_all
from apps.core.web import timing
from apps.orders.models import Gift, Order, OrderLine, Payment, ReferralReward
from apps.orders.plan.plan_link import plan_url
from apps.orders.withdrawal_link import last_day_to_withdraw, withdrawal_url
from apps.pages import account
from apps.pages.models import Opinion
from apps.pages.opinions.asking import link_path
from apps.pricing.models import PromoCode
from apps.students.confirmed import confirm_address
from apps.students.models import ErasureRequest, SignInLink, Student
from apps.students.services import find_or_create_student
from apps.students.sign_in_links import LINK_LIFETIME, link_url, use_link
from tests.helpers.factories import make_subject, set_terms
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def student_login(settings):
    settings.STUDENT_LOGIN = True
    settings.SITE_URL = "https://academia.example"


@pytest.fixture
def ana(db):
    return find_or_create_student(
        email="ana@example.com", phone="+34600111111", first_name="Ana", last_name="Gil"
    )


def read(answer):
    return answer.content.decode()


def path_of(link):
    return link_url(link).removeprefix("https://academia.example")


def ask(client, email="ana@example.com"):
    return client.post("/login", {"email": email})


@pytest.fixture
def signed_in(client, ana):
    ask(client)
    client.post(path_of(SignInLink.objects.get()))
    return client


def test_sign_in_link_works_after_confirmation(client, ana):
    answer = ask(client, " ANA@example.com ")
    assert "Si hay compras con" in read(answer)
    mail = Mail.objects.get()
    assert (mail.template, mail.to) == ("sign_in_link", "ana@example.com")
    text = render_mail(mail.template, mail.context, reveal=True).text
    (path,) = re.findall(r"https://academia\.example(/login/entrar\S+)", text)
    page = client.get(path)
    assert "Vas a entrar como" in read(page)
    assert "/mi-cuenta" not in str(page.headers)
    answer = client.post(path)
    assert (answer.status_code, answer["Location"]) == (302, "/mi-cuenta")
    assert "ana@example.com" in read(client.get("/mi-cuenta"))
    assert client.get("/api/me").json()["student"]["email"] == "ana@example.com"


def test_opening_the_link_without_confirming_does_not_use_it_up(client, ana):
    ask(client)
    path = path_of(SignInLink.objects.get())
    for _ in range(5):
        assert client.get(path).status_code == client.head(path).status_code == 200
    assert client.post(path).status_code == 302


def test_sign_in_link_works_once_within_30_minutes(client, ana):
    with time_machine.travel(timezone.now(), tick=False) as clock:
        ask(client)
        path = path_of(SignInLink.objects.get())
        clock.shift(LINK_LIFETIME)
        assert client.get(path).status_code == client.post(path).status_code == 410
        ask(client)
        path = path_of(SignInLink.objects.latest("pk"))
        assert client.post(path).status_code == 302
        assert Client().post(path).status_code == 410
        assert "El enlace ya no sirve" in read(Client().get(path))


def test_sign_in_link_from_before_a_new_password_is_void(client, ana):
    ask(client)
    path = path_of(SignInLink.objects.get())
    account = Account.objects.create(student=ana)
    set_password(
        token=make_token(account), first_name="Ana", last_name="Gil", password="una-clave-9-larga"
    )

    assert client.get(path).status_code == client.post(path).status_code == 410


@pytest.mark.parametrize("token", ["", "x", "MTI:1tYp:abc", "ñ" * 300])
def test_forged_sign_in_link_is_refused(client, token):
    assert client.post(f"/login/entrar?enlace={token}").status_code == 410
    assert client.get("/api/me").json() == {"student": None}


def test_answer_is_the_same_for_unknown_addresses(client, ana):
    known = read(ask(client)).replace("ana@example.com", "X")
    unknown = read(ask(client, "nadie@example.com")).replace("nadie@example.com", "X")
    assert known == unknown
    assert Mail.objects.count() == 1


@pytest.mark.parametrize("path", ["/login", "/aula/enlace"])
def test_answer_takes_the_same_time_for_unknown_addresses(client, ana, path, monkeypatch):
    monkeypatch.setattr(timing, "MINIMUM_S", 0.5)
    for email in ("ana@example.com", "nadie@example.com"):
        began = monotonic()
        assert client.post(path, {"email": email}).status_code == 200
        assert monotonic() - began >= 0.5


@pytest.mark.parametrize("path", ["/login", "/aula/enlace"])
def test_erased_student_gets_no_sign_in_link(client, ana, path):
    Account.objects.create(student=ana)
    erase_all("ana@example.com")
    client.post(path, {"email": Student.objects.get().email})
    assert not Mail.objects.exists()


def test_address_gets_at_most_three_links_per_hour(client, ana):
    for _ in range(3):
        assert ask(client).status_code == 200
    refused = ask(client)
    assert refused.status_code == 429
    assert refused["Retry-After"]
    assert SignInLink.objects.count() == 3


def test_unknown_address_has_the_same_limit(client):
    assert [ask(client, "nadie@example.com").status_code for _ in range(4)] == [200] * 3 + [429]


def test_link_is_void_after_a_change_of_address(client, ana):
    ask(client)
    path = path_of(SignInLink.objects.get())
    Student.objects.filter(pk=ana.pk).update(email="otra@example.com")
    assert client.get(path).status_code == 410
    assert client.post(path).status_code == 410
    assert client.get("/api/me").json() == {"student": None}


def test_used_link_is_not_mailed(client, ana):
    ask(client)
    link = SignInLink.objects.get()
    use_link(path_of(link).partition("enlace=")[2])
    with pytest.raises(NoLongerDue):
        render_mail("sign_in_link", {"link_id": link.pk}, reveal=True)


def test_staff_do_not_see_sign_in_links(client, ana):
    ask(client)
    mail = render_mail("sign_in_link", {"link_id": SignInLink.objects.get().pk}, reveal=False)
    assert "/login/entrar" not in mail.text + mail.html


def test_account_needs_the_setting(signed_in, settings):
    link = SignInLink.objects.create(student=Student.objects.get())
    settings.STUDENT_LOGIN = False
    assert "Sistema en Mantenimiento" in read(signed_in.get("/login"))
    assert signed_in.post("/login", {"email": "ana@example.com"}).status_code == 405
    assert signed_in.get("/mi-cuenta")["Location"] == "/login"
    assert signed_in.post(path_of(link)).status_code == 410


@pytest.mark.parametrize("path", ["/mi-cuenta", "/mi-cuenta/mis-datos.json"])
def test_anonymous_visitor_is_redirected_to_login(client, path):
    assert client.get(path)["Location"] == "/login"


@pytest.mark.parametrize("path", ["/mi-cuenta/datos", "/mi-cuenta/borrado", "/mi-cuenta/salir"])
def test_account_forms_require_a_csrf_token(path):
    assert Client(enforce_csrf_checks=True).post(path).status_code == 403


def test_account_shows_orders_referral_code_and_consents(client, settings):
    order = make_one_of_everything()
    other = make_one_of_everything()
    Order.objects.filter(pk=order.pk).update(card_label="Visa terminada en 4242")
    ask(client, order.student.email)
    client.post(path_of(SignInLink.objects.get()))
    page = read(client.get("/mi-cuenta"))
    assert "Tarjeta de los plazos: Visa terminada en 4242" in page
    assert f"Pedido n.º {order.pk}" in page
    assert f"Pedido n.º {other.pk}" not in page
    assert "187,00\N{NO-BREAK SPACE}€" in page
    assert order.promo_code.code in page
    assert escape(plan_url(order)) in page
    assert "Acepto" in page


def test_account_shows_how_long_one_may_withdraw(signed_in, ana):
    order = make_one_of_everything()
    Order.objects.filter(pk=order.pk).update(student=ana, status="paid", paid_at=timezone.now())
    order.refresh_from_db()
    last_day = last_day_to_withdraw(order.paid_at)
    until = "Puedes desistir hasta el " + date_format(last_day, r"j \d\e F \d\e Y")
    assert until in read(signed_in.get("/mi-cuenta"))
    assert escape(withdrawal_url(order)) in read(signed_in.get("/mi-cuenta"))

    Order.objects.filter(pk=order.pk).update(paid_at=timezone.now() - timedelta(days=17))
    assert "desistir" not in read(signed_in.get("/mi-cuenta"))
    Order.objects.filter(pk=order.pk).update(status="refunded", paid_at=timezone.now())
    assert "desistir" not in read(signed_in.get("/mi-cuenta"))


def test_account_shows_progress_opinions_and_gifts(signed_in, ana):
    SiteSettings.current()
    SiteSettings.objects.update(classroom_progress=True)
    order = make_one_of_everything()
    Order.objects.filter(pk=order.pk).update(student=ana)
    Enrolment.objects.update(student=ana)
    Gift.objects.all().delete()
    Gift.objects.create(order=order, recipient_name="Noa", deliver_on=timezone.localdate())
    Progress.objects.all().delete()
    subject = Enrolment.objects.filter(lesson=None).first().subject
    Progress.objects.create(
        student=ana, subject=subject, done=3, total=5, measured_at=timezone.now()
    )
    Opinion.objects.all().delete()
    opinion = Opinion.objects.create(student=ana, subject=subject)

    page = read(signed_in.get("/mi-cuenta"))
    assert "3 de 5 actividades hechas" in page
    assert "Regalo para Noa: se entrega el" in page
    assert link_path(opinion) in page
    Opinion.objects.update(status="published", rating=4, answered_at=timezone.now())
    page = read(signed_in.get("/mi-cuenta"))
    assert "4 de 5 · publicada" in page
    assert link_path(opinion) not in page


def test_account_lists_rewards_with_their_status(signed_in, ana):
    order = make_one_of_everything()
    ReferralReward.objects.all().delete()
    ReferralReward.objects.create(
        student=ana, friend=order.student, order=order, promo_code=order.promo_code, amount=25,
        held_until=datetime(2026, 12, 24, 12, tzinfo=UTC),
    )  # fmt: skip
    PromoCode.objects.create(
        code="AMIGO-ANA", kind="FIJO", value=15, student=ana, is_referral_code=True
    )
    page = read(signed_in.get("/mi-cuenta"))
    assert "retenida al menos hasta el 24 de diciembre" in page
    assert "25,00\N{NO-BREAK SPACE}€" in page
    assert "tu amigo se ahorra 15,00\N{NO-BREAK SPACE}€" in page


def test_account_runs_the_same_queries_for_one_order_and_many(
    signed_in, django_assert_max_num_queries
):
    ana = Student.objects.get(email="ana@example.com")
    for _ in range(3):
        order = make_one_of_everything()
        order.student = ana
        order.save()
    # Two of them count the visit.
    with django_assert_max_num_queries(22):
        signed_in.get("/mi-cuenta")


def test_account_shows_the_newest_orders_up_to_a_number_of_lines(signed_in, ana, monkeypatch):
    monkeypatch.setattr(account, "MOST_LINES_SHOWN", 3)
    orders = []
    for days in range(4):
        order = Order.objects.create(
            student=ana, email=ana.email, status="paid", total_amount=0,
            payment_type="full_payment", paid_at=timezone.now() - timedelta(days=days),
        )  # fmt: skip
        kind = "credit" if days == 3 else "free"
        Payment.objects.create(
            order=order, reference=str(days), kind=kind, status="succeeded", amount=0
        )
        for part in "ab":
            subject = make_subject(f"Álgebra {days} {part}")
            OrderLine.objects.create(
                order=order, subject=subject, name=subject.name, subject_name=subject.name,
                degree_name="", university_name="", list_price=0, price=0,
            )  # fmt: skip
        orders.append(order)
    shown = re.findall(r"Pedido n.º (\d+)", read(signed_in.get("/mi-cuenta")))
    # Strangers make orders that a code pays: the oldest was paid with what they had bought.
    assert shown == [str(orders[0].pk), str(orders[3].pk)]


def test_student_can_change_their_data(signed_in, ana):
    answer = signed_in.post(
        "/mi-cuenta/datos",
        {"first_name": "Ana María", "last_name": "Gil", "phone": "600 22 22 22"},
        follow=True,
    )
    assert "Hemos guardado tus datos." in read(answer)
    ana.refresh_from_db()
    assert (ana.first_name, ana.phone) == ("Ana María", "+34600222222")


def test_invalid_phone_is_reported_at_its_field(signed_in, ana):
    answer = signed_in.post("/mi-cuenta/datos", {"first_name": "Ana", "phone": "123"})
    assert "El teléfono debe tener al menos 9 dígitos" in read(answer)
    ana.refresh_from_db()
    assert ana.phone == "+34600111111"


def test_student_can_download_all_their_data(signed_in):
    answer = signed_in.get("/mi-cuenta/mis-datos.json")
    assert answer["Content-Disposition"] == 'attachment; filename="mis-datos.json"'
    assert json.loads(answer.content)["alumno"]["nombre"] == "Ana"


def test_erasure_is_requested_once_and_staff_are_notified(signed_in, ana):
    for _ in range(2):
        answer = signed_in.post("/mi-cuenta/borrado", follow=True)
    assert "Has pedido que se borren tus datos." in read(answer)
    assert ErasureRequest.objects.get().student == ana
    assert Mail.objects.filter(template="erasure_requested").count() == 1
    assert Student.objects.filter(email="ana@example.com").exists(), "staff do it, with a preview"


def test_account_pages_are_not_cached(signed_in):
    for path in ("/mi-cuenta", "/mi-cuenta/mis-datos.json", "/login/entrar?enlace=x"):
        answer = signed_in.get(path)
        assert answer["Cache-Control"] == "no-store, private"
        assert answer["X-Robots-Tag"] == "noindex"


def test_signing_out_ends_the_session(signed_in):
    signed_in.post("/mi-cuenta/salir")
    assert signed_in.get("/mi-cuenta")["Location"] == "/login"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_confirmations_sign_in_once(ana):
    link = SignInLink.objects.create(student=ana, created_at=timezone.now() - timedelta(minutes=1))
    path = path_of(link)
    answers = in_parallel(lambda: Client().post(path).status_code, 6)
    assert sorted(answers) == [302] + [410] * 5


def test_one_sign_in_opens_account_and_classroom_which_link_to_each_other(signed_in):
    assert signed_in.get("/login")["Location"] == "/mi-cuenta"
    assert 'href="/aula">Ir al aula virtual' in read(signed_in.get("/mi-cuenta"))
    classroom = read(signed_in.get("/aula"))
    assert "Hola, Ana" in classroom
    assert '<a href="/mi-cuenta">Pedidos y pagos</a>' in classroom

    signed_in.post("/aula/salir")

    assert signed_in.get("/mi-cuenta")["Location"] == "/login"
    assert 'href="/login">Entrar sin contraseña' in read(signed_in.get("/aula"))


def test_classroom_does_not_lead_to_an_account_page_that_is_switched_off(client, settings):
    settings.STUDENT_LOGIN = False

    assert 'href="/login">Entrar sin contraseña' not in read(client.get("/aula"))


def test_account_offers_the_rest_of_a_subject_to_those_who_have_lessons(signed_in, monkeypatch):
    subject = make_subject("Cálculo")
    monkeypatch.setattr("apps.pages.account.paid_for_lessons", lambda _: {subject.pk: 52_25})
    assert "Ya has pagado" not in read(signed_in.get("/mi-cuenta"))
    set_terms(lesson_credit=True)
    page = read(signed_in.get("/mi-cuenta"))
    assert "Ya has pagado 52,25" in page
    assert f"/compra?asignatura={subject.pk}" in page


# ---------------------------------------------------------------- whose links are always sent
def links_of_an_hour(client, students, *, path="/login"):
    """The states of the mails after each of these has asked, all from one network."""
    for student in students:
        client.post(path, {"email": student.email})
    links = Mail.objects.filter(template__in=("sign_in_link", "classroom_link"))
    return Counter(links.values_list("status", flat=True))


@pytest.mark.parametrize("path", ["/login", "/aula/enlace"])
def test_links_to_addresses_that_somebody_typed_into_carts_count_as_mails_of_forms(
    client, monkeypatch, path
):
    """Else the academy would write to as many strangers as somebody can type."""
    monkeypatch.setattr(account, "LINKS", replace(account.LINKS, times=1000))
    monkeypatch.setattr(classroom, "LINK_BY_VISITOR", replace(account.LINKS, times=1000))
    strangers = [Student.objects.create(email=f"nadie-{n}@example.com") for n in range(31)]
    # An order that costs nothing gives each an account.
    Account.objects.bulk_create(Account(student=student) for student in strangers)

    links = links_of_an_hour(client, strangers, path=path)

    assert links == {"queued": LINKS_OF_NETWORK.times, "withheld": 1}
    assert ALL_FORMS.used("all") == LINKS_OF_NETWORK.times, "what is withheld takes none"


@pytest.mark.parametrize("path", ["/login", "/aula/enlace"])
def test_first_link_is_sent_although_carts_in_its_name_used_up_the_mailbox(client, settings, path):
    """So it is to a student with a voucher, who has neither paid nor used a link yet."""
    student = Student.objects.create(email="eva@example.com")
    Account.objects.create(student=student)
    for _ in range(settings.MAILS_PER_RECIPIENT):
        may_be_sent(Origin.EVENT, student.email)

    assert links_of_an_hour(client, [student], path=path) == {"queued": 1}


@pytest.mark.parametrize("path", ["/login", "/aula/enlace"])
def test_link_of_who_has_paid_or_confirmed_the_address_is_sent_in_spite_of_them(client, ana, path):
    LINKS_OF_NETWORK.add("127.0.0.1", by=LINKS_OF_NETWORK.times)
    ALL_FORMS.add("all", by=ALL_FORMS.times)
    paid = Student.objects.create(email="pago@example.com")
    order = Order.objects.create(student=paid, email=paid.email, status="paid", total_amount=90)
    Payment.objects.create(order=order, reference="pi_paid", amount=90, status="succeeded")
    confirm_address(ana)
    Account.objects.bulk_create(Account(student=student) for student in (paid, ana))

    assert links_of_an_hour(client, [paid, ana], path=path) == {"queued": 2}
    assert ALL_FORMS.used("all") == ALL_FORMS.times
