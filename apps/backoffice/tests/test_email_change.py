"""Staff change a student's address in the admin: never silently."""

from datetime import timedelta

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.classroom.access_links import account_for, make_token
from apps.classroom.accounts import set_password
from apps.classroom.models import AccessChange, Account
from apps.classroom.sync import sync_classroom
from apps.core.mail import outbox
from apps.core.mail.outbox import ADDRESS_CORRECTED, queue_mail
from apps.core.mail.registry import render_mail
from apps.core.models import Mail
from apps.core.web.throttle import Limit
from apps.leads.models import LeadEntry
from apps.orders.by_staff.merge_students import merge_students
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order, Payment
from apps.orders.settlement.mark_paid import mark_paid
from apps.pricing.models import PromoCode
from apps.students import services
from apps.students.confirmed import confirm_address
from apps.students.devices import DEVICES, known_device
from apps.students.models import SignIn, SignInLink, Student
from apps.students.services import change_email, find_or_create_student
from tests.helpers.admin import admin_url, confirm_password, forget_password, make_staff
from tests.helpers.factories import make_subject
from tests.helpers.friend_codes import pay_order, place_order
from tests.helpers.one_of_everything import make_one_of_everything

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
    data = {"email": student.email, "first_name": "Ana", "last_name": "Gil", "phone": student.phone}
    empty = {f"consents-{name}_FORMS": "0" for name in ("TOTAL", "INITIAL")}
    return client.post(admin_url(Student, "change", student.pk), {**data, **empty, **changes})


def sign_in(email):
    client = Client()
    client.post("/aula", {"email": email, "password": PASSWORD})
    return client


def is_signed_in(client):
    return "Hola, Ana" in client.get("/aula").text


def test_waiting_mails_about_the_student_follow_the_new_address(carla, ana, work):
    """The former address may be a stranger's: it gets neither links nor facts of the account."""
    order, other = make_one_of_everything(), make_one_of_everything()
    Order.objects.filter(pk=order.pk).update(student=ana, email="Ana@example.com")
    Mail.objects.all().delete()
    answered = LeadEntry.objects.exclude(subject="").first()
    waiting = {
        "order_confirmation": {"order_id": order.pk},
        "lead_answer": {"lead_entry_id": answered.pk},
        "sign_in_link": {"link_id": SignInLink.objects.create(student=ana).pk},
        # Staff's own mail, if somebody has typed the academy's address into a checkout.
        "staff_attention": {"order_id": order.pk, "reason": "x"},
        "refund_made": {"refund_ids": [other.payments.get().refunds.get().pk]},
    }
    with transaction.atomic():
        for template, ids in waiting.items():
            queue_mail(key=template, template=template, to="ana@example.com", context=ids)

    error = "SMTPRecipientsRefused: 550 5.1.1 No such user"
    failed = Mail.objects.get(template="order_confirmation")
    Mail.objects.filter(pk=failed.pk).update(status="failed", last_error=error)

    change(carla, ana, email="ana.gil@example.com")

    page = carla.get(admin_url(Mail, "change", failed.pk)).text
    assert "La dirección no existe" not in page
    assert ADDRESS_CORRECTED in page
    event = order.events.get(kind="email_changed")
    assert event.actor == "carla"
    mails = Mail.objects.filter(template__in=waiting)
    moved = mails.exclude(to="ana@example.com").values_list("template", "to")
    assert list(moved) == [("order_confirmation", "ana.gil@example.com")]
    work()
    assert Mail.objects.get(template="sign_in_link").status == "dropped"


def test_carts_whose_payment_was_canceled_expire_together(ana, django_assert_max_num_queries):
    """A stranger's card checkouts in Ana's name, each with a payment that was never made."""
    subject = make_subject("Cálculo", "200.00")
    carts = [place_order(subject, total=19000, email=ana.email).order for _ in range(30)]
    Payment.objects.bulk_create(
        Payment(order=cart, reference=f"pi_{cart.pk}", amount=190, status="canceled")
        for cart in carts
    )

    with django_assert_max_num_queries(60):
        change_email(student_id=ana.pk, email="ana.gil@example.com")

    assert set(Order.objects.values_list("status", flat=True)) == {"expired"}


@pytest.mark.parametrize("way", ["change", "merge"])
def test_who_prepared_a_cart_does_not_read_the_new_address(ana, way):
    """A stranger saves carts in Ana's name and keeps their tokens; one has an open payment."""
    subject = make_subject("Cálculo", "200.00")
    carts = [place_order(subject, total=19000, email=ana.email).order for _ in range(2)]
    Payment.objects.create(order=carts[1], reference="pi_open", amount=190, status="open")
    Order.objects.filter(pk=carts[1].pk).update(saved_for_later=True)
    paid = pay_order(place_order(subject, total=19000, email=ana.email))
    new = "ana.gil@example.com"

    if way == "change":
        change_email(student_id=ana.pk, email=new)
    else:
        other = find_or_create_student(email=new, phone="+34600111111")
        merge_students(merged_id=ana.pk, into_id=other.pk, actor="carla")

    for order in carts:
        answer = Client().get(f"/api/orders/recover?order={order.pk}&token={order.auth_token}")
        assert new not in answer.text
        order.refresh_from_db()
        assert order.email == "ana@example.com"
    assert [order.status for order in carts] == ["expired", "cart"]
    assert not carts[1].saved_for_later, "the former address gets no reminder"
    paid.refresh_from_db()
    assert paid.email == new

    payment = ConfirmedPayment("pi_open", 19000)
    order = mark_paid(order_id=carts[1].pk, payment=payment, actor="Stripe")
    assert (order.status, order.email, order.student.email) == ("paid", new, new)
    assert "Cálculo" in order.flag, "bought twice, and nothing else"
    assert Mail.objects.get(key=f"order-confirmation:{order.pk}").to == new


def test_mail_whose_address_changes_while_it_is_rendered_is_sent_to_the_new_one(
    ana, work, mailoutbox, monkeypatch
):
    with transaction.atomic():
        mail = queue_mail(
            key="x", template="referral_code", to=ana.email, context={"student_id": ana.pk}
        )
    PromoCode.objects.create(code="AMIGO-1", value=15, is_referral_code=True, student=ana)
    render = outbox.render_mail

    def rendered_during_the_change(*args, **kwargs):
        monkeypatch.undo()
        change_email(student_id=ana.pk, email="ana.gil@example.com")
        return render(*args, **kwargs)

    monkeypatch.setattr(outbox, "render_mail", rendered_during_the_change)
    outbox.deliver_mail.func(mail_id=mail.pk)
    assert mailoutbox == []
    with time_machine.travel(timezone.now() + timedelta(hours=1)):
        work()

    [sent] = [one for one in mailoutbox if "invitar" in one.subject]
    assert sent.to == ["ana.gil@example.com"]


def test_address_that_staff_typed_is_not_confirmed_by_its_owner(carla, ana):
    confirm_address(ana)
    change(carla, ana, first_name="Ana María")
    ana.refresh_from_db()
    assert ana.email_confirmed_at is not None

    change(carla, ana, email="ana.gil@example.com")

    ana.refresh_from_db()
    assert (ana.email, ana.email_confirmed_at) == ("ana.gil@example.com", None)


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


def test_session_in_which_staff_have_signed_in_ends_too(carla, ana):
    """The sign-in of staff gives it a new key, which no end of the student's sign-in knows."""
    make_staff("eva", group="Atención", email="eva@example.com", password=PASSWORD)
    device = sign_in("ana@example.com")
    assert is_signed_in(device)
    staff = {"username": "eva", "password": PASSWORD}
    assert device.post(f"{reverse('admin:login')}?next=/admin/", staff).status_code == 302
    change(carla, ana, email="nueva@example.com")
    change(carla, ana, email="ana@example.com")
    assert not is_signed_in(device)


def test_the_classroom_moves_the_user_name(carla, ana):
    change(carla, ana, email="nueva@example.com")
    sync_classroom.func(change_id=AccessChange.objects.get().pk)

    assert Account.objects.get().username == "nueva@example.com"
    assert not is_signed_in(sign_in("ana@example.com"))


def test_what_was_set_at_an_address_ends_with_it(carla, ana):
    """A clerk must not enter as the student by way of an address of their own."""
    account = Account.objects.get()
    earlier = {make_token(account)}
    change(carla, ana, email="clerk@example.com")
    assert not is_signed_in(sign_in("clerk@example.com"))
    token = make_token(Account.objects.select_related("student").get())
    set_password(token=token, first_name="Ana", last_name="Gil", password=PASSWORD)
    device = sign_in("clerk@example.com")
    assert is_signed_in(device)
    ana.refresh_from_db()
    earlier.add(make_token(Account.objects.get()))
    link = SignInLink.objects.create(student=ana)

    change(carla, ana, email="ana@example.com")

    assert not is_signed_in(device)
    ana.refresh_from_db()
    assert ana.email == "ana@example.com"
    device.post("/aula", {"email": "ana@example.com", "password": PASSWORD})
    assert not is_signed_in(device)
    assert DEVICES.cookie_name in device.cookies
    sent = RequestFactory()
    sent.cookies[DEVICES.cookie_name] = device.cookies[DEVICES.cookie_name].value
    assert known_device(sent.get("/"), "ana@example.com") == ""
    assert [account_for(token) for token in earlier] == [None, None]
    link.refresh_from_db()
    assert link.used_at is not None
    account.refresh_from_db()
    assert not account.has_password
    set_password(
        token=make_token(account), first_name="Ana", last_name="Gil", password="otra-clave-mia-9"
    )
    account.refresh_from_db()
    assert account.has_password


def test_address_and_phone_change_only_after_a_fresh_password(carla, ana):
    forget_password(carla)

    for new in ({"email": "nueva@example.com"}, {"phone": "+34600000009"}):
        refused = change(carla, ana, **new, last_name="Gil Ruiz")
        assert "Cambiarlo pide tu contraseña" in refused.text
        assert "/admin/clave?next=" in refused.text
    ana.refresh_from_db()
    assert (ana.email, ana.last_name) == ("ana@example.com", "Gil")

    assert change(carla, ana, last_name="Gil Ruiz").status_code == 302
    ana.refresh_from_db()
    assert ana.last_name == "Gil Ruiz"


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
    refused = change(carla, ana, email="Bruno@example.com")
    assert "Ese correo ya es de otro alumno." in refused.text
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


@pytest.mark.parametrize("page", ["the student's", "an order's"])
def test_addresses_that_one_of_staff_changes_have_a_limit(carla, ana, page, settings, monkeypatch):
    """Each is two mails, and work in the classroom before that of new purchases."""
    settings.RATE_LIMIT_SCALE = 1
    monkeypatch.setattr(services, "ADDRESS_CHANGES", Limit("address-changes", times=1, seconds=99))
    order = make_one_of_everything()
    Order.objects.filter(pk=order.pk).update(student=ana)
    button = reverse("admin:orders_order_cambiar_correo", args=[order.pk])
    assert change(carla, ana, email="otra@example.com").status_code == 302
    for email in ("tercera@example.com", "cuarta@example.com"):
        if page == "the student's":
            assert "Demasiad" in change(carla, ana, email=email).text
        else:
            assert "Demasiad" in carla.post(button, {"email": email}, follow=True).text
    ana.refresh_from_db()
    assert ana.email == "otra@example.com"
    # A change of the phone alone does not count.
    assert change(carla, ana, phone="+34600111112").status_code == 302


def test_refused_change_of_an_address_counts_for_nobody(carla, ana, settings, monkeypatch):
    """A session without the password would use up its owner's changes of the day."""
    settings.RATE_LIMIT_SCALE = 1
    monkeypatch.setattr(services, "ADDRESS_CHANGES", Limit("address-changes", times=1, seconds=99))
    forget_password(carla)
    for _ in range(3):
        assert "pide tu contraseña" in change(carla, ana, email="otra@example.com").text
    confirm_password(carla)
    assert change(carla, ana, email="otra@example.com").status_code == 302
