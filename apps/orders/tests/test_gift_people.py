"""Gifts and the people around them: owners, corrections by staff, personal data, merges."""

from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from apps.classroom.models import Enrolment, LostAccess, Provisioning
from apps.core.dates import midnight
from apps.core.mail.registry import render_mail
from apps.core.models import Mail, StaffAction
from apps.core.privacy import CannotErase, erase_all, export_all, purge_all
from apps.core.staff.admin_conflicts import SEEN
from apps.core.staff.answer_limits import OF_AUTHOR, TO_MAILBOX
from apps.orders.by_staff.merge_students import merge_students
from apps.orders.models import Gift, Order
from apps.orders.reads import paid_without_access
from apps.orders.settlement.gift_delivery import deliver
from apps.orders.tests.test_gifts import BUYER, LEO, pay, place_gift, templates_to, today
from apps.students.models import Student
from apps.students.services import block_student
from tests.helpers.admin import confirm_password, forget_password, make_staff
from tests.helpers.completion import confirm_correction
from tests.helpers.factories import checkout_body, make_subject, whole
from tests.helpers.refunds import make_clerk
from tests.helpers.student_session import sign_in_as

pytestmark = pytest.mark.django_db
LEA = "lea@example.com"


def later(days=9):
    return f"{today() + timedelta(days=days)}"


@pytest.fixture
def carla(client):
    clerk = make_clerk()
    client.force_login(clerk)
    return clerk


def page_of(gift):
    return reverse("admin:orders_gift_change", args=[gift.pk])


def correct(client, gift, **changes):
    """Open the form of a gift, change it and send it."""
    form = client.get(page_of(gift)).context["adminform"].form
    data = {name: form[name].value() for name in form.fields if name != SEEN}
    data[SEEN] = form[SEEN].value()
    return client.post(page_of(gift), {**data, **changes})


def test_owned_subject_is_told_to_staff_and_not_to_the_buyer(api, sandbox, work):
    subject = make_subject()
    pay(api.checkout(checkout_body(whole(subject), total="182.40", email=LEO)))
    before = set(Mail.objects.filter(to=BUYER))

    order = pay(place_gift(api, subject=subject))
    work()

    order.refresh_from_db()
    assert subject.name in order.flag
    assert Mail.objects.filter(template="staff_attention").count() == 1
    mails = {mail.template for mail in set(Mail.objects.filter(to=BUYER)) - before}
    assert mails == {"order_confirmation", "referral_code"}


def test_gift_is_no_purchase_of_the_buyer_and_one_of_the_recipient(api, sandbox, work):
    subject = make_subject()
    pay(place_gift(api, subject=subject))
    body = checkout_body(whole(subject), total="182.40")

    api.checkout(body)
    api.checkout({**body, "email": LEO})
    work()

    assert "already_bought" not in templates_to(BUYER)
    assert "already_bought" in templates_to(LEO)


def test_corrected_address_of_a_waiting_gift_gets_the_delivery(api, sandbox, work, client, carla):
    pay(place_gift(api, deliver_on=later()))
    gift = Gift.objects.get()

    answer = correct(client, gift, recipient_email=LEA, deliver_on=f"{today()}")
    deliver(order_id=gift.order_id)
    work()

    assert answer.status_code == 302, answer.context["adminform"].form.errors
    gift.refresh_from_db()
    assert (gift.recipient_email, gift.status) == (LEA, "delivered")
    assert templates_to(LEA) == ["gift_received"]
    assert not templates_to(LEO)
    assert templates_to(BUYER).count("gift_moved") == 1
    assert StaffAction.objects.filter(about="orders.gift", kind="changed").exists()
    assert Order.objects.get().events.filter(kind="gift_changed").count() == 1


def test_corrected_address_of_a_delivered_gift_moves_the_access_with_a_mail(
    api, sandbox, work, client, carla
):
    pay(place_gift(api))
    work()
    gift = Gift.objects.get()

    assert correct(client, gift, recipient_email=LEA).status_code == 302
    work()

    assert [row.student.email for row in Enrolment.objects.all()] == [LEA]
    assert Provisioning.objects.get().student.email == LEA
    assert LostAccess.objects.get().student.email == LEO
    assert templates_to(LEA) == ["gift_received"]
    assert templates_to(LEO) == ["gift_moved", "gift_received"]
    assert templates_to(BUYER).count("gift_moved") == 1
    told = [render_mail(mail.template, mail.context, reveal=True, to=mail.to)
            for mail in Mail.objects.filter(template="gift_moved")]  # fmt: skip
    assert all(LEA not in mail.text + mail.html for mail in told)
    gift.refresh_from_db()
    assert gift.recipient.email == LEA


def test_access_that_moves_back_is_open_again(api, sandbox, work, client, carla):
    pay(place_gift(api))
    work()
    gift = Gift.objects.get()

    for email in (LEA, LEO, LEA, LEO):
        assert correct(client, gift, recipient_email=email).status_code == 302
        work()

    assert [(row.student.email, row.state) for row in Enrolment.objects.all()] == [(LEO, "open")]
    assert templates_to(LEO) == ["gift_moved"] * 2 + ["gift_received"] * 3
    assert templates_to(LEA) == ["gift_moved"] * 2 + ["gift_received"] * 2


@pytest.mark.parametrize("is_delivered", [True, False])
def test_address_of_a_gift_changes_only_after_a_fresh_password(
    is_delivered, api, sandbox, work, client, carla
):
    pay(place_gift(api, **({} if is_delivered else {"deliver_on": later()})))
    work()
    gift = Gift.objects.get()
    forget_password(client)

    refused = correct(client, gift, recipient_email=LEA)

    assert "Cambiarlo pide tu contraseña" in refused.text
    gift.refresh_from_db()
    assert gift.recipient_email == LEO
    # The refused form counts as no mail to that address.
    assert TO_MAILBOX.used(LEA) == 0


@pytest.mark.parametrize(
    "change",
    [
        {"message": "www.premio"},
        {"message": "Usa AMIGO-MIO12345"},
        {"deliver_on": "2020-01-01"},
        {"recipient_email": ""},
    ],
)
def test_form_of_staff_refuses_what_the_shop_refuses(api, sandbox, client, carla, change):
    pay(place_gift(api, deliver_on=later()))
    gift = Gift.objects.get()

    answer = correct(client, gift, **change)

    assert list(answer.context["adminform"].form.errors) == list(change)


def test_moves_of_gifts_count_as_own_words_of_staff(api, sandbox, client, carla):
    """One gift would take a clerk's message to any number of mailboxes."""
    pay(place_gift(api, deliver_on=later()))
    gift = Gift.objects.get()
    OF_AUTHOR.count_key(str(carla.pk), by=OF_AUTHOR.times - 1)

    assert correct(client, gift, message="Escríbenos por Telegram.").status_code == 302
    assert correct(client, gift, recipient_email=LEA).status_code == 302
    assert "Demasiad" in correct(client, gift, recipient_email="otra@example.com").text
    gift.refresh_from_db()
    assert gift.recipient_email == LEA


def test_gift_of_a_blocked_recipient_is_moved_by_who_blocks_students(api, sandbox, work, client):
    """Another mailbox of the same person would have the access open again."""
    pay(place_gift(api))
    work()
    gift = Gift.objects.get()
    block_student(student_id=gift.recipient_id, reason="Comparte su cuenta")
    work()
    make_staff("eva", group="Atención", client=client, email="eva@example.com")
    confirm_password(client)

    assert "Está bloqueado" in correct(client, gift, recipient_email=LEA).text
    client.force_login(make_clerk())
    assert correct(client, gift, recipient_email=LEA).status_code == 302


def test_form_refuses_to_overwrite_the_change_of_somebody_else(api, sandbox, client, carla):
    pay(place_gift(api, deliver_on=later()))
    gift = Gift.objects.get()
    seen = client.get(page_of(gift)).context["adminform"].form[SEEN].value()
    Gift.objects.update(recipient_email="otra@example.com")

    answer = correct(client, gift, recipient_email=LEA, **{SEEN: seen})

    assert "recipient_email" in answer.context["adminform"].form.errors


def test_order_page_and_list_show_the_gift(api, sandbox, client, carla):
    order = pay(place_gift(api, deliver_on=later()))

    page = client.get(reverse("admin:orders_order_change", args=[order.pk])).content.decode()
    orders = reverse("admin:orders_order_changelist")
    waiting = client.get(orders, {"regalo": "waiting"}).content.decode()
    delivered = client.get(orders, {"regalo": "delivered"}).content.decode()

    assert "Regalo para" in page
    assert LEO in page
    assert "Por entregar, " in waiting
    assert BUYER not in delivered


def test_waiting_gift_is_not_missing_its_access_until_the_day_after(api, sandbox):
    order = pay(place_gift(api, deliver_on=later(1)))
    assert not paid_without_access().exists()

    Gift.objects.update(deliver_on=today() - timedelta(days=1))
    assert list(paid_without_access()) == [order]
    Gift.objects.update(deliver_on=today() + timedelta(days=1), recipient_email="")
    assert list(paid_without_access()) == [order]


def test_export_has_the_gift_of_the_buyer_and_of_the_recipient(api, sandbox, work):
    pay(place_gift(api))
    work()

    given, received = export_all(BUYER)["regalos"], export_all(LEO)["regalos"]

    assert given["hechos"][0]["correo"] == LEO
    assert received["recibidos"][0]["mensaje"] == "¡Feliz día!"
    assert BUYER not in str(received)


def test_erasing_the_recipient_cancels_a_waiting_gift_for_staff_to_refund(api, sandbox, work):
    order = pay(place_gift(api, deliver_on=later()))

    erase_all(LEO)

    gift, order = Gift.objects.get(), Order.objects.get()
    assert (gift.status, gift.recipient_email, gift.message) == ("canceled", "", "")
    assert order.flag
    assert LEO not in str(list(order.events.values_list("reason", flat=True)))


def test_erasing_the_recipient_of_a_delivered_gift_withdraws_the_access(api, sandbox, work):
    pay(place_gift(api))
    work()

    erase_all(LEO)
    work()

    gift = Gift.objects.get()
    assert (gift.recipient_email, gift.recipient_name, gift.message) == ("", "", "")
    assert not Enrolment.objects.exists()
    assert not Mail.objects.filter(to=LEO).exists()


def test_buyer_is_erased_after_the_delivery_and_the_recipient_keeps_the_access(api, sandbox, work):
    pay(place_gift(api, deliver_on=later()))
    with pytest.raises(CannotErase):
        erase_all(BUYER)
    Gift.objects.update(deliver_on=today())
    deliver(order_id=Order.objects.get().pk)
    work()

    erase_all(BUYER)

    gift = Gift.objects.get()
    assert (gift.sender, gift.message) == ("", "")
    assert Enrolment.objects.get().student.email == LEO


def test_words_go_a_year_after_the_delivery(api, sandbox, work):
    pay(place_gift(api))
    purge_all()
    assert Gift.objects.get().message

    # Soon after midnight it is still yesterday in UTC.
    night = midnight(today()) + timedelta(minutes=20)
    Gift.objects.update(deliver_on=today() - timedelta(days=366))
    with time_machine.travel(night):
        purge_all()

    gift = Gift.objects.get()
    assert (gift.sender, gift.recipient_name, gift.message) == ("", "", "")


def test_merge_takes_the_gifts_along(api, sandbox, work):
    pay(place_gift(api))
    work()
    leo = Student.objects.get(email=LEO)
    into = Student.objects.create(email=LEA)

    merge_students(merged_id=leo.pk, into_id=into.pk, actor="carla")

    assert Gift.objects.get().recipient == into


def test_corrected_address_of_the_buyer_sends_the_gift_to_nobody(api, sandbox, work):
    placed = place_gift(api)
    pay(placed)
    work()
    body = {key: placed[key] for key in ("order_id", "token")}

    assert api.post("orders/correct-email", {**body, "email": "yo@example.com"})[0] == 200
    confirm_correction()
    work()

    assert templates_to("yo@example.com") == [
        "email_correction", "order_confirmation", "referral_code"
    ]  # fmt: skip
    assert templates_to(LEO) == ["gift_received"]


def test_buyer_reads_nowhere_the_address_that_staff_have_corrected(
    api, sandbox, work, client, carla, settings
):
    settings.STUDENT_LOGIN = True
    order = pay(place_gift(api))
    [given] = export_all(BUYER)["regalos"]["hechos"]
    assert given["correo"] == LEO
    correct(client, order.gift, recipient_email=LEA)
    Gift.objects.update(recipient_name="")
    buyer = Client()
    sign_in_as(order.student_id, buyer)

    for path in ("/mi-cuenta", "/mi-cuenta/mis-datos.json"):
        answer = buyer.get(path)
        assert answer.status_code == 200
        assert LEA not in answer.text
    paid = {"payment_intent_id": order.stripe_payment_intent_id}
    assert api.get("orders/by-payment", **paid)[1]["gift"]["email"] == "•••"
    confirmation = Mail.objects.get(template="order_confirmation")
    text = render_mail(confirmation.template, confirmation.context, reveal=True).text
    assert "Es un regalo: quien lo recibe" in text
    assert LEA not in text
