"""Orders are completed alike from the hosted page and from the Payment Element."""

import pytest
from django.core.management import call_command

from apps.classroom.models import Enrolment
from apps.core.models import Mail
from apps.orders.models import Order, Payment, PromoUse
from tests.helpers.completion import (
    again,
    assert_paid_once,
    confirm_correction,
    deliver,
    event_body,
    expire_at_provider,
    reference_of,
)
from tests.helpers.factories import BRUNO, checkout_body, make_promo, make_subject, whole
from tests.helpers.shop import DECLINED
from tools.stripe_sandbox.testing import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("hosted")]
SLOW = "4000009990000005"


def test_browser_completes_the_order_when_it_returns(api, sandbox, mode, placed, work):
    sandbox.pay(placed)

    status, answer = api.post("complete-payment", reference_of(placed))
    assert (status, answer["status"], answer["account_status"]) == (200, "paid", "pending")
    assert api.post("complete-payment", reference_of(placed))[1]["status"] == "paid"
    work()

    assert_paid_once(placed["order_id"])
    assert Enrolment.objects.count() == 1
    payment = Payment.objects.get()
    assert payment.reference.startswith("pi_")
    for known_as in (reference_of(placed), {"payment_intent_id": payment.reference}):
        status, found = api.get("orders/by-payment", **known_as)
        assert (status, found["id"], found["amount_paid"]) == (200, placed["order_id"], 182.4)
        assert found["account_status"] == "created"
        assert found["reference"] == f"ORD-{next(iter(known_as.values()))[-8:]}"
        status, sent = api.post("complete-payment", {**known_as, "resend_email": True})
        assert status in (200, 429)
        assert "attempts_left" in sent
        status, _ = api.post("create-auth-user", {"order_id": placed["order_id"], **known_as})
        assert status == 200
    assert Enrolment.objects.count() == 1


def test_address_of_an_order_paid_on_stripes_page_is_corrected_by_staff(api, sandbox, placed, work):
    """Whoever has typed the address can pass the page on, and keeps the order's token."""
    sandbox.pay(placed)
    api.post("complete-payment", reference_of(placed))
    right = {"order_id": placed["order_id"], "token": placed["token"], "email": "leo@example.com"}
    assert api.post("orders/correct-email", right)[0] == 200
    work()
    assert confirm_correction() == 200
    order = Order.objects.get()
    assert order.email == BRUNO["email"]
    assert "comprueba quién ha pagado" in order.flag


def test_order_is_not_completed_before_its_payment(api, sandbox, mode, placed):
    status, answer = api.post("complete-payment", reference_of(placed))

    assert (status, answer["code"]) == (409, "not_confirmed")
    status, found = api.get("orders/by-payment", **reference_of(placed))
    assert (status, found["status"], found["amount_paid"]) == (200, "cart", 0)


def test_order_is_paid_with_another_card_after_a_decline(api, sandbox, mode, placed):
    assert sandbox.pay(placed, DECLINED) == "card_declined"
    assert api.post("complete-payment", reference_of(placed))[0] == 409

    sandbox.pay(placed)

    assert api.post("complete-payment", reference_of(placed))[0] == 200
    assert_paid_once(placed["order_id"])


def test_reconciliation_completes_the_order_if_the_browser_never_returns(
    api, sandbox, mode, placed
):
    sandbox.pay(placed)

    call_command("reconcile_payments")

    assert_paid_once(placed["order_id"])


def test_reconciliation_completes_the_order_if_its_payment_was_not_stored(
    api, sandbox, mode, placed
):
    sandbox.pay(placed)
    Payment.objects.all().delete()

    call_command("reconcile_payments")

    assert_paid_once(placed["order_id"])


def test_promo_code_is_used_when_the_order_is_paid(api, sandbox, mode):
    make_promo(max_uses=1)
    subject = make_subject(price="200.00")
    placed = api.checkout(checkout_body(whole(subject), total="171", promo_code="BIENVENIDA10"))
    sandbox.pay(placed)
    api.post("complete-payment", reference_of(placed))

    assert PromoUse.objects.get().status == "used"


def test_completion_without_a_reference_is_invalid(api):
    status, answer = api.post("complete-payment", {})

    assert (status, list(answer["fields"])) == (400, ["payment_intent_id"])


def intent_of(sandbox, placed):
    return sandbox.session(placed["session_id"])["payment_intent"]["id"]


@pytest.mark.parametrize(
    "order",
    [
        ("payment_intent.succeeded", "checkout.session.completed"),
        ("checkout.session.completed", "payment_intent.succeeded"),
        ("checkout.session.completed",),
        ("payment_intent.succeeded",),
        ("checkout.session.async_payment_succeeded",),
    ],
)
def test_events_in_any_order_complete_the_order_once(api, sandbox, placed, work, order):
    sandbox.pay(placed)
    for kind in order:
        of_intent = kind.startswith("payment_intent")
        reference = intent_of(sandbox, placed) if of_intent else placed["session_id"]
        deliver(api, event_body(kind, reference, event_id=kind))
        work()
    work()

    assert_paid_once(placed["order_id"])
    assert Mail.objects.filter(template="staff_attention").count() == 0
    assert Payment.objects.count() == 1
    order_row = Order.objects.get()
    assert order_row.flag == ""
    assert order_row.stripe_session_id == placed["session_id"]
    assert order_row.stripe_payment_intent_id == Payment.objects.get().reference


def test_event_that_claims_a_paid_session_is_checked_at_stripe(api, sandbox, placed, work):
    deliver(
        api,
        event_body("checkout.session.completed", placed["session_id"], payment_status="paid"),
    )
    work()

    assert Order.objects.get().status == "cart"


def test_event_of_an_expired_session_releases_the_promo_code(api, sandbox, work):
    promo = make_promo(max_uses=1)
    placed = api.checkout(
        checkout_body(whole(make_subject(price="200.00")), total="171", promo_code="BIENVENIDA10")
    )
    deliver(api, event_body("checkout.session.expired", placed["session_id"], event_id="early"))
    work()
    promo.refresh_from_db()
    assert promo.uses_taken == 1  # At Stripe the session is still open.

    expire_at_provider(sandbox, placed["session_id"])
    deliver(api, event_body("checkout.session.expired", placed["session_id"], event_id="late"))
    work()

    promo.refresh_from_db()
    assert promo.uses_taken == 0
    assert Payment.objects.get().status == "canceled"
    assert Order.objects.get().status == "cart"


def test_order_is_completed_when_the_bank_confirms_later(api, sandbox, placed, work):
    sandbox.pay(placed, SLOW)
    status, answer = api.post("complete-payment", reference_of(placed))
    assert (status, answer["status"]) == (200, "processing")
    assert Payment.objects.get().status == "processing"
    body = checkout_body(whole(make_subject("Física", "100.00")), total="95")
    status, answer = api.post("process-checkout", again(placed, body))
    assert (status, answer["code"]) == (409, "payment_in_progress")

    wait_until(lambda: sandbox.session(placed["session_id"])["payment_status"] == "paid", 10)
    deliver(api, event_body("checkout.session.async_payment_succeeded", placed["session_id"]))
    work()

    assert_paid_once(placed["order_id"])


def test_eighth_decline_locks_the_order_and_expires_its_session(api, sandbox, placed, work):
    for number in range(8):
        sandbox.pay(placed, DECLINED)
        body = event_body(
            "payment_intent.payment_failed",
            intent_of(sandbox, placed),
            event_id=f"evt_{number}",
            metadata={"order_id": str(placed["order_id"])},
        )
        deliver(api, body)
    work()

    assert Order.objects.get().locked_until is not None
    assert sandbox.session(placed["session_id"])["status"] == "expired"
    assert Payment.objects.get().status == "canceled"


def test_session_of_another_shop_is_stored_without_an_order(api, sandbox, work):
    client = sandbox.process.client()
    line = {
        "quantity": 1,
        "price_data": {"currency": "eur", "unit_amount": 900, "product_data": {"name": "Taza"}},
    }
    customer = client.v1.customers.create({"email": "bruno@example.com"}).id
    params = {"mode": "payment", "customer": customer, "line_items": [line]}
    session = client.v1.checkout.sessions.create({**params, "success_url": "http://127.0.0.1/"})
    sandbox.pay_page(session.url)
    deliver(api, event_body("checkout.session.completed", session.id))
    work()

    stray = Payment.objects.get()
    assert (stray.order, stray.amount) == (None, 9)
