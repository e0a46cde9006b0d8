"""The Stripe sandbox's hosted page of a Checkout Session, in Chromium on a phone.

Cards that pay, are declined or challenged: the shop's own journeys (test_purchase.py).
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from tests.browser.visitor import axe_problems, expect_to_fit
from tools.stripe_sandbox.testing import SandboxProcess, running_sandbox

pytestmark = pytest.mark.browser

CARD_FRAME = "iframe[title='Marco de entrada de pago seguro']"
CHALLENGE_FRAME = "body > iframe[title='Autenticación 3-D Secure']"


@pytest.fixture
def _shop_is_running() -> None:
    """These tests need the Stripe sandbox only, not the shop."""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    with running_sandbox(tmp_path_factory.mktemp("sandbox") / "state.sqlite3") as process:
        yield process


class HostedPage:
    """A new Checkout Session and a phone with its page open."""

    def __init__(self, page: Page, sandbox: SandboxProcess) -> None:
        self.page = page
        self.api = sandbox.client()
        self.home = f"{sandbox.url}/"
        # A declined card is an answer with status 402, which Chromium reports by itself.
        self.reported = ["status of 402"]
        price = {"currency": "eur", "unit_amount": 12345, "product_data": {"name": "Álgebra"}}
        self.params = {
            "mode": "payment",
            "customer": self.api.v1.customers.create({"email": "ana@example.com"}).id,
            "line_items": [{"price_data": price, "quantity": 1}],
            "success_url": f"{self.home}?session_id={{CHECKOUT_SESSION_ID}}",
            "cancel_url": f"{self.home}?canceled=1",
        }

    @property
    def card(self) -> FrameLocator:
        return self.page.frame_locator(CARD_FRAME)

    @property
    def challenge(self) -> FrameLocator:
        return self.page.frame_locator(CHALLENGE_FRAME)

    def open(self, **changes: object) -> "HostedPage":
        self.session = self.api.v1.checkout.sessions.create({**self.params, **changes})
        self.page.goto(self.session.url)
        expect(self.page.locator("#pay")).to_be_enabled()
        return self

    def fill_in(self, number: str) -> "HostedPage":
        self.page.get_by_label("Titular de la tarjeta").fill("Ana Pérez")
        return self.type_card(number)

    def type_card(self, number: str) -> "HostedPage":
        self.card.get_by_label("Número de tarjeta").fill(number)
        self.card.get_by_label("Fecha de caducidad").fill("1234")
        self.card.get_by_label("CVC").fill("123")
        return self

    def pay(self) -> "HostedPage":
        self.page.get_by_role("button", name="Pagar 123,45\N{NO-BREAK SPACE}€").tap()
        return self

    def expect_success(self) -> None:
        self.page.wait_for_url(f"{self.home}?session_id={self.session.id}")
        assert self.status() == ("complete", "paid")

    def status(self) -> tuple[str | None, str]:
        session = self.api.v1.checkout.sessions.retrieve(self.session.id)
        return session.status, session.payment_status


@pytest.fixture
def hosted(browser: Browser, sandbox: SandboxProcess) -> Iterator[HostedPage]:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, locale="es-ES"
    )
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    hosted = HostedPage(page, sandbox)
    yield hosted
    context.close()
    assert [line for line in errors if not any(one in line for one in hosted.reported)] == []


def test_invalid_input_is_shown_at_its_field_and_nothing_is_paid(hosted: HostedPage) -> None:
    hosted.open().pay()
    expect(hosted.page.get_by_label("Correo electrónico")).to_have_value("ana@example.com")
    expect(hosted.page.get_by_label("Correo electrónico")).not_to_be_editable()
    expect(hosted.page.get_by_text("Escribe el nombre del titular.")).to_be_visible()
    expect(hosted.page.get_by_label("Titular de la tarjeta")).to_be_focused()

    hosted.fill_in("4242424242424241").pay()
    expect(hosted.card.get_by_text("El número de tu tarjeta no es válido.")).to_be_visible()
    expect(hosted.page.locator("#pay")).to_be_enabled()
    assert hosted.status() == ("open", "unpaid")


def test_session_that_expires_while_the_page_is_open_takes_no_payment(hosted: HostedPage) -> None:
    hosted.open().fill_in("4242424242424242")
    hosted.api.v1.checkout.sessions.expire(hosted.session.id)

    hosted.reported = ["status of 400"]
    hosted.pay()

    expect(hosted.page.get_by_text("Esta página de pago ha caducado")).to_be_visible()
    assert hosted.status() == ("expired", "unpaid")
    hosted.page.get_by_role("link", name="Volver a la tienda").tap()
    hosted.page.wait_for_url(f"{hosted.home}?canceled=1")


def test_page_is_accessible_and_fits_a_narrow_phone(hosted: HostedPage) -> None:
    hosted.page.set_viewport_size({"width": 320, "height": 640})
    hosted.open().fill_in("4000000000000002").pay()
    expect(hosted.page.get_by_role("alert")).not_to_be_empty()
    hosted.page.get_by_text("Tarjetas de prueba").tap()

    expect_to_fit(hosted.page)
    for scheme in ("light", "dark"):
        hosted.page.emulate_media(color_scheme=scheme)
        assert axe_problems(hosted.page) == []
