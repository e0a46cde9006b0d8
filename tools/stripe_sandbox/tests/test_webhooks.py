"""Webhook deliveries, received by a small server that fails on request."""

import http.server
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import stripe

from ..testing import WEBHOOK_SECRET, SandboxProcess, running_sandbox, wait_until

PAYMENT = {"amount": 5000, "currency": "eur", "allowed_payment_method_types": ["card"]}


@dataclass
class Receiver:
    """Receives events. Answers with the statuses in `answers`, then with 200."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    received: list[tuple[bytes, str]] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)

    def events(self) -> list[stripe.Event]:
        return [
            stripe.Webhook.construct_event(body, signature, WEBHOOK_SECRET)
            for body, signature in self.received
        ]

    def types(self) -> list[str]:
        return [event.type for event in self.events()]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.arrivals.append(time.monotonic())
            receiver.received.append((body, self.headers["Stripe-Signature"]))
            self.send_response(receiver.answers.pop(0) if receiver.answers else 200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    receiver.url = f"http://127.0.0.1:{server.server_port}/api/stripe/webhook"
    yield receiver
    server.shutdown()
    server.server_close()


@pytest.fixture
def options(receiver: Receiver) -> list[str]:
    return ["--webhook-url", receiver.url, "--webhook-secret", WEBHOOK_SECRET]


@pytest.fixture
def sandbox(tmp_path: Path, options: list[str]) -> Iterator[SandboxProcess]:
    with running_sandbox(tmp_path / "state.sqlite3", *options) as process:
        yield process


def pay(sandbox: SandboxProcess) -> stripe.PaymentIntent:
    return sandbox.client().v1.payment_intents.create(
        {**PAYMENT, "payment_method": "pm_card_visa", "confirm": True}
    )


def test_events_are_signed_in_order_and_hold_object_of_that_moment(sandbox, receiver):
    intent = pay(sandbox)

    wait_until(lambda: len(receiver.received) == 3)

    created, _, succeeded = receiver.events()
    assert receiver.types() == [
        "payment_intent.created",
        "charge.succeeded",
        "payment_intent.succeeded",
    ]
    assert created.data.object.status == "requires_confirmation"
    assert succeeded.data.object.status == "succeeded"
    assert succeeded.data.object.id == intent.id
    assert succeeded.livemode is False
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.Webhook.construct_event(*receiver.received[0], "whsec_another")
    wait_until(lambda: sandbox.control("GET", "state")["deliveries"] == {"delivered": 3})
    listed = sandbox.client().v1.events.list({"type": "payment_intent.succeeded"}).data
    assert [(event.id, event.pending_webhooks) for event in listed] == [(succeeded.id, 0)]


def test_refused_event_is_sent_again(sandbox, receiver):
    receiver.answers = [500, 302]

    sandbox.client().v1.customers.create({"email": "ana@example.com"})

    wait_until(lambda: len(receiver.received) == 3)
    assert len({event.id for event in receiver.events()}) == 1
    wait_until(lambda: sandbox.control("GET", "state")["deliveries"] == {"delivered": 1})


def test_restart_continues_deliveries_and_registers_endpoint_once(tmp_path, receiver, options):
    state = tmp_path / "state.sqlite3"
    with running_sandbox(state, *options) as first:
        first.control("POST", "webhooks", {"enabled": False})
        pay(first)
    assert receiver.received == []

    with running_sandbox(state, *options) as second:
        assert second.control("GET", "state")["webhooks_enabled"] is False
        second.control("POST", "webhooks", {"enabled": True})
        wait_until(lambda: len(receiver.received) == 3)
        assert second.control("GET", "state")["objects"]["webhook_endpoint"] == 1


def test_deliver_control_sends_held_events(sandbox, receiver):
    sandbox.control("POST", "webhooks", {"enabled": False})
    intent = pay(sandbox)
    event = sandbox.client().v1.events.list({"type": "payment_intent.succeeded"}).data[0]
    assert (event.data.object.id, event.pending_webhooks) == (intent.id, 1)
    assert receiver.received == []

    assert sandbox.control("POST", "deliver") == {"delivered": 3}

    assert len(receiver.received) == 3
    assert sandbox.control("POST", "deliver") == {"delivered": 0}


def test_retries_wait_longer_each_time(sandbox, receiver):
    receiver.answers = [500, 500]

    sandbox.client().v1.customers.create({})
    wait_until(lambda: len(receiver.received) == 3)

    one, two, three = receiver.arrivals
    assert two - one >= 1
    assert three - two >= 2


PAID = "payment_intent.succeeded"


def ids(receiver: Receiver) -> list[str]:
    return [json.loads(body)["id"] for body, _ in receiver.received]


def is_signed(body: bytes, signature: str) -> bool:
    try:
        stripe.Webhook.construct_event(body, signature, WEBHOOK_SECRET)
    except stripe.SignatureVerificationError:
        return False
    return True


def test_late_event_arrives_after_later_events(sandbox, receiver):
    sandbox.fault(events="payment_intent.created", do="late", seconds=0.5)

    pay(sandbox)

    wait_until(lambda: len(receiver.received) == 3)
    assert receiver.types() == ["charge.succeeded", PAID, "payment_intent.created"]


def test_event_sent_twice_has_same_id(sandbox, receiver):
    sandbox.fault(events=PAID, do="twice", nth=1)

    pay(sandbox)

    wait_until(lambda: len(receiver.received) == 4)
    assert receiver.types()[-2:] == [PAID, PAID]
    assert len(set(ids(receiver))) == 3


def test_out_of_order_events_arrive_newest_first(sandbox, receiver):
    sandbox.fault(events="*", do="out_of_order", seconds=0.3)

    pay(sandbox)

    wait_until(lambda: len(receiver.received) == 3)
    assert receiver.types() == [PAID, "charge.succeeded", "payment_intent.created"]


def test_withheld_event_is_still_listed(sandbox, receiver):
    sandbox.fault(events="payment_intent.*", do="never")

    pay(sandbox)

    wait_until(lambda: len(receiver.received) == 1)
    assert sandbox.control("POST", "deliver") == {"delivered": 0}
    assert receiver.types() == ["charge.succeeded"]
    assert sandbox.client().v1.events.list({"type": PAID}).data[0].pending_webhooks == 0
    assert sandbox.control("GET", "state")["deliveries"] == {"delivered": 1, "withheld": 2}


@pytest.mark.parametrize(
    "how", ["wrong_signature", "no_signature", "old_timestamp", "altered_body"]
)
def test_forgery_is_sent_once_before_the_event(sandbox, receiver, how):
    receiver.answers = [400]
    sandbox.fault(events="payment_intent.created", do="forged", how=how)

    sandbox.client().v1.payment_intents.create({**PAYMENT, "payment_method": "pm_card_visa"})

    wait_until(lambda: len(receiver.received) == 2)
    (body, signature), true = receiver.received
    assert is_signed(*true)
    if how == "no_signature":
        assert signature is None
    else:
        assert not is_signed(body, signature)
    claimed = json.loads(body)
    if how == "altered_body":
        assert (claimed["type"], claimed["data"]["object"]["status"]) == (PAID, "succeeded")
    else:
        assert claimed["id"] == ids(receiver)[1]
    wait_until(
        lambda: (
            sandbox.control("GET", "state")["deliveries"] == {"delivered": 1, "forgery refused": 1}
        )
    )


def test_state_counts_accepted_forgeries(sandbox, receiver):
    sandbox.fault(events="*", do="forged")

    sandbox.client().v1.customers.create({})

    wait_until(
        lambda: (
            sandbox.control("GET", "state")["deliveries"] == {"delivered": 1, "forgery taken": 1}
        )
    )
