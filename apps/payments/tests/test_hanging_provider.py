"""The site stays up while Stripe does not answer. Runs a real web process on PostgreSQL."""

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from typing import Any

import pytest
import requests
from django.conf import settings

from apps.classroom.models import Provisioning
from apps.core.models import Mail
from apps.orders.models import Order, Payment
from apps.payments.models import ProviderEvent
from apps.payments.stripe.events import SignedEvent
from apps.payments.webhooks import store
from tests.helpers.commands import manage, web_process
from tests.helpers.factories import checkout_body, make_promo, make_subject, whole
from tests.helpers.shop import Api, Sandbox
from tools.dev.processes import ROOT
from tools.stripe_sandbox.testing import wait_until

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
MAX_WAITING = 4
SENT = {
    ("order_confirmation", "sent"): 1,
    ("classroom_access", "sent"): 1,
    ("referral_code", "sent"): 1,
}
BUSY = "El sistema de pago no responde ahora mismo. Espera unos segundos e inténtalo de nuevo."


class Shop:
    """A web process as its visitors see it."""

    def __init__(self, url: str, sandbox: Sandbox) -> None:
        self.url = url
        self.sandbox = sandbox

    def get(self, path: str) -> None:
        requests.get(f"{self.url}{path}", timeout=60).raise_for_status()

    def press_pay(self, cart: dict[str, Any]) -> requests.Response:
        """Check out. Like the dialog, a retry for the same cart continues with the same order."""
        response = requests.post(f"{self.url}/api/process-checkout", json=cart, timeout=60)
        answer = response.json()
        cart |= {"recovery_order_id": answer["order_id"], "token": answer["token"]}
        return response

    def buy(self, cart: dict[str, Any]) -> None:
        placed = self.press_pay(cart).json()
        assert self.sandbox.confirm(placed["client_secret"]) == ""
        body = {"payment_intent_id": placed["payment_intent_id"]}
        requests.post(f"{self.url}/api/complete-payment", json=body, timeout=60).raise_for_status()


@pytest.fixture
def start_shop(sandbox, request):
    """A function that starts a web process with these limits on its calls to Stripe."""

    def start(**limits: float) -> Shop:
        env = {f"STRIPE_{name}": str(value) for name, value in limits.items()}
        env |= {"STRIPE_API_BASE": sandbox.process.url, "RATE_LIMIT_SCALE": "0"}
        web = web_process(env=env)
        request.addfinalizer(lambda: web.__exit__(None, None, None))
        return Shop(web.__enter__(), sandbox)

    return start


def carts(times: int) -> list[dict[str, Any]]:
    """Checkout bodies of that many buyers."""
    subject = make_subject()
    return [
        checkout_body(
            whole(subject),
            total="182.40",
            email=f"alumno{number}@example.com",
            phone=f"+346001{number:05}",
        )
        for number in range(times)
    ]


def hang(sandbox: Sandbox) -> None:
    """Let every call of the shop wait until the fault is removed."""
    sandbox.process.fault(calls="*", caller="server", do="slow", seconds=120)


def waiting_calls(sandbox: Sandbox) -> int:
    return int(sandbox.process.control("GET", "state")["calls"])


def assert_all_bought(times: int) -> None:
    assert Order.objects.filter(status="paid").count() == Order.objects.count() == times
    assert Payment.objects.filter(status="succeeded").count() == Payment.objects.count() == times


def test_site_answers_while_40_checkouts_wait_for_stripe(sandbox, start_shop):
    # Stripe hangs for the whole test, and no call times out before its end.
    shop = start_shop(MAX_WAITING=MAX_WAITING, TIMEOUT=120, REQUEST_SECONDS=120)
    buyers = carts(40)
    hang(sandbox)

    with ThreadPoolExecutor(len(buyers)) as pool:
        answers = as_completed([pool.submit(shop.press_pay, cart) for cart in buyers])
        refused = [next(answers).result() for _ in range(len(buyers) - MAX_WAITING)]
        for path in ("/healthz", "/precios", "/api/pricing"):
            shop.get(path)
        assert waiting_calls(sandbox) == MAX_WAITING
        sandbox.process.control("DELETE", "faults")
        assert [answer.result().status_code for answer in answers] == [200] * MAX_WAITING

    for response in refused:
        assert response.status_code == 503
        assert int(response.headers["Retry-After"]) == 5
        error = response.json()
        assert set(error) == {"success", "error", "code", "fields", "order_id", "token"}
        assert (error["success"], error["code"], error["fields"]) == (False, "provider_busy", {})
        assert error["error"] == BUSY
    for cart in buyers:
        shop.buy(cart)
    assert_all_bought(40)


def test_checkouts_time_out_and_open_the_circuit_breaker(sandbox, start_shop):
    shop = start_shop(TIMEOUT=2, REQUEST_SECONDS=3, BREAKER_FAILURES=2, BREAKER_SECONDS=10)
    buyers = carts(3)
    for path in ("/healthz", "/precios"):
        shop.get(path)
    hang(sandbox)

    with ThreadPoolExecutor(2) as pool:
        timed_out = list(pool.map(shop.press_pay, buyers[:2]))
    asked = waiting_calls(sandbox)
    refused = shop.press_pay(buyers[2])

    for response in timed_out:
        assert (response.status_code, response.json()["code"]) == (502, "provider_error")
        # At least one attempt. There is no second one if no time is left for it.
        assert response.elapsed.total_seconds() >= 2
    assert (refused.status_code, refused.json()["code"]) == (503, "provider_busy")
    assert 1 <= int(refused.headers["Retry-After"]) <= 10
    assert waiting_calls(sandbox) == asked

    sandbox.process.control("DELETE", "faults")
    wait_until(lambda: shop.press_pay(buyers[2]).ok, seconds=60)
    for cart in buyers:
        shop.buy(cart)
    assert_all_bought(3)


def test_procfile_has_one_worker_for_each_queue():
    commands = (ROOT / "Procfile").read_text(encoding="utf-8")

    queues = re.findall(r"manage.py worker .*--queue-name ([\w*,]+)$", commands, re.MULTILINE)
    assert sorted(queues) == sorted(settings.TASKS["default"]["QUEUES"])


def test_access_and_mails_of_a_free_order_do_not_wait_for_slow_events(sandbox):
    make_promo("GRATIS100", value="100")
    hang(sandbox)
    for number in range(6):
        content = {"id": f"evt_{number}", "data": {"object": {"id": f"pi_{number}"}}}
        store(SignedEvent(f"evt_{number}", "payment_intent.succeeded", False, content))
    env = {"STRIPE_API_BASE": sandbox.process.url, "STRIPE_TIMEOUT": "120"}
    env["STRIPE_REQUEST_SECONDS"] = "120"
    options = ("--no-reload", "--no-startup-delay", "--interval", "0.1", "--queue-name")

    with ExitStack() as workers:
        for queue in settings.TASKS["default"]["QUEUES"]:
            workers.enter_context(manage("worker", *options, queue, env=env))
        wait_until(lambda: waiting_calls(sandbox) == 1, seconds=90)
        body = checkout_body(whole(make_subject()), total="0", promo_code="GRATIS100")
        assert Api().checkout(body)["completed"] is True
        wait_until(lambda: Counter(Mail.objects.values_list("template", "status")) == SENT, 60)

        assert Provisioning.objects.get().status == Provisioning.Status.CREATED
        assert ProviderEvent.objects.filter(processed_at=None).count() == 6
        assert waiting_calls(sandbox) == 1
        sandbox.process.control("DELETE", "faults")
