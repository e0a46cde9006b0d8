"""Page objects: the actions of a visitor in the shop, and what their browser reports."""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from playwright.sync_api import (
    BrowserContext,
    Frame,
    FrameLocator,
    Locator,
    Page,
    Response,
    Route,
    expect,
)

from apps.backoffice.seed import ADMIN_NAME, ADMIN_PASSWORD
from apps.catalogue.models import Degree, Lesson, Subject
from apps.students.models import Student
from tests.helpers.student_session import new_session

GOOD_CARD = "4242424242424242"
DECLINED_CARD = "4000000000000002"
CHALLENGED_CARD = "4000002760003184"
SLOW_CARD = "4000009990000005"
SLOWLY_DECLINED_CARD = "4000009990000013"

AXE = Path(__file__).resolve().parents[2] / "node_modules" / "axe-core" / "axe.min.js"
# Describing all that is right, too, would take half as long again. `preload` would write style
# sheets into the page, which the content policy refuses.
# Contrasts are judged by what is drawn: a new width or scheme takes a frame and its transitions.
# A transition in a part that the browser does not draw never ends.
RUN_AXE = """async ([part, without]) => {
    const drawn = () => new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
    await document.fonts.ready;
    await drawn();
    const moving = document.getAnimations().filter(
        ({ effect }) => Number.isFinite(effect.getComputedTiming().endTime));
    await Promise.race([
        Promise.allSettled(moving.map(({ finished }) => finished)),
        new Promise((late) => setTimeout(late, 3000)),
    ]);
    await drawn();
    const { violations } = await axe.run(part, {
        iframes: false, preload: false, resultTypes: ["violations"],
        rules: Object.fromEntries(without.map((rule) => [rule, { enabled: false }])),
    });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}"""
FORM_EXPIRED = (
    "El formulario de pago ha caducado: ha pasado mucho tiempo o algo ha cambiado en tu compra. "
    "No se ha cobrado nada. Pulsa otra vez «Pagar»."
)
BANK_DECLINED = (
    "Tu banco no ha aceptado el pago. No se ha hecho ningún cargo. Prueba con otra tarjeta."
)
CARD_FRAME = "iframe[title='Marco de entrada de pago seguro']"
CHALLENGE_FRAME = "body > iframe[title='Autenticación 3-D Secure']"
MANY_STOPS = 150
# Below this width the cart is no column of the catalogue.
NARROW = 1088
PURCHASE_STEPS = re.compile("^(Tus datos|Resumen y pago)$")
in_both_modes = pytest.mark.parametrize("mode", ["embedded", "hosted"])


def nbsp(text: str) -> str:
    """The pattern of a text in which amounts have a no-break space: "300,00 €"."""
    return re.escape(text).replace(r"\ ", r"\s")


def moved_date(by: timedelta) -> str:
    """A script that moves the time of a page: Chromium's clock is that of the machine."""
    return f"""{{
        const Real = Date, ahead = {by / timedelta(milliseconds=1):.0f};
        window.Date = class Date extends Real {{
            constructor(...given) {{ given.length ? super(...given) : super(Real.now() + ahead); }}
            static now = () => Real.now() + ahead;
        }};
    }}"""


class Watch:
    """Collects console errors, exceptions and failed requests of all pages of a test."""

    def __init__(self) -> None:
        self._problems: list[str] = []
        self._expected: list[str] = []

    def follow(self, context: BrowserContext) -> None:
        context.on("console", self._on_console)
        context.on("weberror", lambda error: self._problems.append(f"exception: {error.error}"))
        context.on("requestfailed", self._on_failed_request)

    def _on_console(self, message: Any) -> None:
        if message.type == "error":
            path = urlsplit(message.location.get("url", "")).path
            self._problems.append(f"console: {message.text} ({path})")

    def _on_failed_request(self, request: Any) -> None:
        # The page aborts requests on purpose when the visitor leaves or changes a filter.
        if request.failure != "net::ERR_ABORTED":
            path = urlsplit(request.url).path
            self._problems.append(f"request: {request.failure} ({path})")

    def expect(self, pattern: str) -> None:
        """Expect a problem that matches this pattern. Without it the test fails."""
        self._expected.append(pattern)

    def check(self) -> None:
        """Fail if there was an unexpected problem, or if an expected one is missing."""
        unexpected = [
            problem
            for problem in self._problems
            if not any(re.search(pattern, problem) for pattern in self._expected)
        ]
        assert not unexpected, unexpected
        missing = [
            pattern
            for pattern in self._expected
            if not any(re.search(pattern, problem) for problem in self._problems)
        ]
        assert not missing, f"{missing} never came; there was {self._problems}"


def wait_until(page: Page | Frame, look: Callable[[], object]) -> None:
    """Wait until `look` is true; fail after a minute.

    Playwright calls the handlers of a page's events only while the test calls Playwright: a list
    that a handler fills stays empty during `time.sleep`.
    """
    for _ in range(1200):
        if look():
            return
        page.wait_for_timeout(50)
    raise AssertionError("The page has not come there within a minute.")


def settled(page: Page | Frame, function: str, value: object = None) -> Any:
    """What the promise of this function in the page resolves to; fails after a minute.

    `page.evaluate` itself would wait for ever for a promise that is never settled.
    """
    page.evaluate(
        f"""(value) => {{
            const kept = (window.settled = {{}});
            Promise.resolve(({function})(value)).then(
                (found) => Object.assign(kept, {{ found, done: true }}),
                (error) => Object.assign(kept, {{ error: String(error), done: true }}),
            );
        }}""",
        value,
    )
    wait_until(page, lambda: page.evaluate("window.settled.done"))
    kept = page.evaluate("window.settled")
    assert "error" not in kept, kept["error"]
    return kept.get("found")


def next_frame(page: Page) -> None:
    """Let the page draw what has changed: scroll-driven styles follow with the next frame."""
    settled(
        page, "() => new Promise(next => requestAnimationFrame(() => requestAnimationFrame(next)))"
    )


def pass_time(page: Page, milliseconds: int) -> None:
    """Let time pass in the page: its timers that are due earlier have run afterwards."""
    settled(page, "milliseconds => new Promise(due => setTimeout(due, milliseconds))", milliseconds)


class HeldRequests:
    """Requests of one address that wait until the test lets the first of them go."""

    def __init__(self, page: Page, address: str) -> None:
        self._page = page
        self._routes: list[Route] = []
        page.route(address, lambda route: self._routes.append(route))

    def __len__(self) -> int:
        return len(self._routes)

    def first(self) -> Route:
        """The first request, as soon as it has been sent."""
        wait_until(self._page, lambda: self._routes)
        return self._routes[0]

    def release(self) -> None:
        """Let the first request go on."""
        self.first().continue_()


class Visitor:
    """A visitor with a browser window. Amounts are texts as on the page: "123,45 €"."""

    def __init__(self, page: Page, email: str, watch: Watch, *, touch: bool = False) -> None:
        self.page = page
        self.email = email
        self.watch = watch
        self._touch = touch

    def press(self, target: Locator) -> None:
        """Click the target, or tap it on a touch screen."""
        if self._touch:
            target.tap()
        else:
            target.click()

    def tick(self, box: Locator) -> None:
        self.press(box)
        expect(box).to_be_checked()

    def sign_in(self, student: Student, url: str) -> None:
        """Give the browser a session of the student in the shop at this address."""
        key = new_session(student.pk)
        cookie = {"name": settings.SESSION_COOKIE_NAME, "value": key, "url": url}
        self.page.context.add_cookies([cookie])  # type: ignore[list-item]

    # ------------------------------------------------------------ catalogue and cart
    def open_catalogue(self, degree: Degree | None = None, query: str = "") -> "Visitor":
        """Open /compra, with all subjects or those of one degree, and wait until it is mounted."""
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
        """The floating cart button, with its name on a wide screen or on a narrow one."""
        name = re.compile("continuar con la compra$|^Ver carrito ·")
        return self.page.get_by_role("button", name=name)

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
        """The checkbox whose label contains these words."""
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
        """Open the payment dialog; on a narrow screen from the cart that the button opens."""
        size = self.page.viewport_size
        self.press(self.cart_button)
        if size and size["width"] < NARROW:
            self.press(self.dialog.get_by_role("button", name="Ir a pagar"))
        expect(self.dialog.get_by_role("heading", name=PURCHASE_STEPS)).to_be_visible()
        return self

    def fill_contact(self, phone: str = "600123123") -> "Visitor":
        """Complete step 1."""
        expect(self.dialog.get_by_role("heading", name="Tus datos")).to_be_visible()
        self.field("Email").fill(self.email)
        self.field("Teléfono").fill(phone)
        self.tick(self.terms)
        self.tick(self.privacy)
        self.press(self.dialog.get_by_role("button", name="Continuar"))
        self.expect_step_2()
        return self

    def expect_step_2(self) -> None:
        expect(self.dialog.get_by_role("heading", name="Resumen y pago")).to_be_visible()

    def to_step_2(self, degree: Degree, subjects: Iterable[Subject], **more: Any) -> "Visitor":
        """Put the items into the cart and open the payment dialog at step 2."""
        self.open_catalogue(degree).fill_cart(subjects, **more)
        return self.open_dialog().fill_contact()

    def apply_code(self, code: str) -> "Visitor":
        self.field("Código promocional").fill(code)
        self.press(self.dialog.get_by_role("button", name="Aplicar"))
        return self

    def tick_boxes(self) -> "Visitor":
        """Tick the two checkboxes that every payment needs."""
        self.tick(self.adult)
        self.tick(self.waiver)
        return self

    def pay_button(self, euros: str | None = None) -> Locator:
        amount = nbsp(euros) if euros else r"\d"
        return self.page.get_by_role("button", name=re.compile(rf"^Pagar {amount}"))

    def accept_price(self, euros: str) -> "Visitor":
        """Accept the new total after the price has changed."""
        self.press(self.page.get_by_role("button", name=re.compile(rf"^Aceptar {nbsp(euros)}$")))
        expect(self.pay_button(euros)).to_be_focused()
        return self

    @property
    def card_form(self) -> FrameLocator:
        return self.page.frame_locator(CARD_FRAME)

    @property
    def challenge(self) -> FrameLocator:
        """The frame of the 3-D Secure challenge."""
        return self.page.frame_locator(CHALLENGE_FRAME)

    def open_card_form(self, euros: str) -> "Visitor":
        """Press pay for the first time and wait for the card form."""
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
        """Complete step 2: tick the checkboxes, fill in the card and confirm it."""
        # A code that is applied meanwhile moves the checkboxes away from under the finger.
        expect(self.pay_button(euros)).to_be_attached()
        self.tick_boxes().open_card_form(euros).type_card(number)
        self.press(self.pay_button(euros))
        return self

    def expect_declined(self, sentence: str) -> None:
        """The card was declined with this message."""
        expect(self.toast("Error en el pago", sentence)).to_be_visible()
        expect(self.dialog.get_by_role("alert")).to_have_text(sentence)

    def expect_success(self) -> str:
        """Wait for the success page. Returns the id of the payment."""
        self.page.wait_for_url(re.compile(r"/success\?payment_intent_id="))
        expect(self.page.get_by_role("heading", name="Pago exitoso")).to_be_visible()
        return self.page.url.partition("payment_intent_id=")[2]

    # ------------------------------------------------------------ page
    def toast(self, title: str, text: str = "") -> Locator:
        """The toast with exactly this title and text."""
        whole = re.compile(f"^{nbsp(title + text)}×$")
        return self.page.get_by_role("region", name="Avisos").locator(".toast", has_text=whole)

    def responses_of(self, path: str) -> list[Response]:
        """A list that collects all further responses of this API path."""
        seen: list[Response] = []
        self.page.on(
            "response",
            lambda answer: seen.append(answer) if urlsplit(answer.url).path == path else None,
        )
        return seen

    def load_with_stopped_clock(self) -> None:
        """Stop the clock of the pages that are opened from now on: only `run_for` advances it."""
        self.page.clock.install()
        self.page.clock.pause_at(datetime.now(UTC) + timedelta(seconds=1))

    def stop_the_clock(self) -> None:
        """Stop the page's clock: from now on only `page.clock.run_for` advances it.

        Call `page.clock.install()` before. Timers that were set before that use the real time.
        """
        self.page.clock.pause_at(self.page.evaluate("Date.now()") / 1000 + 1)

    def tap_twice(self, target: Locator) -> None:
        """Tap twice within the time of a double tap, however busy the machine is."""
        target.scroll_into_view_if_needed()
        box = target.bounding_box()
        assert box
        places = [{"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}]
        session = self.page.context.new_cdp_session(self.page)
        # The browser counts taps by the moments that the events carry.
        first = time.time()
        for second, (kind, points) in enumerate(
            [("touchStart", places), ("touchEnd", []), ("touchStart", places), ("touchEnd", [])]
        ):
            event = {"type": kind, "touchPoints": points, "timestamp": first + second * 0.03}
            session.send("Input.dispatchTouchEvent", event)
        session.detach()

    def assert_accessible(self) -> None:
        """Assert that axe finds no problem on the page. Frames are not checked."""
        found = axe_problems(self.page)
        assert not found, "\n".join(found)


def expect_to_fit(page: Page) -> None:
    """The page is as wide as the window: nothing of it stands out at the side."""
    size = page.viewport_size
    assert size
    expect(page.locator("html")).to_have_js_property("scrollWidth", size["width"])


def expect_ticked(boxes: Locator, *ticked: bool) -> None:
    """Which of these checkboxes are ticked, in their order."""
    expect(boxes).to_have_count(len(ticked))
    for number, is_ticked in enumerate(ticked):
        expect(boxes.nth(number)).to_be_checked(checked=is_ticked)


def expect_beside(left: Locator, right: Locator) -> None:
    """The one ends where the other begins, or before."""

    def beside() -> bool:
        one, other = left.bounding_box(), right.bounding_box()
        assert one
        assert other
        return one["x"] + one["width"] <= other["x"]

    wait_until(left.page, beside)


def point_at(page: Page, target: Locator) -> None:
    """Rest the pointer on the target, whose tooltip is due then, until it is shown."""

    def shown() -> bool:
        # A page that still moves takes the target away from the pointer.
        page.mouse.move(1, 1)
        target.hover()
        pass_time(page, 2000)
        return page.locator(".tooltip").count() > 0

    wait_until(page, shown)


def sign_in_staff(
    page: Page, name: str = ADMIN_NAME, password: str = ADMIN_PASSWORD, path: str = "/admin"
) -> None:
    """Sign a person in to the admin, by default the sample admin, and wait for the next page."""
    page.goto(path)
    page.get_by_label("Nombre de usuario").fill(name)
    page.get_by_label("Contraseña").fill(password)
    with page.expect_navigation():
        page.get_by_role("button", name="Iniciar sesión").click()


def set_text_size(page: Page, pixels: int) -> None:
    """Set the browser's own font size, which is 16. This is not the zoom."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Page.enable")
    devtools.send("Page.setFontSizes", {"fontSizes": {"standard": pixels, "fixed": pixels}})


def axe_problems(
    page: Page | Frame, *, part: str = "html", without: Sequence[str] = ()
) -> list[str]:
    """What axe finds in this part of a page or of one frame, without some of its rules."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[str] = settled(page, RUN_AXE, [part, list(without)])
    return found


def tab_to(visitor: Visitor, target: Locator, key: str = "Tab") -> int:
    """Press Tab until the target has the focus, in any frame. Returns how often it was pressed."""
    for stops in range(MANY_STOPS):
        if target.evaluate("element => element === document.activeElement && document.hasFocus()"):
            return stops
        visitor.page.keyboard.press(key)
    raise AssertionError(f"{MANY_STOPS} stops, and never on {target}")


class HostedVisitor(Visitor):
    """A visitor of the shop with STRIPE_CHECKOUT=hosted: pays on Stripe's hosted page."""

    def expect_card_form(self) -> None:
        self.page.wait_for_url(re.compile(r"/c/pay/cs_test_"))
        expect(self.page.locator("#pay")).to_be_enabled()

    def type_card(self, number: str = GOOD_CARD) -> "Visitor":
        self.page.get_by_label("Titular de la tarjeta").fill("Ana Muñoz")
        return super().type_card(number)

    def expect_declined(self, sentence: str) -> None:
        """The hosted page shows Stripe's own message."""
        expect(self.page.get_by_role("alert")).not_to_be_empty()
        expect(self.page.locator("#pay")).to_be_enabled()

    def expect_success(self) -> str:
        self.page.wait_for_url(re.compile(r"/success\?session_id=cs_test_"))
        expect(self.page.get_by_role("heading", name="Pago exitoso")).to_be_visible()
        return self.page.url.partition("session_id=")[2]
