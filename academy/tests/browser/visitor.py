"""What a visitor does in the shop, in their own words: one class around a page of Chromium."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, FrameLocator, Locator, Page, Response, expect

from apps.catalogue.models import Degree, Lesson, Subject

GOOD_CARD = "4242424242424242"
DECLINED_CARD = "4000000000000002"
CHALLENGED_CARD = "4000002760003184"
SLOW_CARD = "4000009990000005"

AXE = Path(__file__).resolve().parents[3] / "node_modules" / "axe-core" / "axe.min.js"
CARD_FRAME = "iframe[title='Marco de entrada de pago seguro']"
CHALLENGE_FRAME = "body > iframe[title='Autenticación 3-D Secure']"
in_both_modes = pytest.mark.parametrize("mode", ["embedded", "hosted"])


class Watch:
    """What browsers complain of during a test: console errors, exceptions, failed requests."""

    def __init__(self) -> None:
        self._complaints: list[str] = []
        self._expected: list[str] = []

    def follow(self, context: BrowserContext) -> None:
        context.on("console", self._on_console)
        context.on("weberror", lambda error: self._complaints.append(f"exception: {error.error}"))
        context.on("requestfailed", self._on_failed_request)

    def _on_console(self, message: Any) -> None:
        if message.type == "error":
            path = urlsplit(message.location.get("url", "")).path
            self._complaints.append(f"console: {message.text} ({path})")

    def _on_failed_request(self, request: Any) -> None:
        # Leaving a page and changing a filter break requests off on purpose.
        if request.failure != "net::ERR_ABORTED":
            path = urlsplit(request.url).path
            self._complaints.append(f"request: {request.failure} ({path})")

    def expect(self, pattern: str) -> None:
        """This complaint (a regular expression) belongs to the test: without it the test fails."""
        self._expected.append(pattern)

    def check(self) -> None:
        """Fail where there was a complaint that nobody expected, or one is missing."""
        unexpected = [
            complaint
            for complaint in self._complaints
            if not any(re.search(pattern, complaint) for pattern in self._expected)
        ]
        assert not unexpected, unexpected
        missing = [
            pattern
            for pattern in self._expected
            if not any(re.search(pattern, complaint) for complaint in self._complaints)
        ]
        assert not missing, f"{missing} never came; there was {self._complaints}"


class Visitor:
    """Somebody with a browser window. Euros are written as on the page, "123,45 €"."""

    def __init__(self, page: Page, email: str, watch: Watch, *, touch: bool = False) -> None:
        self.page = page
        self.email = email
        self.watch = watch
        self._touch = touch

    def press(self, target: Locator) -> None:
        """With the mouse, or with a finger where this is a touch screen."""
        if self._touch:
            target.tap()
        else:
            target.click()

    def tick(self, box: Locator) -> None:
        self.press(box)
        expect(box).to_be_checked()

    # ------------------------------------------------------------ catalogue and cart
    def open_catalogue(self, degree: Degree | None = None, query: str = "") -> "Visitor":
        """/compra, alive: all subjects, or those of one degree."""
        params = [f"carrera={degree.pk}"] if degree else []
        params += [query] if query else []
        self.page.goto(f"/compra?{'&'.join(params)}" if params else "/compra")
        self.wait_for_catalogue()
        return self

    def wait_for_catalogue(self) -> None:
        expect(self.page.locator("[data-island=catalogue][data-mounted]")).to_be_attached()

    def card(self, subject: Subject) -> Locator:
        return self.page.get_by_role("article", name=subject.name, exact=True)

    @property
    def cards(self) -> Locator:
        return self.page.get_by_role("article")

    def select_all(self, subject: Subject) -> Locator:
        return self.card(subject).get_by_role("button", name="Seleccionar todo")

    def lesson_box(self, lesson: Lesson) -> Locator:
        name = re.compile(rf"^{re.escape(lesson.title)}\b")
        return self.card(lesson.subject).get_by_role("checkbox", name=name)

    @property
    def cart(self) -> Locator:
        return self.page.get_by_role("complementary", name="Tu carrito")

    @property
    def cart_button(self) -> Locator:
        """The floating button at bottom right."""
        return self.page.get_by_role("button", name="continuar con la compra")

    def fill_cart(self, subjects: Iterable[Subject], lessons: Iterable[Lesson] = ()) -> "Visitor":
        for subject in subjects:
            self.press(self.select_all(subject))
        for lesson in lessons:
            self.tick(self.lesson_box(lesson))
        return self

    # ------------------------------------------------------------ the payment dialog
    @property
    def dialog(self) -> Locator:
        return self.page.get_by_role("dialog")

    def field(self, label: str) -> Locator:
        return self.dialog.get_by_label(label, exact=True)

    def box(self, words: str) -> Locator:
        """A box to tick, by some of its words."""
        return self.page.get_by_role("checkbox", name=re.compile(re.escape(words)))

    @property
    def terms(self) -> Locator:
        return self.box("Acepto los términos y condiciones")

    @property
    def privacy(self) -> Locator:
        return self.box("Acepto la política de privacidad")

    @property
    def adult(self) -> Locator:
        return self.box("soy mayor de 18 años")

    @property
    def waiver(self) -> Locator:
        return self.box("pierdo el derecho de desistimiento")

    def open_dialog(self) -> "Visitor":
        self.press(self.cart_button)
        expect(self.dialog).to_be_visible()
        return self

    def fill_contact(self, phone: str = "600123123") -> "Visitor":
        """Step 1, to its end."""
        expect(self.dialog.get_by_role("heading", name="Tus datos")).to_be_visible()
        self.field("Correo electrónico").fill(self.email)
        self.field("Teléfono").fill(phone)
        self.tick(self.terms)
        self.tick(self.privacy)
        self.press(self.dialog.get_by_role("button", name="Continuar"))
        self.expect_step_2()
        return self

    def expect_step_2(self) -> None:
        expect(self.dialog.get_by_role("heading", name="Resumen y pago")).to_be_visible()

    def to_step_2(self, degree: Degree, subjects: Iterable[Subject], **more: Any) -> "Visitor":
        """From the catalogue with these things in the cart to the dialog's second step."""
        self.open_catalogue(degree).fill_cart(subjects, **more)
        return self.open_dialog().fill_contact()

    def apply_code(self, code: str) -> "Visitor":
        self.field("Código promocional").fill(code)
        self.press(self.dialog.get_by_role("button", name="Aplicar"))
        return self

    def tick_boxes(self) -> "Visitor":
        """The two that are always asked before a payment."""
        self.tick(self.adult)
        self.tick(self.waiver)
        return self

    def pay_button(self, euros: str | None = None) -> Locator:
        return self.page.get_by_role("button", name=f"Pagar {euros}" if euros else "Pagar")

    @property
    def card_form(self) -> FrameLocator:
        return self.page.frame_locator(CARD_FRAME)

    @property
    def challenge(self) -> FrameLocator:
        """The bank's 3-D Secure question."""
        return self.page.frame_locator(CHALLENGE_FRAME)

    def ask_for_card_form(self, euros: str) -> "Visitor":
        """The first press on pay; the card form appears."""
        self.press(self.pay_button(euros))
        self.expect_card_form()
        return self

    def expect_card_form(self) -> None:
        ready = self.page.get_by_role("status").filter(has_text="El formulario de pago está listo.")
        expect(ready).to_be_attached()

    def type_card(self, number: str = GOOD_CARD) -> "Visitor":
        field = self.card_form.get_by_label("Número de tarjeta")
        field.fill("")
        field.fill(number)
        self.card_form.get_by_label("Fecha de caducidad").fill("1234")
        self.card_form.get_by_label("CVC").fill("123")
        return self

    def buy(self, euros: str, number: str = GOOD_CARD) -> "Visitor":
        """From step 2 to the confirmed card."""
        self.tick_boxes().ask_for_card_form(euros).type_card(number)
        self.press(self.pay_button(euros))
        return self

    def expect_refusal(self, sentence: str) -> None:
        """The card was refused, for this reason; the form takes another one."""
        expect(self.toast("Error en el pago", sentence)).to_be_visible()
        expect(self.dialog.get_by_role("alert")).to_have_text(sentence)

    def expect_success(self) -> str:
        """On the success page; the reference of the payment."""
        self.page.wait_for_url(re.compile(r"/success\?payment_intent_id="))
        expect(self.page.get_by_role("heading", name="Pago exitoso")).to_be_visible()
        return self.page.url.partition("payment_intent_id=")[2]

    # ------------------------------------------------------------ around it
    def toast(self, title: str, text: str = "") -> Locator:
        """A toast with that title and, where given, that text, to the letter."""
        words = re.escape(title + text).replace(r"\ ", r"\s")  # "300,00 €" has a no-break space.
        whole = re.compile(f"^{words}×$")
        return self.page.get_by_role("region", name="Avisos").locator(".toast", has_text=whole)

    def answers(self, path: str) -> list[Response]:
        """A list that fills with the answers of that API path from now on."""
        seen: list[Response] = []
        self.page.on(
            "response",
            lambda answer: seen.append(answer) if urlsplit(answer.url).path == path else None,
        )
        return seen

    def stop_the_clock(self) -> None:
        """From now on time passes in this page with `page.clock.run_for` alone.

        After `page.clock.install()`; timers that are older than that keep to the real time.
        """
        self.page.clock.pause_at(self.page.evaluate("Date.now()") / 1000 + 1)

    def assert_accessible(self) -> None:
        """axe finds nothing on the page as it stands, its foreign frames left out."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate(
            """async () => (await axe.run({ iframes: false })).violations
                 .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))"""
        )
        assert not found, "\n".join(found)


class HostedVisitor(Visitor):
    """The same somebody in a shop whose payments Stripe's own page takes."""

    def expect_card_form(self) -> None:
        self.page.wait_for_url(re.compile(r"/c/pay/cs_test_"))
        expect(self.page.locator("#pay")).to_be_enabled()

    def type_card(self, number: str = GOOD_CARD) -> "Visitor":
        self.page.get_by_label("Titular de la tarjeta").fill("Ana Muñoz")
        return super().type_card(number)

    def expect_refusal(self, sentence: str) -> None:
        """In Stripe's words, which are its own."""
        expect(self.page.get_by_role("alert")).not_to_be_empty()
        expect(self.page.locator("#pay")).to_be_enabled()

    def expect_success(self) -> str:
        self.page.wait_for_url(re.compile(r"/success\?session_id=cs_test_"))
        expect(self.page.get_by_role("heading", name="Pago exitoso")).to_be_visible()
        return self.page.url.partition("session_id=")[2]
