"""The payment dialog: its steps, validation, layout, card form and error messages."""

import re

import pytest
from playwright.sync_api import expect

from apps.orders.models import Order
from tests.browser.records import only_order, orders_of
from tests.browser.visitor import (
    CARD_FRAME,
    HeldRequests,
    Visitor,
    expect_beside,
    wait_until,
)

CHECKOUT = "**/api/process-checkout"
KEY = "**/api/get-stripe-public-key"
PREPARING = "Preparando opciones de pago..."


@pytest.fixture
def at_step_1(visitor, maths):
    return visitor.open_catalogue(maths.degree).fill_cart([maths]).open_dialog()


@pytest.fixture
def at_step_2(at_step_1):
    return at_step_1.fill_contact()


# ---------------------------------------------------------------- step 1


# The rules of the fields: static_src/islands/payment/contact.test.ts.
def test_step_1_asks_for_email_phone_of_9_digits_and_both_acceptances(at_step_1):
    form = at_step_1.dialog
    expect(form.get_by_role("heading", name="Tus datos")).to_be_focused()
    expect(at_step_1.field("Email")).to_have_value("")
    expect(at_step_1.field("Prefijo")).to_have_value("34")
    expect(at_step_1.field("Teléfono")).to_have_value("")
    for box, path in ((at_step_1.terms, "/terminos"), (at_step_1.privacy, "/privacidad")):
        expect(box).not_to_be_checked()
        link = box.locator("xpath=..").get_by_role("link")
        expect(link).to_have_attribute("href", path)
        expect(link).to_have_attribute("target", "_blank")
    at_step_1.field("Prefijo").fill("")
    at_step_1.field("Prefijo").press_sequentially("+3 5a17")
    expect(at_step_1.field("Prefijo")).to_have_value("351")
    at_step_1.field("Prefijo").fill("34")
    at_step_1.field("Teléfono").press_sequentially("600 12-3a1.23")
    expect(at_step_1.field("Teléfono")).to_have_value("600123123")
    at_step_1.field("Teléfono").fill("")
    go_on = form.get_by_role("button", name="Continuar")

    def missing(sentence: str) -> None:
        go_on.click()
        expect(form.get_by_text(sentence, exact=True)).to_be_visible()
        expect(at_step_1.toast("Error", sentence).last).to_be_visible()
        expect(form.locator("[aria-invalid=true]").first).to_be_focused()
        expect(form.get_by_role("heading", name="Tus datos")).to_be_visible()

    missing("Escribe tu email.")
    at_step_1.field("Email").fill(at_step_1.email)
    at_step_1.field("Teléfono").fill("60012312")
    missing("El teléfono debe tener al menos 9 dígitos.")
    at_step_1.field("Teléfono").fill("600123123")
    missing("Debes aceptar los términos y condiciones.")
    at_step_1.terms.check()
    missing("Debes aceptar la política de privacidad.")
    at_step_1.privacy.check()
    go_on.click()
    at_step_1.expect_step_2()
    form.get_by_role("button", name="Volver a tus datos").click()
    expect(form.get_by_role("heading", name="Tus datos")).to_be_focused()
    expect(at_step_1.field("Email")).to_have_value(at_step_1.email)
    expect(at_step_1.field("Teléfono")).to_have_value("600123123")
    at_step_1.page.keyboard.press("Escape")
    expect(form).to_have_count(0)
    expect(at_step_1.cart_button).to_be_focused()


# ---------------------------------------------------------------- navigation and layout


def test_closing_the_dialog_resets_everything_except_the_cart(at_step_2):
    at_step_2.apply_code("BIENVENIDA10")
    expect(at_step_2.dialog.get_by_text("Código BIENVENIDA10 aplicado")).to_be_visible()
    at_step_2.tick_boxes()
    at_step_2.dialog.get_by_role("radio", name="3 plazos").check()

    at_step_2.dialog.get_by_role("button", name="Cerrar").click()
    expect(at_step_2.dialog).to_have_count(0)
    expect(at_step_2.cart_button).to_contain_text("190,00 €")
    at_step_2.open_dialog()

    expect(at_step_2.dialog.get_by_role("heading", name="Tus datos")).to_be_visible()
    expect(at_step_2.field("Email")).to_have_value("")
    expect(at_step_2.field("Teléfono")).to_have_value("")
    expect(at_step_2.terms).not_to_be_checked()
    at_step_2.fill_contact()
    expect(at_step_2.field("Código promocional")).to_have_value("")
    expect(at_step_2.dialog.get_by_role("radio", name="Pago completo")).to_be_checked()
    expect(at_step_2.adult).not_to_be_checked()
    expect(at_step_2.waiver).not_to_be_checked()
    expect(at_step_2.pay_button("190,00 €")).to_be_disabled()


def test_focus_stays_inside_the_dialog(at_step_1):
    page = at_step_1.page
    for key in ("Tab", "Shift+Tab"):
        for _ in range(20):
            page.keyboard.press(key)
            # `:focus` does not match the frame of the wallets, which comes late, while it is used.
            page.wait_for_function(
                "document.querySelector('[role=dialog]').contains(document.activeElement)"
            )


def expect_columns(visitor: Visitor, *, two: bool) -> None:
    """The payment is beside the order, or below it."""

    def settled_so() -> bool:
        order = visitor.dialog.get_by_role("region", name="Tu pedido").bounding_box()
        payment = visitor.dialog.get_by_role("region", name="Pago con tarjeta").bounding_box()
        assert order
        assert payment
        beside = order["x"] + order["width"] <= payment["x"]
        below = order["y"] + order["height"] <= payment["y"]
        return (beside, below) == (two, not two)

    wait_until(visitor.page, settled_so)


def test_step_2_has_two_columns_on_a_wide_screen_and_fills_a_narrow_one(at_step_2):
    expect_columns(at_step_2, two=True)
    expect(at_step_2.dialog).not_to_have_css("width", "1440px")
    payment = at_step_2.dialog.get_by_role("region", name="Pago con tarjeta")
    expect_beside(at_step_2.field("Código promocional"), payment)
    expect_beside(at_step_2.dialog.get_by_role("group", name="Forma de pago"), payment)

    for width, height in ((390, 844), (767, 1024)):
        at_step_2.page.set_viewport_size({"width": width, "height": height})
        expect(at_step_2.dialog).to_have_css("width", f"{width}px")
        whole = {"x": 0, "y": 0, "width": width, "height": height}
        wait_until(at_step_2.page, lambda whole=whole: at_step_2.dialog.bounding_box() == whole)
        expect_columns(at_step_2, two=False)
    at_step_2.page.set_viewport_size({"width": 768, "height": 1024})
    expect(at_step_2.dialog).not_to_have_css("width", "768px")
    expect_columns(at_step_2, two=True)


# ---------------------------------------------------------------- paying


def test_instalments_option_says_why_it_is_unavailable(visitor, maths):
    lesson = maths.lessons.get(title="PEC 1")
    visitor.to_step_2(maths.degree, [], lessons=[lesson])

    expect(visitor.dialog.get_by_role("radio", name="3 plazos")).to_be_disabled()
    sentence = "Para pagar a plazos hace falta al menos una asignatura completa."
    expect(visitor.dialog.get_by_text(sentence, exact=True)).to_be_visible()


def test_pay_asks_for_both_boxes_a_payment_and_a_ready_and_complete_card_form(at_step_2):
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

    # The purchase cannot be changed while the payment is being prepared.
    preparation = HeldRequests(at_step_2.page, CHECKOUT)
    at_step_2.adult.check()
    pay.click()
    expect(at_step_2.dialog.get_by_text(PREPARING, exact=True)).to_be_visible()
    expect(at_step_2.page.locator(CARD_FRAME)).to_have_count(0)
    expect(at_step_2.dialog.get_by_role("button", name="Cerrar")).to_be_disabled()
    at_step_2.page.keyboard.press("Escape")
    expect(at_step_2.dialog).to_be_visible()

    card_form = HeldRequests(at_step_2.page, "**/v3/frame/payment")
    preparation.release()
    expect(at_step_2.page.locator(CARD_FRAME)).to_be_attached()
    expect(at_step_2.dialog.get_by_text(PREPARING, exact=True)).to_have_count(0)

    at_step_2.pay_button("190,00 €").click()

    expect(at_step_2.toast("Error", "El formulario de pago no está listo...")).to_be_visible()
    card_form.release()
    at_step_2.expect_card_form()

    confirmations = at_step_2.responses_of("/v1/payment_methods")
    at_step_2.pay_button("190,00 €").click()
    sentence = "Revisa los datos de la tarjeta: falta alguno o no es correcto."
    expect(at_step_2.toast("Error en el pago", sentence)).to_be_visible()
    expect(at_step_2.card_form.get_by_label("Número de tarjeta")).to_be_focused()
    assert confirmations == []

    # Another way to pay needs another payment, and not the key again.
    keys = at_step_2.responses_of("/api/get-stripe-public-key")
    at_step_2.page.unroute(CHECKOUT)
    at_step_2.page.unroute("**/v3/frame/payment")
    at_step_2.dialog.get_by_role("radio", name="3 plazos").check()
    at_step_2.open_card_form("66,68 €")
    assert keys == []


def test_card_form_that_fails_to_load_shows_an_error(at_step_2):
    at_step_2.watch.expect("net::ERR_FAILED.*/v1/payment_intents/")
    at_step_2.page.route("**/v1/payment_intents/*", lambda route: route.abort())

    at_step_2.tick_boxes().pay_button("190,00 €").click()

    alert = at_step_2.dialog.get_by_role("alert")
    expect(alert).to_contain_text("Error al cargar el formulario de pago")


# ---------------------------------------------------------------- errors


def test_missing_payment_key_shows_an_error_and_the_retry_button_reloads_the_page(visitor, maths):
    empty = {"publishableKey": "", "scriptUrl": "http://127.0.0.1/v3/stripe.js"}
    visitor.page.route(KEY, lambda route: route.fulfill(json=empty))
    visitor.to_step_2(maths.degree, [maths]).tick_boxes().pay_button("190,00 €").click()
    alert = visitor.dialog.get_by_role("alert")
    expect(alert).to_contain_text("No publishable key received from server")

    with visitor.page.expect_navigation():
        alert.get_by_role("button", name="Reintentar").click()

    # A reload of /compra would lose the cart: the saved order opens in its place.
    expect(visitor.page).to_have_url(re.compile("/complete-payment"))
    expect(visitor.page.get_by_role("region", name="Tu matrícula")).to_contain_text("190,00 €")


def test_unavailable_provider_shows_no_se_pudo_preparar_el_pago_and_the_next_attempt_pays(
    at_step_2, stack, email
):
    at_step_2.watch.expect("status of 502.*/api/process-checkout")
    at_step_2.tick_boxes()
    stack.stop("stripe")
    try:
        at_step_2.pay_button("190,00 €").click()
        sentence = "No se pudo preparar el pago. Inténtalo de nuevo."
        expect(at_step_2.toast("Error", sentence)).to_be_visible()
    finally:
        stack.start("stripe")
        stack.wait_ready()
    expect(at_step_2.dialog.get_by_role("alert")).to_have_text(sentence)

    at_step_2.open_card_form("190,00 €").type_card().pay_button("190,00 €").click()
    at_step_2.expect_success()
    # `only_order`: the second attempt used the order of the first.
    assert only_order(email).status == Order.Status.PAID


def test_checkout_without_connection_says_so_and_the_next_press_tries_again(at_step_2, email):
    at_step_2.watch.expect("net::ERR_INTERNET_DISCONNECTED.*/api/process-checkout")
    at_step_2.tick_boxes()
    at_step_2.page.context.set_offline(True)

    at_step_2.pay_button("190,00 €").click()

    sentence = (
        "No tienes conexión a internet. No se ha cobrado nada: cuando vuelva, inténtalo otra vez."
    )
    expect(at_step_2.toast("Error en el pago", sentence)).to_be_visible()
    assert orders_of(email) == []
    at_step_2.page.context.set_offline(False)
    at_step_2.open_card_form("190,00 €")
    expect(at_step_2.toast("Error en el pago", sentence)).to_have_count(0)
