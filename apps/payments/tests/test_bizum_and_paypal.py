"""Bizum and PayPal: the buyer approves on another page, and comes back (docs/rules.md)."""

from datetime import timedelta
from functools import partial

import pytest
import stripe
import time_machine
from django.utils import timezone

from apps.core.mail.registry import render_for_staff
from apps.core.models import Mail, SiteSettings
from apps.orders.models import Order, Payment, Refund
from apps.orders.models.statuses import EventKind, PaymentKind
from apps.payments.events.reconcile import reconcile
from apps.payments.refunds.at_stripe import fetch_and_record_dispute
from tests.helpers.completion import again, assert_paid_once, deliver, event_body
from tests.helpers.factories import checkout_body, make_promo, make_subject, whole
from tests.helpers.parallel import in_parallel
from tests.helpers.plans import buy_in_instalments, day, link_of
from tests.helpers.refunds import make_clerk, refund
from tools.stripe_sandbox.testing import wait_until

pytestmark = pytest.mark.django_db
both = pytest.mark.parametrize("kind", ["bizum", "paypal"])


def types_of(sandbox, placed):
    return sandbox.payment(placed["payment_intent_id"])["payment_method_types"]


def complete(api, placed):
    return api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})


@both
def test_approved_payment_is_recorded_once_with_its_kind(api, sandbox, placed, audited, kind):
    page = sandbox.leave_for(kind, placed)
    assert complete(api, placed)[1]["code"] == "not_confirmed"

    sandbox.decide(page)
    for _ in range(2):
        assert complete(api, placed)[0] == 200
    deliver(api, event_body("payment_intent.succeeded", placed["payment_intent_id"]))
    reconcile()

    assert_paid_once(placed["order_id"])
    payment = Payment.objects.get()
    assert (payment.kind, payment.get_kind_display()) == (kind, PaymentKind(kind).label)


@both
@pytest.mark.parametrize(("decision", "reason"), [("decline", "declined"), ("expire", "expired")])
def test_refused_payment_says_why_and_the_same_order_is_paid_by_card(
    api, sandbox, placed, audited, kind, decision, reason
):
    sandbox.decide(sandbox.leave_for(kind, placed), decision)

    status, answer = complete(api, placed)

    assert (status, answer["code"]) == (409, "not_confirmed")
    assert (answer["method"], answer["reason"]) == (kind, reason)
    order = Order.objects.get()
    assert (order.status, order.lines.count(), order.refused_cards) == ("cart", 1, 1)
    told = order.events.get(kind=EventKind.CARD_REFUSED).reason
    assert told.startswith(f"Pago con {PaymentKind(kind).label} ")
    assert not Mail.objects.exists()
    sandbox.confirm(placed["client_secret"])
    assert complete(api, placed)[0] == 200
    assert_paid_once(order.pk)
    assert Payment.objects.get().kind == PaymentKind.CARD


def test_declined_card_is_answered_as_before(api, sandbox, placed):
    sandbox.confirm(placed["client_secret"], "4000000000000002")
    assert {"method", "reason"} & set(complete(api, placed)[1]) == set()


@pytest.mark.parametrize("switched_on", [(), ("bizum",), ("paypal",), ("bizum", "paypal")])
def test_payment_offers_what_is_switched_on(api, sandbox, mode, switched_on):
    SiteSettings.current()
    SiteSettings.objects.update(bizum="bizum" in switched_on, paypal="paypal" in switched_on)
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    if mode == "hosted":
        left_out = sandbox.session(placed["session_id"])["excluded_payment_method_types"]
        assert [name for name in ("bizum", "paypal") if name not in left_out] == [*switched_on]
    else:
        assert types_of(sandbox, placed) == ["card", *switched_on]


def test_instalments_and_saved_cards_are_paid_by_card_only(api, sandbox):
    order = buy_in_instalments(api, sandbox)
    intents = sandbox.payments(order.customer_reference)
    assert [intent["payment_method_types"] for intent in intents] == [["card"]]


def test_another_card_of_a_plan_and_its_rest_by_hand_are_cards_too(api, sandbox, plan):
    with time_machine.travel(day(10), tick=False):
        status, by_hand = api.post("instalments/pay", {**link_of(plan), "number": 2, "what": "all"})
        assert status == 200, by_hand
        assert api.post("instalments/card", link_of(plan))[0] == 200
    with pytest.raises(stripe.InvalidRequestError, match="not allowed"):
        sandbox.process.leave_for("paypal", by_hand["client_secret"])


def test_late_success_pays_the_order_and_its_code_stays_reserved_meanwhile(api, sandbox, audited):
    make_promo("CODIGO", kind="FIJO", value="10", max_uses=1)
    cart = whole(make_subject())
    placed = api.checkout(checkout_body(cart, total="172.40", promo_code="CODIGO"))
    sandbox.process.control("POST", "settlement", {"enabled": False})
    sandbox.decide(sandbox.leave_for("bizum", placed), "later")

    assert complete(api, placed)[1]["status"] == "processing"
    order = Order.objects.get()
    assert order.promo_uses.get().status == "reserved"
    body = checkout_body(cart, total="172.40", promo_code="CODIGO")
    status, answer = api.post("process-checkout", again(placed, body, email="otra@example.com"))
    assert (status, answer["code"]) == (409, "payment_in_progress")
    with time_machine.travel(timezone.now() + timedelta(minutes=40)):
        reconcile()
    assert order.promo_uses.get().status == "reserved"

    sandbox.process.control("POST", "settlement", {"enabled": True})
    wait_until(lambda: sandbox.payment(placed["payment_intent_id"])["status"] == "succeeded")
    reconcile()
    assert_paid_once(placed["order_id"])
    assert order.promo_uses.get().status == "used"


def test_approval_after_the_cart_has_changed_charges_nothing(api, sandbox, audited):
    cart = whole(make_subject())
    body = checkout_body(cart, total="182.40")
    placed = api.checkout(body)
    page = sandbox.leave_for("bizum", placed)
    other = api.checkout(again(placed, checkout_body(cart, total="182.40", email="otra@x.example")))

    assert sandbox.process.decide(page, "approve").json()["status"] == "canceled"
    sandbox.confirm(other["client_secret"])
    complete(api, other)

    assert_paid_once(placed["order_id"])
    assert len(sandbox.process.client().v1.charges.list().data) == 1


@pytest.mark.parametrize(
    "kinds",
    [
        ("payment_intent.succeeded", "payment_intent.requires_action"),
        ("payment_intent.payment_failed", "payment_intent.succeeded", "payment_intent.processing"),
    ],
)
def test_repeated_and_reordered_events_of_a_paid_attempt_change_nothing(
    api, sandbox, placed, work, audited, kinds
):
    sandbox.decide(sandbox.leave_for("bizum", placed), "decline")
    sandbox.decide(sandbox.leave_for("paypal", placed))
    for number, kind in enumerate(kinds * 2):
        body = event_body(kind, placed["payment_intent_id"], event_id=f"evt_{number}")
        assert deliver(api, body).status_code == 200
    work()
    work()

    assert_paid_once(placed["order_id"])
    assert Payment.objects.get().kind == PaymentKind.PAYPAL


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_browser_events_and_reconciliation_at_once_record_one_payment(api, sandbox, audited):
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    sandbox.decide(sandbox.leave_for("bizum", placed))

    ways = iter([partial(complete, api, placed), reconcile] * 3)
    results = in_parallel(lambda: next(ways)(), 6)

    assert [result for result in results if isinstance(result, Exception)] == []
    assert_paid_once(placed["order_id"])


@both
def test_ninth_attempt_of_an_hour_that_asks_for_approval_ends_the_payment(
    api, sandbox, placed, work, kind
):
    """Attempts that are given up are never refused, so that only their events tell of them."""
    for number in range(9):
        assert Order.objects.get().is_locked is False
        page = sandbox.leave_for(kind, placed)
        body = event_body(
            "payment_intent.requires_action", placed["payment_intent_id"], event_id=f"evt_{number}"
        )
        deliver(api, body)
        deliver(api, body)
        work()

    order = Order.objects.get()
    assert order.is_locked
    assert order.events.filter(kind=EventKind.TOO_MANY_ATTEMPTS).count() == 1
    assert sandbox.payment(placed["payment_intent_id"])["status"] == "canceled"
    assert sandbox.process.decide(page, "approve").json()["status"] == "canceled"
    body = checkout_body(whole(order.lines.get().subject), total="182.40")
    status, answer = api.post("process-checkout", again(placed, body))
    assert (status, answer["code"]) == (429, "too_many_requests")
    with time_machine.travel(timezone.now() + timedelta(minutes=61)):
        assert api.checkout(again(placed, body))["order_id"] == order.pk


def test_eight_refused_attempts_end_the_payment_too(api, sandbox, placed):
    for _ in range(8):
        sandbox.decide(sandbox.leave_for("bizum", placed), "decline")
        complete(api, placed)
    assert Order.objects.get().is_locked


@both
def test_refund_goes_back_through_stripe_and_the_mail_says_where_to(
    api, sandbox, placed, audited, work, kind
):
    sandbox.decide(sandbox.leave_for(kind, placed))
    complete(api, placed)
    order = Order.objects.get()

    refund(order, make_clerk())
    work()

    order.refresh_from_db()
    assert (order.status, Refund.objects.get().status) == ("refunded", "succeeded")
    mail = Mail.objects.get(template="refund_made")
    words = {"bizum": "por Bizum", "paypal": "cuenta de PayPal"}[kind]
    assert words in render_for_staff(mail).text


@both
def test_dispute_holds_access_as_that_of_a_card(api, sandbox, placed, audited, kind):
    """Stripe opens disputes for both (docs/payments.md)."""
    sandbox.decide(sandbox.leave_for(kind, placed))
    complete(api, placed)
    reference = placed["payment_intent_id"]
    opened = sandbox.process.control("POST", "disputes", {"payment_intent": reference})

    fetch_and_record_dispute(opened["id"])

    assert Order.objects.get().disputed_at is not None


def ask_for_approval(api, sandbox, placed, work, *, event_id):
    page = sandbox.leave_for("bizum", placed)
    reference = placed["payment_intent_id"]
    deliver(api, event_body("payment_intent.requires_action", reference, event_id=event_id))
    work()
    return page


def test_visitor_asks_for_thirty_approvals_an_hour_with_all_unpaid_orders(api, sandbox, work):
    """Otherwise one order after the other asks the owner of a phone without end."""
    subject = make_subject()
    for number in range(30):
        if number % 8 == 0:
            placed = api.checkout(checkout_body(whole(subject), total="182.40"))
        ask_for_approval(api, sandbox, placed, work, event_id=f"evt_{number}")

    assert sandbox.payment(placed["payment_intent_id"])["status"] == "canceled"
    body = checkout_body(whole(subject), total="182.40", email="otra@example.com")
    assert api.post("process-checkout", body)[0] == 429
    with time_machine.travel(timezone.now() + timedelta(minutes=61)):
        assert "client_secret" in api.checkout(body)


def test_approvals_of_paid_orders_count_for_no_visitor(api, sandbox, work):
    """A campus may have one address."""
    subject = make_subject()
    for number in range(40):
        email = f"alumna{number}@example.com"
        placed = api.checkout(checkout_body(whole(subject), total="182.40", email=email))
        page = ask_for_approval(api, sandbox, placed, work, event_id=f"evt_{number}")
        sandbox.decide(page)
        assert complete(api, placed)[0] == 200
