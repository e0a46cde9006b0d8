"""What a payment is says its kind, and when it succeeded says Stripe (docs/rules.md)."""

import re
from datetime import UTC, datetime
from uuid import uuid4

import pytest
import stripe
import time_machine

from apps.invoices.expected import expected_cents
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Payment
from apps.payments.events.reconcile import reconcile
from apps.payments.stripe.charges import kind_of
from tests.helpers.factories import checkout_body, make_promo, make_subject, whole
from tools.dev.processes import ROOT

# A rule that is read from a payment's id.
FROM_REFERENCE = re.compile(
    r"(?<!BalanceEntry\.objects\.filter\()\breference__startswith|\breference\.startswith"
)


def test_no_rule_is_read_from_the_beginning_of_a_payment_s_reference():
    modules = [
        path
        for folder in ("apps", "tools/dev")
        for path in (ROOT / folder).rglob("*.py")
        if not {"tests", "migrations"} & set(path.parts)
    ]
    assert len(modules) > 300
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in modules
        for match in FROM_REFERENCE.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("details", "kind"),
    [
        ({"type": "card", "card": {"brand": "visa", "wallet": None}}, "card"),
        ({"type": "card", "card": {"wallet": {"type": "apple_pay"}}}, "wallet"),
        ({"type": "link", "link": {}}, "wallet"),
        ({"type": "klarna", "klarna": {}}, "wallet"),
        ({"type": "paypal", "paypal": {}}, "paypal"),
        ({"type": "bizum", "bizum": {}}, "bizum"),
    ],
)
def test_kind_is_known_from_the_charge(details, kind):
    charge = stripe.Charge.construct_from({"payment_method_details": details}, "key")
    assert kind_of(charge) == kind


@pytest.mark.django_db
@pytest.mark.parametrize(("off", "total"), [("200.00", 0), ("189.60", 0.4)])
def test_order_that_no_card_can_pay_is_completed_once_and_not_invoiced(api, sandbox, off, total):
    make_promo("REGALO", kind="FIJO", value=off)
    cart = whole(make_subject(price="200.00"))
    body = checkout_body(cart, total=total, promo_code="REGALO", order_key=str(uuid4()))
    first, second = api.checkout(body), api.checkout(body)

    assert first["order_id"] == second["order_id"]
    payment = Payment.objects.get()
    assert payment.kind == "free"
    assert expected_cents(payment.order) == 0


@pytest.mark.django_db
@pytest.mark.parametrize("way", ["browser", "reconciliation"])
def test_payment_counts_at_its_success_at_stripe(api, sandbox, placed, audited, way):
    sandbox.pay(placed)
    payment = Payment.objects.get()
    intent = sandbox.payment(payment.reference)
    charge = sandbox.process.client().v1.charges.retrieve(intent["latest_charge"])
    succeeded_at = datetime.fromtimestamp(charge.created, UTC)

    with time_machine.travel(succeeded_at.timestamp() + 600, tick=False):
        if way == "browser":
            api.post("complete-payment", {"payment_intent_id": payment.reference})
        else:
            reconcile()
    payment.refresh_from_db()

    assert (payment.kind, payment.succeeded_at) == ("card", succeeded_at)
    assert (payment.recorded_at - succeeded_at).total_seconds() == 600
    assert payment.order.paid_at == succeeded_at


@pytest.mark.django_db
def test_hosted_payment_counts_at_its_success_at_stripe(api, sandbox, hosted):
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    sandbox.pay(placed)
    with time_machine.travel(datetime.now(UTC).timestamp() + 600, tick=False):
        api.post("complete-payment", {"session_id": placed["session_id"]})

    payment = Payment.objects.get()
    assert 590 < (payment.recorded_at - payment.succeeded_at).total_seconds() < 700


def test_success_is_never_later_than_now():
    ahead = datetime(2100, 1, 1, tzinfo=UTC)
    assert ConfirmedPayment("pi_1", 100, succeeded_at=ahead).moment() < ahead
