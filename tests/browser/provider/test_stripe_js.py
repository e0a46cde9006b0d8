"""The Stripe sandbox's Stripe.js with the unchanged package `@stripe/react-stripe-js`, in Chromium.

Cards that pay, are declined or challenged: the shop's own journeys (test_purchase.py).
The page is not the shop's: it has its own origin and the strictest content security policy.
"""

import http.server
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from tests.browser.visitor import axe_problems, settled
from tools.stripe_sandbox.testing import SandboxProcess, running_sandbox

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[3]
FRAME = "iframe[title='Marco de entrada de pago seguro']"
CHALLENGE = "body > iframe[title='Autenticación 3-D Secure']"

APP = """
import React from "react";
import { createRoot } from "react-dom/client";
import { Elements, PaymentElement, useElements, useStripe } from "@stripe/react-stripe-js";

const query = new URLSearchParams(location.search);
const dark = query.get("dark") === "1";
const variables = dark
  ? { colorPrimary: "#9db8ff", colorBackground: "#1d2030", colorText: "#f2f3f7" }
  : { colorPrimary: "#1e4fd8", colorBackground: "#ffffff", colorText: "#1d1f29" };

function Form() {
  const stripe = useStripe();
  const elements = useElements();
  const [outcome, setOutcome] = React.useState("");
  const [state, setState] = React.useState("");
  async function pay() {
    setOutcome("");
    const isSetup = query.get("secret").startsWith("seti_");
    const result = await stripe[isSetup ? "confirmSetup" : "confirmPayment"]({
      elements,
      confirmParams: { return_url: location.origin + "/success" },
      redirect: query.get("redirect") ?? "if_required",
    });
    const intent = result.paymentIntent ?? result.setupIntent;
    setOutcome(result.error ? result.error.message : intent.status);
  }
  return (
    <main>
      <h1>Pago</h1>
      <button type="button" id="before">Antes</button>
      <PaymentElement
        onReady={() => setState("ready")}
        onLoadError={(event) => setState(event.error.message)}
        onChange={(event) => setState(event.complete ? "complete" : "incomplete")}
      />
      <button type="button" id="pay" onClick={pay}>Pagar</button>
      <p id="state">{state}</p>
      <p id="outcome" role="status">{outcome}</p>
    </main>
  );
}

const stripe = window.Stripe(query.get("key"), { locale: "es" });
const options = { clientSecret: query.get("secret"), locale: "es", appearance: { variables } };
createRoot(document.getElementById("root")).render(
  <React.StrictMode>
    <Elements stripe={stripe} options={options}><Form /></Elements>
  </React.StrictMode>,
);
"""
HTML = """<!doctype html><html lang="es"><head><meta charset="utf-8"><title>Pago</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css"></head>
<body><div id="root"></div><script src="{origin}/v3/stripe.js"></script>
<script src="/app.js"></script></body></html>"""
CSS = """body { margin: 16px; font: 16px system-ui; background: #fff; color: #1d1f29; }
@media (prefers-color-scheme: dark) { :root { color-scheme: dark }
body { background: #14161f; color: #f2f3f7; } } button { min-height: 44px; margin: 12px 0; }"""


@pytest.fixture
def _shop_is_running() -> None:
    """These tests need the Stripe sandbox and a page, not the shop."""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    with running_sandbox(tmp_path_factory.mktemp("sandbox") / "state.sqlite3") as process:
        yield process


@pytest.fixture(scope="module")
def site(sandbox: SandboxProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The origin of the bare page."""
    source = ROOT / "var" / f"sandbox-{sandbox.port}.tsx"  # below the root, to find node_modules
    source.parent.mkdir(exist_ok=True)
    source.write_text(APP)
    bundle = tmp_path_factory.mktemp("site") / "app.js"
    esbuild = ROOT / "node_modules" / ".bin" / "esbuild"
    command = [esbuild, source, "--bundle", f"--outfile={bundle}", "--log-level=error"]
    try:
        subprocess.run(command, check=True, cwd=ROOT)
    finally:
        source.unlink()
    policy = (
        f"default-src 'none'; script-src 'self' {sandbox.url}; style-src 'self'; img-src data:; "
        f"connect-src {sandbox.url}; frame-src {sandbox.url}; base-uri 'none'"
    )
    files = {
        "/app.js": ("text/javascript", bundle.read_bytes()),
        "/page.css": ("text/css", CSS.encode()),
        "/success": ("text/html", b"<!doctype html><link rel=icon href=data:,><title>Ya</title>"),
    }
    page = HTML.format(origin=sandbox.url).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content_type, body = files.get(self.path.partition("?")[0], ("text/html", page))
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class Checkout:
    """The bare page, opened for a payment of its own."""

    def __init__(self, page: Page, site: str, sandbox: SandboxProcess) -> None:
        self.page = page
        self.site = site
        self.sandbox = sandbox
        self.api = sandbox.client()
        self.intent = self.api.v1.payment_intents.create(
            {"amount": 12345, "currency": "eur", "automatic_payment_methods": {"enabled": True}}
        )
        self.address = self.address_for(self.intent.client_secret)

    def address_for(self, secret: str | None) -> str:
        secret = quote(secret or "", safe="")
        return f"{self.site}/?key={self.sandbox.publishable_key}&secret={secret}"

    @property
    def card(self) -> FrameLocator:
        return self.page.frame_locator(FRAME)

    @property
    def challenge(self) -> FrameLocator:
        return self.page.frame_locator(CHALLENGE)

    def open(self, extra: str = "") -> "Checkout":
        self.page.goto(self.address + extra)
        expect(self.page.locator("#state")).to_have_text("ready")
        return self

    def type_card(self, number: str, expiry: str = "1234", cvc: str = "123") -> "Checkout":
        self.card.get_by_label("Número de tarjeta").fill("")
        self.card.get_by_label("Número de tarjeta").press_sequentially(number)
        self.card.get_by_label("Fecha de caducidad").fill(expiry)
        self.card.get_by_label("CVC").fill(cvc)
        return self

    def pay(self) -> "Checkout":
        self.page.locator("#pay").click()
        return self

    def expect_outcome(self, text: str) -> None:
        expect(self.page.locator("#outcome")).to_have_text(text)

    def status(self) -> str:
        return self.api.v1.payment_intents.retrieve(self.intent.id).status


@pytest.fixture
def checkout(browser: Browser, site: str, sandbox: SandboxProcess) -> Iterator[Checkout]:
    context = browser.new_context(viewport={"width": 390, "height": 844}, locale="es-ES")
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    yield Checkout(page, site, sandbox)
    context.close()
    # A declined card is a response with status 402, which Chromium logs.
    assert [line for line in errors if "status of 402" not in line] == []


def test_payment_with_an_opaque_id_is_authorised_and_paid(
    checkout: Checkout, sandbox: SandboxProcess
) -> None:
    sandbox.control("POST", "ids", {"style": "opaque"})
    try:
        opaque = Checkout(checkout.page, checkout.site, sandbox)
        opaque.open().type_card("4000002760003184").pay()
        opaque.challenge.get_by_role("button", name="Autorizar pago").click()
        opaque.expect_outcome("succeeded")
    finally:
        sandbox.control("POST", "ids", {"style": "plain"})
    assert not opaque.intent.id.removeprefix("pi_").isalnum()
    assert opaque.status() == "succeeded"


def test_card_is_saved_with_a_setup_intent_and_3d_secure(checkout: Checkout) -> None:
    customer = checkout.api.v1.customers.create({})
    setup = checkout.api.v1.setup_intents.create({"customer": customer.id})
    checkout.address = checkout.address_for(setup.client_secret)

    checkout.open().type_card("4000000000009995").pay()
    checkout.expect_outcome("Tu tarjeta no tiene fondos suficientes. Prueba con otra tarjeta.")
    checkout.type_card("4000002500003155").pay()
    checkout.challenge.get_by_role("button", name="Autorizar").click()
    checkout.expect_outcome("succeeded")

    saved = checkout.api.v1.setup_intents.retrieve(setup.id).payment_method
    card = checkout.api.v1.payment_methods.retrieve(saved)
    assert (card.customer, card.card.last4) == (customer.id, "3155")
    checkout.page.goto(checkout.address)
    expect(checkout.page.locator("#state")).to_have_text(
        "Esta tarjeta ya no se puede guardar desde aquí."
    )


def test_invalid_input_is_shown_at_its_field_and_nothing_is_sent(checkout: Checkout) -> None:
    checkout.open().type_card("4242424242424241", "0120", "12").pay()

    card = checkout.card
    expect(card.get_by_text("El número de tu tarjeta no es válido.")).to_be_visible()
    expect(card.get_by_text("El año de caducidad de tu tarjeta ya ha pasado.")).to_be_visible()
    expect(
        card.get_by_text("El código de seguridad de tu tarjeta está incompleto.")
    ).to_be_visible()
    expect(card.get_by_label("Número de tarjeta")).to_have_attribute("aria-invalid", "true")
    expect(card.get_by_label("Número de tarjeta")).to_be_focused()
    checkout.expect_outcome("El número de tu tarjeta no es válido.")
    assert checkout.status() == "requires_payment_method"


def test_card_number_never_reaches_the_page_and_tab_leaves_the_frame(checkout: Checkout) -> None:
    checkout.open().page.locator("#before").focus()
    for label in ("Número de tarjeta", "Fecha de caducidad", "CVC"):
        checkout.page.keyboard.press("Tab")
        expect(checkout.card.get_by_label(label)).to_be_focused()
    checkout.page.keyboard.press("Tab")
    expect(checkout.page.locator("#pay")).to_be_focused()
    checkout.type_card("4242424242424242")
    expect(checkout.card.get_by_label("Número de tarjeta")).to_have_value("4242 4242 4242 4242")
    expect(checkout.card.get_by_label("Fecha de caducidad")).to_have_value("12 / 34")
    expect(checkout.page.locator("#state")).to_have_text("complete")

    assert checkout.page.evaluate("Object.keys(window).filter(k => /stripe/i.test(k))") == [
        "Stripe"
    ]
    sent = "document.documentElement.outerHTML.includes('4242')"
    assert checkout.page.evaluate(sent) is False
    with pytest.raises(Exception, match=r"SecurityError|cross-origin frame"):
        checkout.page.evaluate("document.querySelector('iframe').contentWindow.document")


def test_frames_are_accessible(checkout: Checkout) -> None:
    # The frame is transparent and a part of the page: what lies behind it, dark or not, and the
    # page's heading are out of axe's sight from in there.
    for scheme, of_the_page in (
        ("dark", ["page-has-heading-one", "color-contrast"]),
        ("light", ["page-has-heading-one"]),
    ):
        checkout.page.emulate_media(color_scheme=scheme)
        checkout.open("&dark=1" if scheme == "dark" else "").type_card("4000002760003184", "0120")
        checkout.card.get_by_label("CVC").blur()
        [card_frame] = [one for one in checkout.page.frames if "/v3/frame/payment" in one.url]
        assert axe_problems(card_frame, without=of_the_page) == []

    checkout.type_card("4000002760003184").pay()
    checkout.challenge.get_by_role("button", name="Autorizar pago").wait_for()
    [challenge] = [one for one in checkout.page.frames if "/v3/challenge/" in one.url]
    for scheme in ("light", "dark"):
        checkout.page.emulate_media(color_scheme=scheme)
        assert axe_problems(challenge) == []


def test_open_3d_secure_challenge_continues_after_a_reload(checkout: Checkout) -> None:
    checkout.open().type_card("4000002760003184").pay()
    checkout.challenge.get_by_role("button", name="Autorizar pago").wait_for()
    checkout.page.reload()
    assert checkout.status() == "requires_action"

    checkout.page.evaluate(
        """secret => {
          window.result = window.Stripe("pk_test_sandbox0123456789")
            .handleNextAction({ clientSecret: secret });
        }""",
        checkout.intent.client_secret,
    )
    checkout.challenge.get_by_role("button", name="Autorizar pago").click()
    result = settled(checkout.page, "() => window.result")

    assert result["paymentIntent"]["status"] == "succeeded"


def test_payment_and_setup_may_end_in_a_redirect_and_a_finished_payment_is_a_load_error(
    checkout: Checkout,
) -> None:
    setup = checkout.api.v1.setup_intents.create({})
    for kind, intent in (("payment_intent", checkout.intent), ("setup_intent", setup)):
        secret = intent.client_secret
        checkout.address = checkout.address_for(secret)
        checkout.open("&redirect=always").type_card("4242424242424242").pay()
        checkout.page.wait_for_url(
            f"{checkout.site}/success?{kind}={intent.id}&{kind}_client_secret={secret}"
            "&redirect_status=succeeded"
        )

    checkout.page.goto(checkout.address_for(checkout.intent.client_secret))
    expect(checkout.page.locator("#state")).to_have_text("Este pago ya no se puede confirmar.")


def test_legacy_card_element_calls_work(checkout: Checkout) -> None:
    checkout.open()
    checkout.page.evaluate(
        """() => {
          const stripe = window.Stripe("pk_test_sandbox0123456789", { locale: "es" });
          const card = stripe.elements().create("card");
          document.body.replaceChildren(document.createElement("div"));
          window.ready = new Promise(resolve => card.once("ready", resolve));
          card.mount(document.body.firstElementChild);
          Object.assign(window, { client: stripe, card });
        }"""
    )
    settled(checkout.page, "() => window.ready.then(() => true)")
    checkout.type_card("5555555555554444")

    method = settled(checkout.page, "() => client.createPaymentMethod({ type: 'card', card })")
    paid = settled(
        checkout.page,
        "secret => client.confirmCardPayment(secret, { payment_method: { card } })",
        checkout.intent.client_secret,
    )

    assert method["paymentMethod"]["card"]["brand"] == "mastercard"
    assert paid["paymentIntent"]["status"] == "succeeded"
