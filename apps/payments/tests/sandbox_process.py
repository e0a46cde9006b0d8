"""The Stripe stand-in as a real process for tests, driven by the official library."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
import stripe

from academy.dev.processes import ended_with_us

ROOT = Path(__file__).resolve().parents[3]
SECRET_KEY = "sk_test_standin0123456789"
PUBLISHABLE_KEY = "pk_test_standin0123456789"
WEBHOOK_SECRET = "whsec_standin0123456789"
CARD = {"exp_month": 12, "exp_year": 2034, "cvc": "123"}


@dataclass(frozen=True)
class SandboxProcess:
    port: int
    state: Path
    log: Path
    pid: int
    secret_key: str = SECRET_KEY
    publishable_key: str = PUBLISHABLE_KEY

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, key: str = SECRET_KEY) -> stripe.StripeClient:
        return stripe.StripeClient(key, base_addresses={"api": self.url}, max_network_retries=0)

    def browser_client(self) -> stripe.StripeClient:
        return self.client(PUBLISHABLE_KEY)

    def new_card(self, number: str, **changes: Any) -> stripe.PaymentMethod:
        """A payment method made as the card frame makes it, with the publishable key."""
        card = {"number": number, **CARD, **changes}
        return self.browser_client().v1.payment_methods.create({"type": "card", "card": card})

    def fault(self, **fault: Any) -> int:
        """Make something go wrong (see the stand-in's README); the fault's number."""
        return int(self.control("POST", "faults", fault)["id"])

    def control(self, method: str, path: str, content: Any = None) -> Any:
        response = requests.request(
            method,
            f"{self.url}/_sandbox/{path}",
            json={} if content is None else content,
            timeout=20,
        )
        response.raise_for_status()
        return response.json()


def wait_until(condition: Callable[[], bool], seconds: float = 8) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@contextmanager
def running_sandbox(
    state: Path, *options: str, environment: dict[str, str] | None = None
) -> Iterator[SandboxProcess]:
    """Start the process on a free port, end it by its pid afterwards."""
    state.parent.mkdir(parents=True, exist_ok=True)
    log = state.with_suffix(".log")
    command = [sys.executable, "-m", "apps.payments.sandbox", "--port", "0", "--state", str(state)]
    keys = ["--secret-key", SECRET_KEY, "--publishable-key", PUBLISHABLE_KEY]
    with log.open("a") as errors:
        process = subprocess.Popen(
            ended_with_us([*command, *keys, *options]),
            cwd=ROOT,
            env={**_plain_environment(), "STRIPE_SANDBOX": "1", **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            line = process.stdout.readline() if process.stdout else ""
            assert "http://" in line, f"the stand-in did not start: {log.read_text()}"
            yield SandboxProcess(int(line.rsplit(":", 1)[1]), state, log, process.pid)
        finally:
            process.terminate()
            process.wait(timeout=10)
            if process.stdout:
                process.stdout.close()


def _plain_environment() -> dict[str, str]:
    """Without the shop's own keys and webhook address, which the process would take up."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("STRIPE_", "SANDBOX_"))
    }
