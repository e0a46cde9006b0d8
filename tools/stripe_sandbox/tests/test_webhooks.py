"""Webhook deliveries, received by a small server that fails on request."""

import http.server
import threading
import time
from dataclasses import dataclass, field

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
def receiver():
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
def options(receiver):
    return ["--webhook-url", receiver.url, "--webhook-secret", WEBHOOK_SECRET]


@pytest.fixture
def sandbox(tmp_path, options):
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
