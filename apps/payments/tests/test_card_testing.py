"""Refused cards are counted across orders, before a payment is handed out."""

import pytest
import time_machine
from django.test import Client

from apps.core.models import Mail
from apps.orders.models import Order
from apps.payments.card_testing import BY_BUYER, BY_VISITOR, ORDERS_PER_CARD
from apps.payments.models import ProviderEvent
from apps.payments.tests.test_odd_events import deliver_signed
from tests.helpers.factories import checkout_body, make_subject, whole
from tests.helpers.shop import DECLINED

pytestmark = pytest.mark.django_db

EVENT = {
    "id": "evt_refused",
    "object": "event",
    "type": "payment_intent.payment_failed",
    "livemode": False,
}


@pytest.fixture(autouse=True)
def one_hour():
    with time_machine.travel("2026-11-21 10:00:01+00:00", tick=False) as clock:
        yield clock


@pytest.fixture
def buy(sandbox):
    """A function that asks for a payment; it answers (status, body)."""
    subject = make_subject()

    def checkout(number=1, **changes):
        email = f"buyer{number}@example.com"
        body = checkout_body(whole(subject), total="182.40", email=email, phone=phone(number))
        answer = Client(REMOTE_ADDR=f"10.0.{number}.1").post(
            "/api/process-checkout", {**body, **changes}, content_type="application/json"
        )
        return answer.status_code, answer.json()

    return checkout


def phone(number):
    return f"+346001{number:05}"


def refuse(api, placed, times=1, *, card="card_of_its_own"):
    """Stripe's events of refused cards, without a worker that acts on them."""
    for _ in range(times):
        number = ProviderEvent.objects.count()
        event = {
            "id": f"evt_refused_{number}",
            "object": "event",
            "type": "payment_intent.payment_failed",
            "livemode": False,
            "data": {
                "object": {
                    "id": placed["payment_intent_id"],
                    "object": "payment_intent",
                    "last_payment_error": {
                        "code": "card_declined",
                        "decline_code": "generic_decline",
                        "payment_method": {
                            "card": {
                                "fingerprint": f"own{number}" if card == "card_of_its_own" else card
                            }
                        },
                    },
                }
            },
        }
        assert deliver_signed(api, event) == 200


def assert_refused(answer, code="too_many_requests"):
    status, body = answer
    assert (status, body["code"]) == (429, code)
    assert "client_secret" not in body
    # Nothing is lost: the next attempt takes this order up.
    assert Order.objects.get(pk=body["order_id"]).auth_token == body["token"]


def test_buyer_with_refused_cards_gets_no_payment_in_a_new_order(api, buy):
    _, placed = buy(email="ana.ruiz@gmail.com")
    refuse(api, placed, BY_BUYER.times)

    assert_refused(buy(2, email="AnaRuiz+2@googlemail.com"))
    assert buy(3)[0] == 200


def test_buyer_may_pay_again_after_an_hour(api, buy, one_hour):
    _, placed = buy()
    refuse(api, placed, BY_BUYER.times)
    one_hour.shift(3600)

    assert buy()[0] == 200


def test_visitor_with_refused_cards_of_several_buyers_gets_no_payment(api, buy):
    tester = Client(REMOTE_ADDR="2001:db8::1")
    subject = whole(make_subject())
    for number in range(4):
        placed = tester.post(
            "/api/process-checkout",
            checkout_body(subject, total="182.40", email=f"t{number}@example.com"),
            content_type="application/json",
        ).json()
        refuse(api, placed, BY_VISITOR.times // 4)

    answer = Client(REMOTE_ADDR="2001:db8::ffff").post(
        "/api/process-checkout",
        checkout_body(subject, total="182.40", email="t9@example.com"),
        content_type="application/json",
    )

    assert_refused((answer.status_code, answer.json()))
    assert buy(9)[0] == 200


def test_card_that_is_refused_in_many_orders_blocks_its_users(api, buy):
    for number in range(ORDERS_PER_CARD):
        refuse(api, buy(number)[1], card="stolen")
    assert buy(0)[0] == 200
    refuse(api, buy(50)[1], card="stolen")

    assert_refused(buy(50))
    assert buy(51)[0] == 200


def test_open_payment_of_a_blocked_buyer_is_canceled(api, sandbox, buy, work):
    _, first = buy()
    _, second = buy(1, phone=phone(7))
    refuse(api, first, BY_BUYER.times // 2)
    refuse(api, second, BY_BUYER.times // 2)
    work()

    statuses = {sandbox.payment(one["payment_intent_id"])["status"] for one in (first, second)}
    assert statuses == {"canceled"}


def test_same_refusal_is_counted_once(api, buy, work):
    _, placed = buy()
    refuse(api, placed)
    work()

    assert Order.objects.get(pk=placed["order_id"]).refused_cards == 1


def test_payments_are_paused_and_staff_mailed_once(api, buy, settings, one_hour):
    settings.REFUSED_CARDS_PER_MINUTE = 5
    placed = [buy(number)[1] for number in range(3)]
    for one in placed:
        refuse(api, one, 2)

    assert_refused(buy(20), code="payments_paused")
    assert Mail.objects.filter(template="card_testing").count() == 1
    one_hour.shift(121)
    assert buy(21)[0] == 200


def test_browser_that_reports_a_refusal_pauses_payments_and_mails_staff(
    api, sandbox, buy, settings
):
    settings.REFUSED_CARDS_PER_MINUTE = 1
    for placed in [buy(number)[1] for number in range(2)]:
        sandbox.confirm(placed["client_secret"], DECLINED)
        status, _ = api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
        assert status == 409

    assert_refused(buy(3), code="payments_paused")
    assert Mail.objects.filter(template="card_testing").count() == 1


def test_saved_cart_needs_no_payment(api, buy):
    _, placed = buy()
    refuse(api, placed, BY_BUYER.times)

    status, body = buy(save_for_later=True)

    assert (status, body["saved"]) == (200, True)


def test_rate_limit_scale_0_allows_payments_after_refusals(api, buy, settings):
    settings.RATE_LIMIT_SCALE = 0
    _, placed = buy()
    refuse(api, placed, 5)

    assert buy()[0] == 200


def test_refusal_counts_once_without_its_event_and_with_it(api, sandbox, buy, work):
    _, placed = buy()
    reference = placed["payment_intent_id"]
    sandbox.confirm(placed["client_secret"], DECLINED)
    for _ in range(2):
        api.post("complete-payment", {"payment_intent_id": reference})
    order = Order.objects.get(pk=placed["order_id"])
    assert order.refused_cards == 1

    sent = {**EVENT, "data": {"object": sandbox.payment(reference)}}
    assert deliver_signed(api, sent) == 200
    work()

    order.refresh_from_db()
    assert order.refused_cards == 1
    assert sandbox.payment(reference)["last_payment_error"]["payment_method"]["card"]["fingerprint"]
