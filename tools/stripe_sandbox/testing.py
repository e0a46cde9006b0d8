"""Helpers for tests: run the Stripe sandbox as a process, and drive it with Stripe's library."""

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

from .options import DEFAULT_PUBLISHABLE_KEY, DEFAULT_SECRET_KEY, DEFAULT_WEBHOOK_SECRET

PACKAGE = __package__ or ""
# The folder that `python -m PACKAGE` starts from.
ROOT = Path(__file__).resolve().parents[len(PACKAGE.split("."))]
SECRET_KEY, PUBLISHABLE_KEY = DEFAULT_SECRET_KEY, DEFAULT_PUBLISHABLE_KEY
WEBHOOK_SECRET = DEFAULT_WEBHOOK_SECRET
CARD = {"exp_month": 12, "exp_year": 2034, "cvc": "123"}
# A reset waits for calls that are still being answered.
CONTROL_TIMEOUT_SECONDS = 40


@dataclass(frozen=True)
class SandboxProcess:
    """A running sandbox."""

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
        """Stripe's library as a server uses it. It repeats no failed call."""
        return stripe.StripeClient(key, base_addresses={"api": self.url}, max_network_retries=0)

    def browser_client(self) -> stripe.StripeClient:
        """Stripe's library with the publishable key, for what Stripe.js does in a browser."""
        return self.client(PUBLISHABLE_KEY)

    def new_card(self, number: str, **changes: Any) -> stripe.PaymentMethod:
        """A payment method, created with the publishable key as the card fields create it."""
        card: Any = {"number": number, **CARD, **changes}
        return self.browser_client().v1.payment_methods.create({"type": "card", "card": card})

    def leave_for(self, kind: str, client_secret: str) -> str:
        """Confirm with Bizum or PayPal as Stripe.js does. Returns the page that the buyer opens."""
        browser = self.browser_client()
        created: Any = {"type": kind}
        confirmed: Any = {
            "client_secret": client_secret,
            "payment_method": browser.v1.payment_methods.create(created).id,
            "return_url": "http://127.0.0.1/success",
            "use_stripe_sdk": True,
        }
        reference = client_secret.split("_secret_")[0]
        intent = browser.v1.payment_intents.confirm(reference, confirmed)
        action = intent.next_action
        if action is None or action.redirect_to_url is None:
            raise AssertionError(f"{kind} leads to no page: {intent.status}")
        return str(action.redirect_to_url.url)

    def decide(self, page: str, decision: str) -> requests.Response:
        """Answer on the page of Bizum or PayPal: approve, later, decline or expire."""
        return requests.post(page, json={"decision": decision}, timeout=CONTROL_TIMEOUT_SECONDS)

    def fault(self, **fault: Any) -> int:
        """Set a fault, as described in README.md. Returns its id."""
        return int(self.control("POST", "faults", fault)["id"])

    def control(self, method: str, path: str, content: Any = None) -> Any:
        """Send a control request to /_sandbox. Raises requests.HTTPError if it is refused."""
        response = requests.request(
            method,
            f"{self.url}/_sandbox/{path}",
            json={} if content is None else content,
            timeout=CONTROL_TIMEOUT_SECONDS,
        )
        response.raise_for_status()
        return response.json()


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Poll a condition. Raises AssertionError if it does not become true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"The condition did not become true within {seconds} s.")
        time.sleep(0.05)


@contextmanager
def running_sandbox(
    state: Path, *options: str, environment: dict[str, str] | None = None
) -> Iterator[SandboxProcess]:
    """Start a sandbox on a free port, and stop it at the end. Its log is next to the state file."""
    state.parent.mkdir(parents=True, exist_ok=True)
    log = state.with_suffix(".log")
    command = [sys.executable, "-m", PACKAGE, "--port", "0", "--state", str(state)]
    with log.open("a") as errors:
        process = subprocess.Popen(
            [*command, "--parent", str(os.getpid()), *options],
            cwd=ROOT,
            env={**clean_environment(), **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            line = process.stdout.readline() if process.stdout else ""
            if "http://" not in line:
                raise RuntimeError(f"The sandbox did not start: {log.read_text()}")
            yield SandboxProcess(int(line.rsplit(":", 1)[1]), state, log, process.pid)
        finally:
            process.terminate()
            process.wait(timeout=60)
            if process.stdout:
                process.stdout.close()


def clean_environment() -> dict[str, str]:
    """The environment without the variables that the sandbox reads."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("STRIPE_", "SANDBOX_"))
    }
