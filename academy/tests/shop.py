"""Fixtures for tests that buy: the API as a browser calls it, and the local Stripe stand-in."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import requests
from django.core.management import call_command
from django.test import Client

from academy.dev.environment import free_port
from apps.payments import stripe_gateway

SUCCESS = "4242424242424242"
DECLINED = "4000000000000002"
CHALLENGE = "4000002760003184"


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
        """A checkout that is accepted."""
        status, answer = self.post("process-checkout", body)
        assert status == 200, answer
        return answer


@pytest.fixture
def api() -> Api:
    return Api()


class Standin:
    """The stand-in as the browser's Stripe.js and the provider's own dashboard use it."""

    def __init__(self, base: str) -> None:
        self.base = base

    def _call(
        self, method: str, path: str, key: str, data: dict[str, str] | None = None
    ) -> dict[str, Any]:
        answer = requests.request(
            method,
            f"{self.base}/v1/{path}",
            data=data,
            headers={"Authorization": f"Bearer {key}"},
            timeout=10,
        )
        return dict(answer.json())

    def confirm(self, client_secret: str, number: str = SUCCESS) -> dict[str, Any]:
        """What Stripe.js does with a card number; the payment, or {"error": …}."""
        reference = client_secret.split("_secret_")[0]
        method = self._call(
            "POST",
            "payment_methods",
            os.environ["STRIPE_PUBLISHABLE_KEY"],
            {
                "type": "card",
                "card[number]": number,
                "card[exp_month]": "12",
                "card[exp_year]": "2034",
                "card[cvc]": "123",
            },
        )
        if "error" in method:
            return method
        return self._call(
            "POST",
            f"payment_intents/{reference}/confirm",
            os.environ["STRIPE_PUBLISHABLE_KEY"],
            {
                "client_secret": client_secret,
                "payment_method": method["id"],
                "return_url": "http://127.0.0.1/success",
            },
        )

    def payment(self, reference: str) -> dict[str, Any]:
        return self._call("GET", f"payment_intents/{reference}", os.environ["STRIPE_SECRET_KEY"])

    def payments(self, customer: str) -> list[dict[str, Any]]:
        path = f"payment_intents?customer={customer}&limit=100"
        return list(self._call("GET", path, os.environ["STRIPE_SECRET_KEY"])["data"])


@pytest.fixture(scope="session")
def standin_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The stand-in's address and the file that it keeps its state in."""
    port = free_port()
    state = tmp_path_factory.mktemp("standin") / "state.sqlite3"
    command = [sys.executable, "-m", "apps.payments.sandbox", "--port", str(port)]
    env = {**os.environ, "SANDBOX_WEBHOOK_URL": ""}
    process = subprocess.Popen([*command, "--state", str(state)], env=env)
    base = f"http://127.0.0.1:{port}"
    for _ in range(200):
        try:
            requests.get(f"{base}/healthz", timeout=1)
            break
        except requests.ConnectionError:
            time.sleep(0.05)
    yield base, state
    process.terminate()
    process.wait(10)


@pytest.fixture
def standin(standin_process: tuple[str, Path], settings: Any) -> Iterator[Standin]:
    """The stand-in, empty and without webhooks: what it knows is told only to who asks."""
    base, state = standin_process
    with closing(sqlite3.connect(state, timeout=10)) as database, database:
        # Order ids begin anew with each test, and so would the idempotency keys made of them.
        for table in ("objects", "idempotency", "deliveries"):
            database.execute(f"DELETE FROM {table}")
    settings.STRIPE_API_BASE = base
    stripe_gateway._client.cache_clear()
    yield Standin(base)
    stripe_gateway._client.cache_clear()


@pytest.fixture
def work() -> Callable[[], None]:
    """What the worker does until nothing is due."""
    return lambda: call_command(
        "db_worker", batch=True, interval=0, startup_delay=False, verbosity=0
    )
