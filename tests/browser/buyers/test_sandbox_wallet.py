"""The test wallet of the Stripe sandbox, used through `stripe.elements()` without the shop."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.records import eventually
from tests.browser.visitor import settled
from tools.stripe_sandbox.testing import SandboxProcess, running_sandbox

pytestmark = pytest.mark.browser

BUTTON = "iframe[title='Marco de botón de pago seguro']"
SHEET = "body > iframe[title='Cartera de prueba']"
# Mounts the element, and notes its events in `window.seen`.
MOUNT = """([key, terms]) => {
  window.seen = [];
  window.stripe = Stripe(key, { locale: "es" });
  window.group = stripe.elements(terms);
  const element = group.create("expressCheckout", {});
  for (const name of ["ready", "click", "confirm"]) {
    element.on(name, (event) => {
      window.seen.push(name);
      if (name === "click") event.resolve();
    });
  }
  element.mount("section");
}"""
CONFIRM = """async (clientSecret) => {
  const { error } = await window.group.submit();
  if (error) return error.code;
  const result = await stripe.confirmPayment({
    elements: window.group, clientSecret, redirect: "if_required",
    confirmParams: { return_url: location.href },
  }).catch((error) => ({ error }));
  return result.error ? result.error.message : result.paymentIntent.status;
}"""


@pytest.fixture
def _shop_is_running():
    """These tests need the Stripe sandbox and a page, not the shop."""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    with running_sandbox(tmp_path_factory.mktemp("sandbox") / "state.sqlite3") as process:
        yield process


class Shop:
    """A page with a wallet and nothing else."""

    def __init__(self, page: Page, sandbox: SandboxProcess) -> None:
        self.page = page
        self.sandbox = sandbox

    def open(self) -> None:
        """Load a page of the sandbox's origin, with Stripe.js and room for the element."""
        self.page.goto(self.sandbox.url)
        self.page.add_script_tag(url=f"{self.sandbox.url}/v3/stripe.js")
        self.page.evaluate("document.body.append(document.createElement('section'))")

    def mount(self) -> None:
        terms = {"mode": "payment", "amount": 19000, "currency": "eur"}
        self.page.evaluate(MOUNT, [self.sandbox.publishable_key, terms])
        self.wait_for("ready")

    def wait_for(self, event: str) -> None:
        assert eventually(lambda: self.events()[-1:] == [event]), self.events()

    def events(self) -> list[str]:
        return list(self.page.evaluate("seen"))

    def authorize(self) -> None:
        self.page.frame_locator(BUTTON).get_by_role("button").click()
        self.page.frame_locator(SHEET).get_by_role("button", name="Pagar").click()
        self.wait_for("confirm")

    def secret(self, **changes: Any) -> str:
        params: Any = {
            "amount": 19000,
            "currency": "eur",
            "automatic_payment_methods": {"enabled": True},
            **changes,
        }
        return self.sandbox.client().v1.payment_intents.create(params).client_secret or ""


@pytest.fixture
def shop(page, sandbox):
    return Shop(page, sandbox)


def test_intent_with_other_terms_than_shown_is_not_confirmed_and_an_authorization_pays_once(shop):
    for intent, problem in (
        ({"amount": 19001}, "The amount of the Elements group (19000)"),
        ({"currency": "usd"}, "The currency of the Elements group (eur)"),
        ({"setup_future_usage": "off_session"}, "The setup_future_usage of the Elements group"),
    ):
        shop.open()
        shop.mount()
        shop.authorize()
        assert settled(shop.page, CONFIRM, shop.secret(**intent)).startswith(problem)

    shop.open()
    shop.mount()
    shop.authorize()
    assert settled(shop.page, CONFIRM, shop.secret()) == "succeeded"
    second = settled(shop.page, f"(secret) => ({CONFIRM})(secret).catch(String)", shop.secret())
    assert "has not authorized" in second
