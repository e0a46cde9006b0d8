"""The payment dialog's own rules (shop spec, sections 2, 4, 5, 8 and 9)."""

import re

import pytest
from playwright.sync_api import Route, expect

from academy.dev.stack import Stack
from academy.tests.browser.records import Shelf, only_order, orders_of
from academy.tests.browser.visitor import CARD_FRAME, Visitor
from apps.catalogue.models import Subject
from apps.orders.models import Order

CHECKOUT = "**/api/process-checkout"
KEY = "**/api/get-stripe-public-key"
PREPARING = "Preparando opciones de pago..."


@pytest.fixture
def maths(shelf: Shelf) -> Subject:
    """A subject of 200 €: 190 € when it is paid at once."""
    return shelf.put("Cálculo", "200.00")


@pytest.fixture
def at_step_1(visitor: Visitor, maths: Subject) -> Visitor:
    return visitor.open_catalogue(maths.degree).fill_cart([maths]).open_dialog()


@pytest.fixture
def at_step_2(at_step_1: Visitor) -> Visitor:
    return at_step_1.fill_contact()


# ---------------------------------------------------------------- step 1


def test_step_1_asks_for_email_phone_with_prefix_and_both_acceptances(at_step_1: Visitor) -> None:
    expect(at_step_1.dialog.get_by_role("heading", name="Tus datos")).to_be_focused()
    expect(at_step_1.field("Correo electrónico")).to_have_value("")
    expect(at_step_1.field("Prefijo")).to_have_value("34")
    expect(at_step_1.field("Teléfono")).to_have_value("")
    expect(at_step_1.terms).not_to_be_checked()
    expect(at_step_1.privacy).not_to_be_checked()
    for box, path in ((at_step_1.terms, "/terminos"), (at_step_1.privacy, "/privacidad")):
        link = box.locator("xpath=..").get_by_role("link")
        expect(link).to_have_attribute("href", path)
        expect(link).to_have_attribute("target", "_blank")


def test_the_prefix_keeps_at_most_three_digits_and_the_phone_digits_only(
    at_step_1: Visitor,
) -> None:
    at_step_1.field("Prefijo").fill("")
    at_step_1.field("Prefijo").press_sequentially("+3 5a17")
    expect(at_step_1.field("Prefijo")).to_have_value("351")
    at_step_1.field("Teléfono").press_sequentially("600 12-3a1.23")
    expect(at_step_1.field("Teléfono")).to_have_value("600123123")


def test_step_2_is_not_reached_while_something_is_missing(at_step_1: Visitor) -> None:
    form = at_step_1.dialog
    go_on = form.get_by_role("button", name="Continuar")

    def missing(sentence: str) -> None:
        go_on.click()
        expect(form.get_by_text(sentence, exact=True)).to_be_visible()
        expect(at_step_1.toast("Error", sentence).last).to_be_visible()
        expect(form.locator("[aria-invalid=true]").first).to_be_focused()
        expect(form.get_by_role("heading", name="Tus datos")).to_be_visible()

    missing("Escribe tu correo electrónico.")
    at_step_1.field("Correo electrónico").fill(at_step_1.email)
    missing("Escribe tu teléfono.")
    at_step_1.field("Teléfono").fill("60012312")
    missing("El teléfono debe tener al menos 9 dígitos.")
    at_step_1.field("Teléfono").fill("600123123")
    missing("Debes aceptar los términos y condiciones.")
    at_step_1.terms.check()
    missing("Debes aceptar la política de privacidad.")
    at_step_1.privacy.check()
    # And each of the others counts, whatever else is there.
    at_step_1.terms.uncheck()
    missing("Debes aceptar los términos y condiciones.")
    at_step_1.terms.check()
    at_step_1.field("Correo electrónico").fill("")
    missing("Escribe tu correo electrónico.")

    at_step_1.field("Correo electrónico").fill(at_step_1.email)
    go_on.click()
    at_step_1.expect_step_2()


# ---------------------------------------------------------------- moving about


def test_closing_resets_everything_but_the_cart(at_step_2: Visitor) -> None:
    at_step_2.apply_code("BIENVENIDA10")
    expect(at_step_2.dialog.get_by_text("Código BIENVENIDA10 aplicado")).to_be_visible()
    at_step_2.tick_boxes()
    at_step_2.dialog.get_by_role("radio", name="3 plazos").check()

    at_step_2.dialog.get_by_role("button", name="Cerrar").click()
    expect(at_step_2.dialog).to_have_count(0)
    expect(at_step_2.cart_button).to_contain_text("190,00 €")
    at_step_2.open_dialog()

    expect(at_step_2.dialog.get_by_role("heading", name="Tus datos")).to_be_visible()
    expect(at_step_2.field("Correo electrónico")).to_have_value("")
    expect(at_step_2.field("Teléfono")).to_have_value("")
    expect(at_step_2.terms).not_to_be_checked()
    at_step_2.fill_contact()
    expect(at_step_2.field("Código promocional")).to_have_value("")
    expect(at_step_2.dialog.get_by_role("radio", name="Pago completo")).to_be_checked()
    expect(at_step_2.adult).not_to_be_checked()
    expect(at_step_2.waiver).not_to_be_checked()
    expect(at_step_2.pay_button("190,00 €")).to_be_disabled()


def test_the_back_arrow_returns_to_step_1_with_what_was_typed(at_step_2: Visitor) -> None:
    at_step_2.dialog.get_by_role("button", name="Volver a tus datos").click()

    expect(at_step_2.dialog.get_by_role("heading", name="Tus datos")).to_be_focused()
    expect(at_step_2.field("Correo electrónico")).to_have_value(at_step_2.email)
    expect(at_step_2.field("Teléfono")).to_have_value("600123123")
    at_step_2.dialog.get_by_role("button", name="Continuar").click()
    at_step_2.expect_step_2()


def test_escape_closes_and_the_focus_returns_to_the_cart_button(at_step_1: Visitor) -> None:
    at_step_1.page.keyboard.press("Escape")

    expect(at_step_1.dialog).to_have_count(0)
    expect(at_step_1.cart_button).to_be_focused()


def test_the_focus_stays_inside_the_dialog(at_step_1: Visitor) -> None:
    for key in ("Tab", "Shift+Tab"):
        for _ in range(14):
            at_step_1.page.keyboard.press(key)
            assert at_step_1.dialog.locator(":focus").count() == 1


def two_columns(visitor: Visitor) -> bool:
    """Whether the payment stands beside the order, not below it."""
    order = visitor.dialog.get_by_role("region", name="Tu pedido").bounding_box()
    payment = visitor.dialog.get_by_role("region", name="Pago con tarjeta").bounding_box()
    assert order
    assert payment
    beside = order["x"] + order["width"] <= payment["x"]
    assert beside != (order["y"] + order["height"] <= payment["y"])
    return beside


def test_step_2_has_two_columns_on_a_desk(at_step_2: Visitor) -> None:
    assert two_columns(at_step_2)
    expect(at_step_2.dialog).not_to_have_css("width", "1440px")
    promo = at_step_2.field("Código promocional").bounding_box()
    types = at_step_2.dialog.get_by_role("group", name="Forma de pago").bounding_box()
    payment = at_step_2.dialog.get_by_role("region", name="Pago con tarjeta").bounding_box()
    assert promo
    assert types
    assert payment
    assert promo["x"] + promo["width"] <= payment["x"]
    assert types["x"] + types["width"] <= payment["x"]


def test_on_a_phone_the_summary_fills_the_screen(phone: Visitor, maths: Subject) -> None:
    phone.to_step_2(maths.degree, [maths])

    assert phone.dialog.bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 844}
    assert not two_columns(phone)


def test_the_dialog_changes_its_shape_below_768_pixels(at_step_2: Visitor) -> None:
    at_step_2.page.set_viewport_size({"width": 767, "height": 1024})
    expect(at_step_2.dialog).to_have_css("width", "767px")
    assert at_step_2.dialog.bounding_box() == {"x": 0, "y": 0, "width": 767, "height": 1024}
    assert not two_columns(at_step_2)

    at_step_2.page.set_viewport_size({"width": 768, "height": 1024})
    expect(at_step_2.dialog).not_to_have_css("width", "768px")
    assert two_columns(at_step_2)


# ---------------------------------------------------------------- paying


def test_pay_is_disabled_until_both_boxes_are_ticked(at_step_2: Visitor) -> None:
    pay = at_step_2.pay_button("190,00 €")

    expect(at_step_2.adult).not_to_be_checked()
    expect(pay).to_be_disabled()
    at_step_2.adult.check()
    expect(pay).to_be_disabled()
    at_step_2.waiver.check()
    expect(pay).to_be_enabled()
    at_step_2.adult.uncheck()
    expect(pay).to_be_disabled()
    expect(at_step_2.dialog.get_by_text("pedido con obligación de pago")).to_be_visible()


def test_instalments_say_why_they_are_not_possible(visitor: Visitor, maths: Subject) -> None:
    lesson = maths.lessons.get(title="PEC 1")
    visitor.to_step_2(maths.degree, [], lessons=[lesson])

    expect(visitor.dialog.get_by_role("radio", name="3 plazos")).to_be_disabled()
    sentence = "Para pagar a plazos hace falta al menos una asignatura completa."
    expect(visitor.dialog.get_by_text(sentence, exact=True)).to_be_visible()


def test_the_dialog_waits_for_the_secret_and_then_shows_the_card_form(at_step_2: Visitor) -> None:
    held: list[Route] = []
    at_step_2.page.route(CHECKOUT, lambda route: held.append(route))
    at_step_2.tick_boxes().pay_button("190,00 €").click()

    expect(at_step_2.dialog.get_by_text(PREPARING, exact=True)).to_be_visible()
    expect(at_step_2.page.locator(CARD_FRAME)).to_have_count(0)
    # Nothing may change under a payment that is being prepared.
    expect(at_step_2.dialog.get_by_role("button", name="Cerrar")).to_be_disabled()
    at_step_2.page.keyboard.press("Escape")
    expect(at_step_2.dialog).to_be_visible()
    held[0].continue_()
    at_step_2.expect_card_form()
    expect(at_step_2.dialog.get_by_text(PREPARING, exact=True)).to_have_count(0)


def test_a_card_form_that_is_not_ready_refuses_to_submit(
    at_step_2: Visitor,
) -> None:
    held: list[Route] = []
    at_step_2.page.route("**/v3/frame/payment", lambda route: held.append(route))
    at_step_2.tick_boxes().pay_button("190,00 €").click()
    expect(at_step_2.page.locator(CARD_FRAME)).to_be_attached()

    at_step_2.pay_button("190,00 €").click()

    expect(at_step_2.toast("Error", "El formulario de pago no está listo...")).to_be_visible()
    held[0].continue_()
    at_step_2.expect_card_form()
    at_step_2.type_card().pay_button("190,00 €").click()
    at_step_2.expect_success()


def test_a_card_form_that_cannot_load_says_so(at_step_2: Visitor) -> None:
    at_step_2.watch.expect("net::ERR_FAILED.*/v1/payment_intents/")
    at_step_2.page.route("**/v1/payment_intents/*", lambda route: route.abort())

    at_step_2.tick_boxes().pay_button("190,00 €").click()

    alert = at_step_2.dialog.get_by_role("alert")
    expect(alert).to_contain_text("Error al cargar el formulario de pago")


def test_an_incomplete_card_is_not_sent(at_step_2: Visitor) -> None:
    at_step_2.tick_boxes().ask_for_card_form("190,00 €")
    confirmations = at_step_2.answers("/v1/payment_methods")

    at_step_2.pay_button("190,00 €").click()

    sentence = "Revisa los datos de la tarjeta: falta alguno o no es correcto."
    expect(at_step_2.toast("Error en el pago", sentence)).to_be_visible()
    expect(at_step_2.card_form.get_by_label("Número de tarjeta")).to_be_focused()
    assert confirmations == []


# ---------------------------------------------------------------- what may fail


def test_the_key_is_asked_for_again_after_3_seconds(at_step_2: Visitor) -> None:
    at_step_2.watch.expect("status of 500.*/api/get-stripe-public-key")
    asked: list[str] = []

    def fail_once(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) == 1:
            route.fulfill(status=500, body="")
        else:
            route.continue_()

    at_step_2.page.route(KEY, fail_once)
    at_step_2.tick_boxes().page.clock.install()
    at_step_2.stop_the_clock()
    at_step_2.pay_button("190,00 €").click()
    alert = at_step_2.dialog.get_by_role("alert")
    expect(alert).to_contain_text("Error al cargar el formulario de pago")
    expect(alert).to_contain_text("Failed to get Stripe public key")
    expect(alert.get_by_role("button", name="Reintentar")).to_be_visible()
    at_step_2.page.clock.run_for(2_999)
    # A request of now comes after whatever the timers have sent.
    assert at_step_2.page.evaluate("fetch('/healthz').then(({ status }) => status)") == 200
    assert len(asked) == 1

    at_step_2.page.clock.run_for(1)
    at_step_2.page.clock.resume()
    at_step_2.expect_card_form()
    assert len(asked) == 2


def test_an_answer_without_a_key_says_so_and_retry_loads_the_page_anew(
    at_step_2: Visitor,
) -> None:
    empty = {"publishableKey": "", "scriptUrl": "http://127.0.0.1/v3/stripe.js"}
    at_step_2.page.route(KEY, lambda route: route.fulfill(json=empty))
    at_step_2.tick_boxes().pay_button("190,00 €").click()
    alert = at_step_2.dialog.get_by_role("alert")
    expect(alert).to_contain_text("No publishable key received from server")

    with at_step_2.page.expect_navigation():
        alert.get_by_role("button", name="Reintentar").click()

    at_step_2.wait_for_catalogue()
    expect(at_step_2.dialog).to_have_count(0)


def test_the_key_is_fetched_once_for_two_card_forms(at_step_2: Visitor) -> None:
    keys = at_step_2.answers("/api/get-stripe-public-key")
    at_step_2.tick_boxes().ask_for_card_form("190,00 €")

    at_step_2.dialog.get_by_role("radio", name="3 plazos").check()
    at_step_2.ask_for_card_form("66,68 €")

    assert len(keys) == 1


def test_a_provider_that_is_away_prepares_no_payment_and_the_next_try_pays(
    at_step_2: Visitor, stack: Stack, email: str
) -> None:
    at_step_2.watch.expect("status of 502.*/api/process-checkout")
    at_step_2.tick_boxes()
    stack.stop_one("stripe")
    try:
        at_step_2.pay_button("190,00 €").click()
        sentence = "No se pudo preparar el pago. Inténtalo de nuevo."
        expect(at_step_2.toast("Error", sentence)).to_be_visible(timeout=60_000)
    finally:
        stack.start_one("stripe")
        stack.wait_ready()
    expect(at_step_2.dialog.get_by_role("alert")).to_have_text(sentence)

    at_step_2.ask_for_card_form("190,00 €").type_card().pay_button("190,00 €").click()
    at_step_2.expect_success()
    # `only`: the second try took the first one's order up.
    assert only_order(email).status == Order.Status.PAID


def test_a_checkout_without_connection_says_so(at_step_2: Visitor, email: str) -> None:
    at_step_2.watch.expect("net::ERR_FAILED.*/api/process-checkout")
    at_step_2.page.route(CHECKOUT, lambda route: route.abort())

    at_step_2.tick_boxes().pay_button("190,00 €").click()

    sentence = "No se pudo procesar el pago. Inténtalo de nuevo."
    expect(at_step_2.toast("Error en el pago", sentence)).to_be_visible()
    assert orders_of(email) == []


def test_an_answer_with_neither_secret_nor_address_says_so(at_step_2: Visitor) -> None:
    def strip(route: Route) -> None:
        answer = route.fetch()
        kept = {name: value for name, value in answer.json().items() if name != "client_secret"}
        route.fulfill(response=answer, json=kept)

    at_step_2.page.route(CHECKOUT, strip)

    at_step_2.tick_boxes().pay_button("190,00 €").click()

    sentence = "No client secret or redirect URL received."
    expect(at_step_2.toast("Error en el pago", sentence)).to_be_visible()


def test_an_answer_with_an_address_leads_there(at_step_2: Visitor) -> None:
    def hosted(route: Route) -> None:
        answer = route.fetch()
        kept = {name: value for name, value in answer.json().items() if name != "client_secret"}
        route.fulfill(response=answer, json={**kept, "url": f"{at_step_2.page.url}&alojada=1"})

    at_step_2.page.route(CHECKOUT, hosted)

    at_step_2.tick_boxes().pay_button("190,00 €").click()

    expect(at_step_2.page).to_have_url(re.compile("alojada=1"))
