"""With the hosted page, an order has one open session at a time."""

import time
from datetime import timedelta

import pytest
import time_machine
from django.core.management import call_command
from django.utils import timezone

from apps.orders.models import Order, Payment, PromoUse
from tests.helpers.completion import (
    again,
    assert_paid_once,
    expire_at_provider,
    open_sessions,
    reference_of,
)
from tests.helpers.factories import checkout_body, make_promo, make_subject, whole

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("hosted")]


def test_repeated_checkout_answers_with_the_same_page(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    second = api.checkout(again(first, body))

    assert second["url"] == first["url"]
    assert Payment.objects.count() == 1


def test_checkout_of_a_changed_cart_expires_the_first_session(api, sandbox):
    subject, other = make_subject(), make_subject("Física", "100.00")
    first = api.checkout(checkout_body(whole(subject), total="182.40"))
    second = api.checkout(again(first, checkout_body(whole(other), total="95")))

    assert second["session_id"] != first["session_id"]
    assert sandbox.session(first["session_id"])["status"] == "expired"
    assert open_sessions(sandbox) == [second["session_id"]]
    assert Payment.objects.filter(status="open").get().reference == second["session_id"]
    assert sandbox.pay(first) == "checkout_session_inactive"


def test_checkout_with_another_code_expires_the_first_session_and_reserves_one_use(api, sandbox):
    promo = make_promo(max_uses=1)
    body = checkout_body(whole(make_subject(price="200.00")), total="190")
    first = api.checkout(body)
    second = api.checkout(again(first, body, promo_code="BIENVENIDA10", total_amount=171))

    assert open_sessions(sandbox) == [second["session_id"]]
    promo.refresh_from_db()
    assert promo.uses_taken == 1


def test_checkout_of_a_changed_cart_after_the_payment_answers_already_paid(api, sandbox, placed):
    other = make_subject("Física", "100.00")
    sandbox.pay(placed)

    status, answer = api.post(
        "process-checkout", again(placed, checkout_body(whole(other), total="95"))
    )

    assert (status, answer["code"]) == (409, "already_paid")
    assert answer["payment_intent_id"].startswith("pi_")
    assert_paid_once(placed["order_id"])


def test_checkout_after_the_session_expired_opens_a_new_one(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    expire_at_provider(sandbox, first["session_id"])
    second = api.checkout(again(first, body))

    assert second["session_id"] != first["session_id"]
    assert open_sessions(sandbox) == [second["session_id"]]
    assert Order.objects.get().payments.get(status="canceled").reference == first["session_id"]


def test_session_with_less_than_10_minutes_left_is_replaced(api, sandbox):
    make_promo(max_uses=1)
    body = checkout_body(whole(make_subject()), total="164.16", promo_code="BIENVENIDA10")
    first = api.checkout(body)

    expire_at_provider(sandbox, first["session_id"], at=int(time.time()) + 11 * 60)
    assert api.checkout(again(first, body))["session_id"] == first["session_id"]
    expire_at_provider(sandbox, first["session_id"], at=int(time.time()) + 9 * 60)
    second = api.checkout(again(first, body))

    assert second["order_id"] == first["order_id"]
    assert open_sessions(sandbox) == [second["session_id"]]
    assert PromoUse.objects.filter(status="reserved").count() == 1


@pytest.mark.parametrize(("before", "after"), [("embedded", "hosted"), ("hosted", "embedded")])
@pytest.mark.parametrize("answer_was_lost", [False, True])
def test_open_payment_is_replaced_after_the_checkout_mode_changed(
    api, sandbox, settings, before, after, answer_was_lost
):
    settings.STRIPE_CHECKOUT = before
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    if answer_was_lost:
        Payment.objects.all().delete()
    settings.STRIPE_CHECKOUT = after

    second = api.checkout(again(first, body))

    assert ("url" in first, "url" in second) == (before == "hosted", after == "hosted")
    assert Payment.objects.filter(status="open").count() == 1
    sandbox.pay(second)
    api.post("complete-payment", reference_of(second))
    assert_paid_once(first["order_id"])
    if before == "hosted":
        assert sandbox.session(first["session_id"])["status"] == "expired"
    else:
        assert sandbox.payment(first["payment_intent_id"])["status"] == "canceled"


def test_promo_code_stays_reserved_until_the_session_expires_at_stripe(api, sandbox):
    promo = make_promo(max_uses=1)
    placed = api.checkout(
        checkout_body(whole(make_subject(price="200.00")), total="171", promo_code="BIENVENIDA10")
    )
    with time_machine.travel(timezone.now() + timedelta(minutes=40)):
        # By the shop's clock it has expired, but Stripe's page may still take a card.
        call_command("reconcile_payments")
        promo.refresh_from_db()
        assert promo.uses_taken == 1
        assert sandbox.session(placed["session_id"])["status"] == "open"

        expire_at_provider(sandbox, placed["session_id"])
        call_command("reconcile_payments")

    promo.refresh_from_db()
    assert promo.uses_taken == 0
    assert Order.objects.get().promo_uses.get().status == "released"


def test_reconciliation_expires_an_old_cart_and_its_session(api, sandbox, placed):
    with time_machine.travel(timezone.now() + timedelta(days=31)):
        call_command("reconcile_payments")

    assert sandbox.session(placed["session_id"])["status"] == "expired"
    assert Order.objects.get().status == "expired"
