"""POST /api/stripe/webhook stores each event once and acts on what Stripe then answers."""

import time
from datetime import timedelta
from decimal import Decimal

import pytest
import time_machine
from django.utils import timezone

from apps.core.models import Mail
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.ledger.refused_cards import count_refused_card
from apps.orders.models import Order, Payment
from apps.orders.settlement.unmatched import keep_unmatched_payment
from apps.payments.events import handlers
from apps.payments.models import ProviderEvent
from apps.payments.report import report
from apps.payments.stripe.client import ProviderError
from apps.payments.stripe.intents import PaymentIds, retrieve_payment
from tests.helpers.completion import assert_paid_once, deliver, event_body
from tests.helpers.factories import checkout_body, make_subject, whole
from tests.helpers.shop import DECLINED

pytestmark = pytest.mark.django_db


def test_webhook_completes_the_order_if_the_browser_never_returns(api, sandbox, placed, work):
    sandbox.confirm(placed["client_secret"])

    answer = deliver(api, event_body("payment_intent.succeeded", placed["payment_intent_id"]))
    assert answer.status_code == 200
    assert Order.objects.get().status == "cart"
    work()

    assert_paid_once(placed["order_id"])
    assert ProviderEvent.objects.get().processed_at is not None


def test_repeated_event_is_stored_once_and_changes_nothing(api, sandbox, placed, work):
    sandbox.confirm(placed["client_secret"])
    body = event_body("payment_intent.succeeded", placed["payment_intent_id"])

    assert [deliver(api, body).status_code for _ in range(3)] == [200, 200, 200]
    work()

    assert ProviderEvent.objects.count() == 1
    assert_paid_once(placed["order_id"])


def test_browser_and_webhook_together_complete_the_order_once(
    api, sandbox, placed, work, mailoutbox
):
    sandbox.confirm(placed["client_secret"])
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    deliver(api, event_body("payment_intent.succeeded", placed["payment_intent_id"]))
    work()
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    work()

    assert_paid_once(placed["order_id"])
    assert len(mailoutbox) == 3


def test_event_that_claims_a_payment_is_checked_at_stripe(api, placed, work):
    body = event_body(
        "payment_intent.succeeded", placed["payment_intent_id"], status="succeeded", amount=18240
    )

    deliver(api, body)
    work()

    assert Order.objects.get().status == "cart"


def test_event_over_1_mb_is_refused_and_not_stored(api):
    answer = api.client.post(
        "/api/stripe/webhook", b"x" * (1024 * 1024 + 1), content_type="application/json"
    )

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert ProviderEvent.objects.count() == 0


def test_webhook_call_without_signature_and_body_is_refused(api):
    assert api.client.post("/api/stripe/webhook", b"", content_type="text/plain").status_code == 400


def test_signature_with_letters_beyond_ascii_is_refused(api):
    answer = api.client.post(
        "/api/stripe/webhook",
        b"{}",
        content_type="application/json",
        headers={"Stripe-Signature": f"t={int(time.time())},v1=\xff"},
    )

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_signature")


def test_event_of_an_unused_type_is_stored(api, work):
    assert deliver(api, event_body("invoice.paid", "in_1")).status_code == 200
    work()

    assert ProviderEvent.objects.get().outcome == "Guardado; este tipo no se usa"


def test_live_event_in_test_mode_is_stored_and_ignored(api, sandbox, placed, work):
    sandbox.confirm(placed["client_secret"])

    deliver(
        api,
        event_body("payment_intent.succeeded", placed["payment_intent_id"], livemode=True),
    )
    work()

    assert Order.objects.get().status == "cart"
    assert ProviderEvent.objects.get().outcome.startswith("No se trata")


def test_decline_reported_twice_is_counted_once(placed):
    for _ in range(2):
        count_refused_card(
            order_id=placed["order_id"], refusal_id="ch_1", reason="expired_card", actor="Stripe"
        )

    order = Order.objects.get()
    assert order.refused_cards == 1
    event = order.events.last()
    assert (event.kind, event.external_id) == ("card_refused", "ch_1")
    assert event.reason == "expired_card"


def test_payment_of_another_shop_is_stored_without_an_order(api, sandbox, work):
    from apps.payments.stripe.client import client

    client = client()
    foreign = client.v1.payment_intents.create({"amount": 500, "currency": "eur"})
    sandbox.confirm(foreign.client_secret)

    deliver(api, event_body("payment_intent.succeeded", foreign.id))
    work()

    row = Payment.objects.get()
    assert (row.order, row.reference, row.flag) == (
        None,
        foreign.id,
        "Pago que no es de esta tienda",
    )
    assert Mail.objects.count() == 0


def test_payment_of_another_shop_with_odd_metadata_or_currency_is_stored(sandbox):
    foreign = sandbox.process.client().v1.payment_intents.create(
        {"amount": 500, "currency": "eur", "metadata": {"order_id": "²", "revision": "1"}}
    )
    report(retrieve_payment(PaymentIds(foreign.id)), actor="Stripe")
    assert Payment.objects.count() == 0

    sandbox.confirm(foreign.client_secret)
    report(retrieve_payment(PaymentIds(foreign.id)), actor="Stripe")
    pesos = ConfirmedPayment("pi_in_colombia", amount_cents=400_000_000, currency="cop")
    keep_unmatched_payment(pesos, reason="Pago que no es de esta tienda")

    stray = Payment.objects.order_by("amount").values_list("amount", "currency", "order")
    assert list(stray) == [(5, "eur", None), (4_000_000, "cop", None)]


def test_eighth_decline_locks_the_order_for_an_hour(api, sandbox, placed, work):
    for number in range(8):
        sandbox.confirm(placed["client_secret"], DECLINED)
        deliver(
            api,
            event_body(
                "payment_intent.payment_failed",
                placed["payment_intent_id"],
                event_id=f"evt_{number}",
                metadata={"order_id": str(placed["order_id"])},
                last_payment_error={"decline_code": "generic_decline"},
            ),
        )
    work()

    refused = Order.objects.get().events.filter(kind="card_refused")
    assert refused[0].reason == "Tarjeta rechazada: rechazada por el banco (generic_decline)"
    assert sandbox.payment(placed["payment_intent_id"])["status"] == "canceled"
    body = checkout_body(whole(make_subject("Otra")), total="182.40")
    retry = {**body, "recovery_order_id": placed["order_id"], "token": placed["token"]}
    answer = api.client.post("/api/process-checkout", retry, content_type="application/json")
    assert answer.status_code == 429
    assert 3500 < int(answer["Retry-After"]) <= 3600
    with time_machine.travel(timezone.now() + timedelta(minutes=61)):
        status, _ = api.post("process-checkout", retry)
    assert status == 200


def test_event_stays_unprocessed_while_stripe_is_unreachable(api, placed, monkeypatch, work):
    def away(reference):
        raise ProviderError

    monkeypatch.setattr(handlers, "retrieve_payment", away)
    deliver(api, event_body("payment_intent.succeeded", placed["payment_intent_id"]))
    work()

    event = ProviderEvent.objects.get()
    assert event.processed_at is None
    assert event.attempts == 1
    assert event.outcome.startswith("Pendiente")


@pytest.mark.parametrize("customer", ["cus_of_another_order", None])
def test_payment_with_the_order_s_number_but_another_customer_does_not_pay_the_order(
    api, sandbox, placed, work, customer
):
    """As after the restore of an old database, or of a second shop on the same Stripe account."""
    client = sandbox.process.client()
    params = {
        "amount": 18240,
        "currency": "eur",
        "metadata": {"order_id": str(placed["order_id"]), "revision": "1"},
    }
    if customer:
        params["customer"] = client.v1.customers.create({"email": "otra@example.com"}).id
    foreign = client.v1.payment_intents.create(params)
    sandbox.confirm(foreign.client_secret, DECLINED)
    sent = {"metadata": params["metadata"]}
    body = event_body("payment_intent.payment_failed", foreign.id, event_id="evt_0", **sent)
    deliver(api, body)
    sandbox.confirm(foreign.client_secret)
    deliver(api, event_body("payment_intent.succeeded", foreign.id))
    deliver(api, event_body("payment_intent.succeeded", foreign.id, event_id="evt_2"))
    work()

    order = Order.objects.get()
    assert (order.status, order.refused_cards, order.flag) == ("cart", 0, "")
    stray = Payment.objects.get(reference=foreign.id)
    assert (stray.order, stray.amount) == (None, Decimal("182.40"))
    assert stray.flag == f"Pago de otro cliente: no es del pedido {order.pk}"
    mail = Mail.objects.get()
    assert (mail.template, mail.key) == ("staff_attention", f"staff-attention:payment-{stray.pk}")
    assert api.post("complete-payment", {"payment_intent_id": foreign.id})[0] == 404
    assert api.get("orders/by-payment", payment_intent_id=foreign.id)[0] == 404
    # The order's own payment can still be completed.
    sandbox.confirm(placed["client_secret"])
    paid = {"payment_intent_id": placed["payment_intent_id"]}
    assert api.post("complete-payment", paid)[1]["status"] == "paid"
