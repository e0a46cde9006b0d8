"""Reminders of unpaid carts: recipients, times and unsubscribing."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core import mail as django_mail
from django.core import signing
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.core.models import Mail
from apps.core.web.throttle import Limit
from apps.orders.checkout import remind
from apps.orders.checkout.remind import SALT, queue_due_reminders, unsubscribe_token
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.ledger.states import change_status
from apps.orders.models import Order, Payment
from apps.orders.settlement.mark_paid import mark_paid
from tests.helpers.completion import again
from tests.helpers.factories import checkout_body, make_subject, set_terms, single, whole
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 21, 11, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def clock():
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


@pytest.fixture
def micro():
    return make_subject()


@pytest.fixture
def cart(api, clock, micro):
    """Saves a cart of Microeconomía, on request or with the reminder checkbox ticked."""

    def save(**fields):
        body = {"save_for_later": True, "total": "182.40", **fields}
        answer = api.checkout(checkout_body(whole(micro), **body))
        Mail.objects.all().delete()
        return Order.objects.get(pk=answer["order_id"])

    return save


def reminders():
    return list(Mail.objects.filter(template="cart_reminder").values_list("key", flat=True))


def test_reminders_of_an_hour_have_a_limit_and_the_others_follow(cart, clock, monkeypatch):
    monkeypatch.setattr(remind, "ALL_REMINDERS", Limit("test", times=1, seconds=3600))
    for email in ("ana@example.com", "bruno@example.com"):
        cart(email=email)
    clock.shift(24 * HOUR)

    assert [queue_due_reminders(), queue_due_reminders()] == [1, 0]
    clock.shift(HOUR)
    assert [queue_due_reminders(), queue_due_reminders()] == [1, 0]
    assert Mail.objects.filter(template="cart_reminder").count() == 2


def test_carts_that_have_their_reminder_cost_the_next_runs_nothing(cart, clock):
    def queries_of_a_run(carts):
        for number in range(carts):
            cart(email=f"ana{number}@example.com")
        clock.shift(24 * HOUR)
        assert queue_due_reminders() == carts
        with CaptureQueriesContext(connection) as queries:
            assert queue_due_reminders() == 0
        Order.objects.all().update(reminders_stopped_at=NOON)
        return len(queries)

    assert queries_of_a_run(carts=6) == queries_of_a_run(carts=1)


def test_saved_cart_is_reminded_of_after_one_day_and_after_three(cart, clock):
    order = cart()
    clock.shift(23 * HOUR)
    assert queue_due_reminders() == 0
    clock.shift(HOUR)
    assert queue_due_reminders() == 1
    assert queue_due_reminders() == 0, "the same reminder is owed once"
    clock.shift(47 * HOUR)
    assert queue_due_reminders() == 0
    clock.shift(HOUR)
    assert queue_due_reminders() == 1
    clock.shift(timedelta(days=10))
    assert queue_due_reminders() == 0
    assert sorted(reminders()) == [f"cart-reminder:{order.pk}:24", f"cart-reminder:{order.pk}:72"]


def test_saved_cart_that_gets_another_address_is_reminded_of_to_nobody(api, sandbox, clock):
    body = checkout_body(whole(make_subject()), total="182.40", save_for_later=True)
    saved = api.checkout(body)
    other = body | {"email": "otra@example.com", "phone": "+34600000009", "save_for_later": False}
    api.checkout(again(saved, other))

    clock.shift(73 * HOUR)

    assert queue_due_reminders() == 0


def test_only_buyers_who_consented_are_reminded(cart, clock):
    order = cart()
    Order.objects.update(saved_for_later=False)
    clock.shift(24 * HOUR)
    assert queue_due_reminders() == 0
    Order.objects.filter(pk=order.pk).update(reminders_accepted=True)
    assert queue_due_reminders() == 1


def test_reminder_consent_is_given_by_the_checkbox_of_the_dialog(cart):
    assert cart(remindersAccepted=True).reminders_accepted
    assert not cart(email="otra@example.com").reminders_accepted


def test_missed_reminders_are_not_sent_late(cart, clock):
    cart()
    clock.shift(96 * HOUR)
    assert queue_due_reminders() == 0


def test_no_reminder_of_a_cart_bought_in_another_order(cart, clock, api, micro):
    left = cart()
    bought = cart(token=None)
    mark_paid(order_id=bought.pk, payment=ConfirmedPayment("pi_1", 18240), actor="prueba")
    # The address has no newer order, so only the items decide.
    Order.objects.filter(pk=bought.pk).update(created_at=left.created_at - HOUR)
    clock.shift(24 * HOUR)
    assert queue_due_reminders() == 0


def test_no_reminder_of_a_lesson_whose_subject_was_bought(api, cart, clock, micro):
    lesson = micro.lessons.first()
    answer = api.checkout(checkout_body(single(lesson), total="52.25", save_for_later=True))
    bought = cart()
    mark_paid(order_id=bought.pk, payment=ConfirmedPayment("pi_1", 18240), actor="prueba")
    Order.objects.filter(pk=bought.pk).update(created_at=NOON - HOUR)
    clock.shift(24 * HOUR)
    assert queue_due_reminders() == 0
    assert Order.objects.get(pk=answer["order_id"]).status == "cart"


def test_only_the_newest_of_several_carts_is_reminded_of(cart, clock):
    cart()
    clock.shift(HOUR)
    newest = cart(email="BRUNO@example.com")
    clock.shift(24 * HOUR)
    queue_due_reminders()
    assert reminders() == [f"cart-reminder:{newest.pk}:24"]


def test_no_reminder_while_the_bank_confirms_the_payment(cart, clock):
    order = cart()
    Payment.objects.create(order=order, reference="pi_1", amount=182, status="processing")
    clock.shift(24 * HOUR)
    assert queue_due_reminders() == 0


def test_no_reminder_of_a_cart_with_nothing_on_sale(cart, clock, micro):
    cart()
    micro.active = False
    micro.save()
    clock.shift(24 * HOUR)
    assert queue_due_reminders() == 0


def test_terms_without_hours_switch_reminders_off(cart, clock):
    set_terms(reminder_hours="")
    cart()
    clock.shift(24 * HOUR)
    assert queue_due_reminders() == 0


@pytest.mark.django_db(transaction=True)
def test_queued_reminder_is_not_sent_after_the_purchase(cart, clock, work):
    order = cart()
    clock.shift(24 * HOUR)
    queue_due_reminders()
    order.refresh_from_db()
    with transaction.atomic():
        change_status(order, Order.Status.PAID, kind="paid", actor="prueba", reason="Pagado")
    work()
    assert Mail.objects.get(template="cart_reminder").status == Mail.Status.DROPPED
    assert django_mail.outbox == []


@pytest.mark.django_db(transaction=True)
def test_reminder_mail_has_one_click_unsubscribe(cart, clock, work, settings):
    settings.SITE_URL = "https://academia.example"
    order = cart()
    clock.shift(24 * HOUR)
    queue_due_reminders()
    work()
    sent = django_mail.outbox[0]
    assert sent.subject == "Dejaste tu compra a medias"
    assert f"/complete-payment?order={order.pk}&token={order.auth_token}" in sent.body
    assert sent.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    address = sent.extra_headers["List-Unsubscribe"].strip("<>")
    assert address.startswith("https://academia.example/avisos/baja?aviso=")
    assert address in sent.body
    assert order.auth_token not in address

    # A mail program posts without a cookie or CSRF token, and with another site's origin.
    answer = Client(enforce_csrf_checks=True).post(
        address.removeprefix("https://academia.example"),
        "List-Unsubscribe=One-Click",
        content_type="application/x-www-form-urlencoded",
    )
    assert answer.status_code == 200
    order.refresh_from_db()
    assert order.reminders_stopped_at == NOON + 24 * HOUR
    clock.shift(48 * HOUR)
    assert queue_due_reminders() == 0
    assert order.events.filter(kind="reminders_stopped").count() == 1


def test_unsubscribing_ends_reminders_for_every_cart_of_the_address(cart, clock):
    first = cart()
    clock.shift(HOUR)
    second = cart(email="BRUNO@example.com")
    clock.shift(24 * HOUR)
    Client().post(f"/avisos/baja?aviso={unsubscribe_token(first)}")
    second.refresh_from_db()
    assert second.reminders_stopped_at is not None
    assert queue_due_reminders() == 0


def test_unsubscribe_link_of_another_address_ends_nobodys_reminders(cart):
    """Whoever prepared a cart can put somebody else's address on it."""
    order = cart()
    path = f"/avisos/baja?aviso={unsubscribe_token(order)}"
    Order.objects.filter(pk=order.pk).update(email="vera@example.com")
    assert Client().post(path).status_code == 404
    order.refresh_from_db()
    assert order.reminders_stopped_at is None


def test_unsubscribe_link_of_an_earlier_version_still_works(cart):
    order = cart()
    path = f"/avisos/baja?aviso={signing.dumps(order.pk, salt=SALT)}"
    assert Client().post(path).status_code == 200
    order.refresh_from_db()
    assert order.reminders_stopped_at is not None


def test_unsubscribe_page_changes_nothing_on_get_and_is_not_cached_or_indexed(cart):
    order = cart()
    page = Client().get(f"/avisos/baja?aviso={unsubscribe_token(order)}")
    assert "¿Dejamos de avisarte?" in page.content.decode()
    assert (page["Cache-Control"], page["Referrer-Policy"], page["X-Robots-Tag"]) == (
        "no-store",
        "no-referrer",
        "noindex",
    )
    order.refresh_from_db()
    assert order.reminders_stopped_at is None


@pytest.mark.parametrize("token", ["", "x", "MTI:1tYp:abc", "ñ" * 300])
def test_unsubscribe_link_with_a_wrong_token_is_not_found(token):
    assert Client().get("/avisos/baja", {"aviso": token}).status_code == 404
    assert Client().post(f"/avisos/baja?aviso={token}").status_code == 404


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_runs_queue_a_reminder_once(api, micro):
    api.checkout(checkout_body(whole(micro), total="182.40", save_for_later=True))
    Mail.objects.all().delete()
    Order.objects.update(updated_at=datetime.now(UTC) - 25 * HOUR)
    assert sorted(in_parallel(queue_due_reminders, 6)) == [0] * 5 + [1]
    assert len(reminders()) == 1
