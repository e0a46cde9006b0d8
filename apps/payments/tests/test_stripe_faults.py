"""Purchases while Stripe fails end with one order, one charge and one enrolment."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
import stripe
import time_machine
from django.core.management import call_command
from django.utils import timezone

from apps.classroom.models import Enrolment, Provisioning
from apps.core.models import Mail
from apps.orders.models import Order, Payment
from apps.payments.models import ProviderEvent
from apps.payments.stripe.client import client
from tests.helpers.factories import checkout_body, make_subject, whole
from tests.helpers.shop import DECLINED, Api, Sandbox

# The faults hit both the call and the retry of Stripe's library, so that the shop sees them.
BOTH = [1, 2]
FAULTS: dict[str, dict[str, Any]] = {
    "slow": {"do": "slow", "seconds": 0.6, "nth": BOTH},
    "timed out before the work": {"do": "timeout_before", "nth": BOTH},
    "timed out after the work": {"do": "timeout_after", "nth": BOTH},
    "500": {"do": "error_500", "nth": BOTH},
    "500 after the work": {"do": "error_500", "work": True, "nth": BOTH},
    "429": {"do": "error_429", "nth": BOTH},
    "html": {"do": "html", "nth": BOTH},
    "truncated": {"do": "truncated", "nth": BOTH},
    "empty": {"do": "empty", "nth": BOTH},
}


EVENTS = [
    f"payment_intent.{kind}" for kind in ("succeeded", "payment_failed", "processing", "canceled")
]
# One function turns every fault of every call into the shop's error. What differs for a call that
# writes is whether the work was done; one that only reads does no work.
WRITES = ("timed out before the work", "timed out after the work", "500 after the work")
READS = ("timed out before the work", "429", "html")
fault_of_a_write = pytest.mark.parametrize("fault", [FAULTS[name] for name in WRITES], ids=WRITES)
fault_of_a_read = pytest.mark.parametrize("fault", [FAULTS[name] for name in READS], ids=READS)
EVERY_FAULT = [("embedded", "POST /v1/payment_intents", name) for name in FAULTS]
OTHER_CALLS = [
    (mode, call, name)
    for mode, call in (
        ("embedded", "POST /v1/customers"),
        ("hosted", "POST /v1/coupons"),
        ("hosted", "POST /v1/checkout/sessions"),
    )
    for name in WRITES
]


@pytest.fixture(autouse=True)
def _impatient(settings, monkeypatch):
    """Short timeouts, and no delay before the retries of Stripe's library."""
    settings.STRIPE_TIMEOUT = 0.4
    # The breaker stays closed: test_call_limits.py tests it.
    settings.STRIPE_BREAKER_FAILURES = 1000
    monkeypatch.setattr(stripe.HTTPClient, "INITIAL_DELAY", 0.01)
    client.cache_clear()


class Buyer:
    """A buyer who retries when the shop answers "Inténtalo de nuevo"."""

    def __init__(self, api: Api, sandbox: Sandbox, body: dict[str, Any]) -> None:
        self.api = api
        self.sandbox = sandbox
        self.body = body
        self.failures: list[dict[str, Any]] = []

    def insist(self, path: str, body: dict[str, Any], tries: int = 5) -> dict[str, Any]:
        """Post until the answer is 200. The other answers are in `failures`."""
        for _ in range(tries):
            status, answer = self.api.post(path, body)
            if status == 200:
                return answer
            assert (status, answer["code"]) == (502, "provider_error"), answer
            assert answer["error"] == "No se pudo preparar el pago. Inténtalo de nuevo."
            self.failures.append(answer)
            if "order_id" in answer:
                # Like the dialog, the retry continues with the same order.
                body |= {"recovery_order_id": answer["order_id"], "token": answer["token"]}
        raise AssertionError(f"{path} failed {tries} times")

    def check_out(self, tries: int = 5) -> dict[str, Any]:
        return self.insist("process-checkout", self.body, tries)

    def complete(self, placed: dict[str, Any], tries: int = 5) -> dict[str, Any]:
        name = "session_id" if "session_id" in placed else "payment_intent_id"
        return self.insist("complete-payment", {name: placed[name]}, tries)


@pytest.fixture
def buyer(api, sandbox, db):
    """Bruno, about to buy one subject at 192 €: 182.40 € to pay."""
    return Buyer(api, sandbox, checkout_body(whole(make_subject()), total="182.40"))


def assert_one_of_everything(sandbox: Sandbox) -> None:
    """One order, one charge at the provider, one enrolment, one set of mails."""
    order = Order.objects.get()
    assert order.status == "paid"
    assert order.events.filter(to_status="paid").count() == 1
    assert Counter(order.payments.exclude(status="canceled").values_list("status", flat=True)) == {
        "succeeded": 1
    }
    assert order.payments.exclude(flag="").count() == 0
    assert Provisioning.objects.count() == 1
    assert Enrolment.objects.count() == 1
    assert Counter(Mail.objects.values_list("template", "status")) == {
        ("order_confirmation", "sent"): 1,
        ("classroom_access", "sent"): 1,
        ("referral_code", "sent"): 1,
    }
    state = sandbox.process.control("GET", "state")
    assert state["charges"].get("succeeded") == 1
    # No other payment is open.
    state["payment_intents"].pop("canceled", None)
    assert state["payment_intents"] == {"succeeded": 1}
    sessions = sandbox.sessions(order.customer_reference)
    assert [session["id"] for session in sessions if session["status"] == "open"] == []


def struck(sandbox: Sandbox) -> int:
    return sum(fault["struck"] for fault in sandbox.process.control("GET", "faults")["faults"])


@pytest.mark.parametrize(("mode", "call", "name"), [*EVERY_FAULT, *OTHER_CALLS])
def test_checkout_after_a_failed_call_opens_one_payment_and_charges_once(
    buyer, sandbox, work, settings, mode, call, name
):
    settings.STRIPE_CHECKOUT = mode
    sandbox.process.fault(calls=call, caller="server", **FAULTS[name])

    placed = buyer.check_out()
    sandbox.pay(placed)
    buyer.complete(placed)
    work()

    assert struck(sandbox) >= 1
    assert buyer.failures, "the buyer saw none of it"
    assert_one_of_everything(sandbox)


@fault_of_a_read
def test_repeated_checkout_survives_a_failure_to_read_the_open_payment(buyer, sandbox, work, fault):
    first = buyer.check_out()
    buyer.body |= {"recovery_order_id": first["order_id"], "token": first["token"]}
    sandbox.process.fault(calls="GET /v1/payment_intents/*", caller="server", **fault)

    placed = buyer.check_out()
    sandbox.confirm(placed["client_secret"])
    buyer.complete(placed)
    work()

    assert placed["payment_intent_id"] == first["payment_intent_id"]
    assert struck(sandbox) >= 1
    assert_one_of_everything(sandbox)


@fault_of_a_read
@pytest.mark.parametrize("mode", ["embedded", "hosted"])
def test_confirmed_payment_is_completed_after_a_failure_to_read_it(
    buyer, sandbox, work, settings, fault, mode
):
    settings.STRIPE_CHECKOUT = mode
    placed = buyer.check_out()
    sandbox.pay(placed)
    sandbox.process.fault(calls="GET /v1/*", caller="server", **fault)

    buyer.complete(placed)
    work()

    assert struck(sandbox) >= 1
    assert_one_of_everything(sandbox)


@fault_of_a_write
def test_payment_of_a_changed_cart_is_canceled_after_a_failed_cancellation(
    buyer, sandbox, work, fault
):
    first = buyer.check_out()
    buyer.body = checkout_body(
        whole(make_subject(price="200.00")),
        total="190.00",
        recovery_order_id=first["order_id"],
        token=first["token"],
    )
    sandbox.process.fault(calls="POST /v1/payment_intents/*/cancel", **fault)

    placed = buyer.check_out()

    assert struck(sandbox) >= 1
    assert sandbox.payment(first["payment_intent_id"])["status"] == "canceled"
    with pytest.raises(stripe.InvalidRequestError, match="status of canceled"):
        sandbox.confirm(first["client_secret"])
    sandbox.confirm(placed["client_secret"])
    buyer.complete(placed)
    work()
    assert_one_of_everything(sandbox)
    assert Order.objects.get().total_cents == 19000


@fault_of_a_read
def test_reconciliation_survives_failures_and_finds_everything_in_the_next_run(
    buyer, sandbox, work, fault
):
    placed = buyer.check_out()
    sandbox.confirm(placed["client_secret"])
    sandbox.process.fault(calls="*", caller="server", **{**fault, "nth": list(range(1, 7))})

    for _ in range(4):
        call_command("reconcile_payments")
    work()

    assert struck(sandbox) >= 2
    assert_one_of_everything(sandbox)


def test_slow_answers_within_the_timeout_are_accepted(buyer, sandbox, work):
    sandbox.process.fault(calls="*", caller="server", do="slow", seconds=0.1)

    placed = buyer.check_out()
    sandbox.confirm(placed["client_secret"])
    buyer.complete(placed)
    work()

    assert buyer.failures == []
    assert_one_of_everything(sandbox)


def test_stored_500_does_not_block_the_order_for_a_day(buyer, sandbox):
    """Under one idempotency key, Stripe repeats the 500 for 24 hours."""
    sandbox.process.fault(calls="POST /v1/payment_intents", do="error_500", nth=1)

    placed = buyer.check_out(tries=2)

    assert len(buyer.failures) == 1
    assert len(sandbox.payments(Order.objects.get().customer_reference)) == 1
    assert sandbox.payment(placed["payment_intent_id"])["amount"] == 18240


def test_order_can_be_recovered_after_a_failed_checkout(buyer, sandbox):
    sandbox.process.fault(calls="POST /v1/payment_intents", do="timeout_before")
    status, answer = buyer.api.post("process-checkout", buyer.body)
    assert status == 502

    status, order = buyer.api.get("orders/recover", order=answer["order_id"], token=answer["token"])

    assert status == 200
    assert order["total_amount"] == 182.4
    assert Payment.objects.count() == 0


@pytest.fixture
def events(live_server, sandbox, settings):
    """The sandbox's webhook endpoint at the shop. The test triggers each delivery."""
    sandbox.process.control("POST", "webhooks", {"enabled": False})
    endpoint = sandbox.process.client().v1.webhook_endpoints.create(
        {"url": f"{live_server.url}/api/stripe/webhook", "enabled_events": EVENTS}
    )
    settings.STRIPE_WEBHOOK_SECRET = endpoint.secret
    yield sandbox.process
    # The test server has stopped, so the sandbox must not send to it.
    sandbox.forget_everything()
    sandbox.process.control("POST", "webhooks", {"enabled": True})


def deliver(events) -> int:
    return events.control("POST", "deliver")["delivered"]


def deliveries(events) -> dict[str, int]:
    return events.control("GET", "state")["deliveries"]


def test_late_event_of_a_paid_order_changes_nothing(buyer, events, sandbox, work):
    events.fault(events="*", do="late", seconds=600)
    placed = buyer.check_out()
    sandbox.confirm(placed["client_secret"])
    buyer.complete(placed)
    work()

    events.control("POST", "webhooks", {"enabled": True})
    assert ProviderEvent.objects.count() == 0
    assert deliver(events) == 1
    work()

    assert ProviderEvent.objects.get().processed_at is not None
    assert_one_of_everything(sandbox)


def test_late_event_completes_the_order_if_the_browser_never_returns(buyer, events, sandbox, work):
    events.fault(events="*", do="late", seconds=600)
    sandbox.confirm(buyer.check_out()["client_secret"])
    assert Order.objects.get().status == "cart"

    assert deliver(events) == 1
    work()

    assert_one_of_everything(sandbox)


def test_event_delivered_twice_is_processed_once(buyer, events, sandbox, work):
    events.fault(events="*", do="twice")
    sandbox.confirm(buyer.check_out()["client_secret"])

    assert deliver(events) == 2
    work()

    assert ProviderEvent.objects.count() == 1
    assert_one_of_everything(sandbox)


def test_events_out_of_order_count_each_decline_and_leave_the_order_paid(
    buyer, events, sandbox, work
):
    events.fault(events="*", do="out_of_order")
    placed = buyer.check_out()
    for _ in range(2):
        assert sandbox.confirm(placed["client_secret"], DECLINED) == "card_declined"
    sandbox.confirm(placed["client_secret"])

    assert deliver(events) == 3
    kinds = list(ProviderEvent.objects.order_by("pk").values_list("kind", flat=True))
    assert kinds == ["payment_intent.succeeded", *["payment_intent.payment_failed"] * 2]
    work()

    assert Order.objects.get().refused_cards == 2
    assert_one_of_everything(sandbox)


def test_reconciliation_completes_an_order_whose_events_are_lost(buyer, events, sandbox, work):
    events.fault(events="*", do="never")
    sandbox.confirm(buyer.check_out()["client_secret"])
    assert deliver(events) == 0
    work()
    assert Order.objects.get().status == "cart"

    call_command("reconcile_payments")
    work()

    assert deliveries(events) == {"withheld": 1}
    assert_one_of_everything(sandbox)


def test_event_whose_payment_cannot_be_read_is_processed_later(buyer, events, sandbox, work):
    sandbox.confirm(buyer.check_out()["client_secret"])
    events.fault(calls="GET /v1/payment_intents/*", do="error_429", nth=1)

    assert deliver(events) == 1
    work()
    assert ProviderEvent.objects.get().outcome.startswith("Pendiente")
    assert Order.objects.get().status == "cart"
    with time_machine.travel(timezone.now() + timedelta(minutes=2)):
        work()

    assert ProviderEvent.objects.get().processed_at is not None
    assert_one_of_everything(sandbox)


@pytest.mark.parametrize(
    "how", ["wrong_signature", "no_signature", "old_timestamp", "altered_body"]
)
def test_forged_event_is_refused_and_not_stored(buyer, events, sandbox, work, how):
    events.fault(events="payment_intent.canceled", do="forged", how=how)
    placed = buyer.check_out()
    events.client().v1.payment_intents.cancel(placed["payment_intent_id"])

    assert deliver(events) == 1
    work()

    assert deliveries(events) == {"delivered": 1, "forgery refused": 1}
    # Only the genuine event was stored.
    assert ProviderEvent.objects.get().kind == "payment_intent.canceled"
    assert Order.objects.get().status == "cart"
    assert Enrolment.objects.count() == 0
    assert Mail.objects.count() == 0


SOAK_FAULTS = [
    {"do": "slow", "seconds": 0.05},
    {"do": "timeout_before"},
    {"do": "timeout_after"},
    {"do": "error_500", "work": True},
    {"do": "error_429"},
    {"do": "truncated"},
]
SOAK_EVENTS = [
    {"do": "late", "seconds": 600},
    {"do": "twice"},
    {"do": "out_of_order"},
    {"do": "never"},
    {"do": "forged", "how": "altered_body"},
]


@pytest.mark.parametrize(("mode", "purchases"), [("embedded", 20), ("hosted", 10)])
def test_concurrent_purchases_under_random_faults_are_each_completed_once(
    api, events, sandbox, work, settings, mode, purchases
):
    settings.RATE_LIMIT_SCALE = 0
    settings.STRIPE_CHECKOUT = mode
    subject = make_subject()
    for seed, fault in enumerate(SOAK_FAULTS):
        # Each fault hits a fifth of the remaining calls, so about half of them are answered.
        events.fault(calls="*", caller="server", **fault, probability=0.2, seed=seed)
    for seed, fault in enumerate(SOAK_EVENTS):
        events.fault(events="*", **fault, probability=0.2, seed=seed)

    failures = 0
    for number in range(purchases):
        body = checkout_body(whole(subject), total="182.40", email=f"alumno{number}@example.com")
        body["phone"] = f"+346001{number:05}"
        buyer = Buyer(api, sandbox, body)
        placed = buyer.check_out(tries=60)
        if number % 5 == 0:
            sandbox.pay(placed, DECLINED)
        sandbox.pay(placed)
        if number % 3:
            buyer.complete(placed, tries=60)
        failures += len(buyer.failures)
        if number % 10 == 9:
            deliver(events)
            work()
            call_command("reconcile_payments")
    deliver(events)
    work()
    # Stripe answers normally again.
    assert failures > purchases / 2
    assert struck(sandbox) > 3 * purchases
    events.control("DELETE", "faults")
    with time_machine.travel(timezone.now() + timedelta(minutes=5)):
        call_command("reconcile_payments")
        work()

    assert Counter(Order.objects.values_list("status", flat=True)) == {"paid": purchases}
    assert Payment.objects.exclude(flag="").count() == 0
    assert Counter(Payment.objects.values_list("status", flat=True)) == {"succeeded": purchases}
    assert Enrolment.objects.count() == purchases
    assert Counter(Mail.objects.values_list("template", "status")) == {
        ("order_confirmation", "sent"): purchases,
        ("classroom_access", "sent"): purchases,
        ("referral_code", "sent"): purchases,
    }
    state = events.control("GET", "state")
    assert state["charges"]["succeeded"] == purchases
    assert state["payment_intents"] == {"succeeded": purchases}
    assert "forgery taken" not in state["deliveries"]
    assert not ProviderEvent.objects.filter(processed_at=None).exists()
