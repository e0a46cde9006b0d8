"""Fixtures for tests that buy: the API as a browser calls it, and the local Stripe sandbox."""

from typing import Any

import pytest
import requests
import stripe
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client

from apps.payments.stripe.client import client
from tools.stripe_sandbox.testing import SandboxProcess, running_sandbox

SUCCESS = "4242424242424242"
DECLINED = "4000000000000002"


class Api:
    """JSON in, JSON out. `post` and `get` answer (status, body)."""

    def __init__(self) -> None:
        self.client = Client(raise_request_exception=False)

    def post(self, path: str, body: Any, **headers: Any) -> tuple[int, dict[str, Any]]:
        answer = self.client.post(f"/api/{path}", body, content_type="application/json", **headers)
        return answer.status_code, answer.json()

    def get(self, path: str, **query: Any) -> tuple[int, dict[str, Any]]:
        answer = self.client.get(f"/api/{path}", query)
        return answer.status_code, answer.json()

    def checkout(self, body: dict[str, Any]) -> dict[str, Any]:
        """Check out, and fail unless the answer is 200."""
        status, answer = self.post("process-checkout", body)
        assert status == 200, answer
        return answer


@pytest.fixture
def api():
    return Api()


@pytest.fixture
def kept_connection(db):
    """A WSGI application that the test calls does not close the connection.

    The test's transaction is in that connection. Django's test client takes care of it itself.
    """
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)
    yield
    request_started.connect(close_old_connections)
    request_finished.connect(close_old_connections)


class Sandbox:
    """The sandbox as the browser's Stripe.js and the provider's own dashboard use it."""

    def __init__(self, process: SandboxProcess) -> None:
        self.process = process

    def confirm(self, client_secret: str, number: str = SUCCESS) -> str:
        """Confirm as Stripe.js does. Returns the code of the decline, or "" for success."""
        browser = self.process.browser_client()
        try:
            browser.v1.payment_intents.confirm(
                client_secret.split("_secret_")[0],
                {
                    "client_secret": client_secret,  # type: ignore[typeddict-unknown-key]
                    "payment_method": self.process.new_card(number).id,
                    "return_url": "http://127.0.0.1/success",
                },
            )
        except stripe.CardError as refusal:
            return refusal.code or ""
        return ""

    def leave_for(self, kind: str, placed: dict[str, Any]) -> str:
        """Choose Bizum or PayPal as Stripe.js does. Returns the page that the buyer is sent to."""
        return self.process.leave_for(kind, placed["client_secret"])

    def decide(self, page: str, decision: str = "approve") -> None:
        """Answer on that page: approve, later, decline or expire."""
        self.process.decide(page, decision).raise_for_status()

    def pay_page(self, url: str, number: str = SUCCESS) -> str:
        """Pay as the hosted page does. Returns the code of the decline, or "" for success."""
        answer = requests.post(
            url,
            json={
                "payment_method": self.process.new_card(number).id,
                "email": "ana@example.com",
                "name": "Ana Muñoz",
            },
            timeout=60,
        ).json()
        return str(answer.get("error", {}).get("code", ""))

    def pay(self, placed: dict[str, Any], number: str = SUCCESS) -> str:
        """Pay with the answer of process-checkout, in either mode of STRIPE_CHECKOUT."""
        if "url" in placed:
            return self.pay_page(placed["url"], number)
        return self.confirm(placed["client_secret"], number)

    def session(self, reference: str) -> dict[str, Any]:
        return (
            self.process.client()
            .v1.checkout.sessions.retrieve(reference, {"expand": ["payment_intent", "line_items"]})
            .to_dict()
        )

    def sessions(self, customer: str) -> list[dict[str, Any]]:
        page = self.process.client().v1.checkout.sessions.list({"customer": customer})
        return [session.to_dict() for session in page.data]

    def forget_everything(self) -> None:
        """Reset the sandbox, after calls that an earlier test abandoned have ended."""
        self.process.control("DELETE", "state")

    def payment(self, reference: str) -> dict[str, Any]:
        return self.process.client().v1.payment_intents.retrieve(reference).to_dict()

    def payments(self, customer: str) -> list[dict[str, Any]]:
        page = self.process.client().v1.payment_intents.list({"customer": customer, "limit": 100})
        return [payment.to_dict() for payment in page.data]


@pytest.fixture(scope="session")
def sandbox_process(tmp_path_factory):
    with running_sandbox(tmp_path_factory.mktemp("sandbox") / "state.sqlite3") as process:
        yield process


@pytest.fixture
def sandbox(sandbox_process, settings):
    """The sandbox, empty and without webhooks: the shop learns of changes only by its calls."""
    sandbox = Sandbox(sandbox_process)
    # Each test reuses the same order ids, and so the idempotency keys made of them.
    sandbox.forget_everything()
    settings.STRIPE_API_BASE = sandbox_process.url
    settings.STRIPE_SECRET_KEY = sandbox_process.secret_key
    # The threads of a test represent requests to several web processes.
    settings.STRIPE_MAX_WAITING = 100
    client.cache_clear()
    yield sandbox
    client.cache_clear()


@pytest.fixture
def audited(sandbox):
    """At the end of the test the money audit finds no difference, also not with Stripe."""
    # Imported here because pytest loads this module as a plugin, before the settings.
    from apps.payments.audit.run import audit

    yield
    assert audit().differences == []


@pytest.fixture
def work():
    """A function that runs the task worker until no task is due."""
    # Imported here because pytest loads this module as a plugin, before the settings.
    from tests.helpers.commands import run_worker

    return run_worker
