"""A slow network, or none: feedback within 100 ms, sentences of their own, and a retry."""

from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.records import Shelf
from tests.browser.visitor import Visitor

SLOW_3G = {
    "offline": False,
    "latency": 2000,
    "downloadThroughput": 50_000,
    "uploadThroughput": 50_000,
}
MOST_MS = 100
# Measures from the visitor's action to the first element that says that it is busy.
WATCH = """() => {
  let began = 0;
  window.feedback = [];
  for (const type of ["click", "change"]) {
    addEventListener(type, (event) => { began = event.timeStamp; }, true);
  }
  new MutationObserver((changes) => {
    const busy = changes.some(({ target, attributeName }) =>
      attributeName === "aria-busy" && target.getAttribute("aria-busy") === "true");
    if (busy && began) window.feedback.push(performance.now() - began);
  }).observe(document.body, { subtree: true, attributes: true, attributeFilter: ["aria-busy"] });
}"""


def slow_down(page: Page, conditions: dict[str, Any] = SLOW_3G) -> None:
    page.evaluate(WATCH)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Network.enable")
    devtools.send("Network.emulateNetworkConditions", conditions)


def feedback_ms(page: Page) -> float:
    """The time to the first feedback after the last action."""
    page.wait_for_function("window.feedback.length")
    return float(page.evaluate("window.feedback.splice(0)[0]"))


def test_buy_button_of_a_subject_is_busy_at_once(phone: Visitor, shelf: Shelf) -> None:
    subject = shelf.put("Física", "200.00")
    page = phone.page
    page.goto(subject.page_path)
    slow_down(page)
    button = page.get_by_role("button", name="Comprar ahora")
    # The island's code is not there yet.
    phone.press(button)
    expect(button).to_have_attribute("aria-busy", "true")
    assert feedback_ms(page) <= MOST_MS
    expect(phone.dialog.get_by_role("heading", name="Tus datos")).to_be_visible(timeout=60_000)
    page.keyboard.press("Escape")
    expect(button).not_to_have_attribute("aria-busy", "true")


def test_filters_answer_at_once_and_a_slow_answer_has_a_sentence(
    visitor: Visitor, shelf: Shelf
) -> None:
    shelf.put("Química", "200.00")
    page = visitor.page
    visitor.open_catalogue()
    slow_down(page)
    held: list[Route] = []
    page.route("**/api/catalogue?*", lambda route: held.append(route))
    page.get_by_label("Carrera").select_option(str(shelf.degree.pk))
    assert feedback_ms(page) <= MOST_MS
    expect(page.locator(".subject--skeleton")).to_have_count(6)
    notice = page.get_by_text("Tu conexión va lenta. Seguimos cargando las asignaturas.")
    expect(notice).to_be_visible()
    # The retry gives the first request up.
    page.unroute("**/api/catalogue?*")
    page.get_by_role("button", name="Volver a intentarlo").click()
    expect(notice).to_have_count(0)
    assert len(held) == 1
    expect(visitor.cards).to_have_count(1, timeout=30_000)


def test_catalogue_without_connection_says_so_and_tries_again(
    visitor: Visitor, shelf: Shelf
) -> None:
    shelf.put("Historia", "200.00")
    page = visitor.page
    visitor.watch.expect("net::ERR_INTERNET_DISCONNECTED.*/api/catalogue")
    visitor.watch.expect("request: net::ERR_INTERNET_DISCONNECTED")
    visitor.watch.expect("console: ApiError: Error de conexión")
    visitor.open_catalogue()
    page.context.set_offline(True)
    page.get_by_label("Carrera").select_option(str(shelf.degree.pk))
    sentence = "No tienes conexión a internet. Cuando vuelva, inténtalo otra vez."
    expect(page.locator(".notice--error")).to_contain_text(sentence)
    page.context.set_offline(False)
    page.get_by_role("button", name="Volver a intentarlo").click()
    expect(visitor.cards).to_have_count(1)


@pytest.mark.parametrize("online", [True, False])
def test_payment_that_can_not_be_opened_keeps_the_cart(
    visitor: Visitor, shelf: Shelf, online: bool
) -> None:
    subject = shelf.put("Lógica", "200.00")
    page = visitor.page
    visitor.watch.expect("PaymentDialog")
    page.route("**/PaymentDialog-*.js", lambda route: route.abort())
    visitor.open_catalogue(shelf.degree).fill_cart([subject])
    if not online:
        page.context.set_offline(True)
    visitor.press(visitor.cart_button)
    sentence = (
        "No hemos podido abrir el pago. Comprueba tu conexión e inténtalo de nuevo."
        if online
        else "No tienes conexión a internet. Tu selección sigue aquí: cuando vuelva, inténtalo "
        "otra vez."
    )
    expect(visitor.toast("Error", sentence)).to_be_visible()
    expect(visitor.cart_button).not_to_have_attribute("aria-busy", "true")
    page.context.set_offline(False)
    page.unroute("**/PaymentDialog-*.js")
    visitor.press(visitor.cart_button)
    expect(visitor.dialog.get_by_role("heading", name="Tus datos")).to_be_visible()
