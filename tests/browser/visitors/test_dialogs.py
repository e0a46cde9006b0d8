"""What all dialogs share: the inert page, tooltips, focus, and toasts on a phone."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.visitor import (
    CHALLENGE_FRAME,
    CHALLENGED_CARD,
    Visitor,
    pass_time,
    point_at,
    wait_until,
)

TOOLTIP = ".tooltip"


def inert(page: Page) -> list[str]:
    """The tags of the inert elements of the body."""
    found: list[str] = page.evaluate(
        "[...document.body.children].filter(({ inert }) => inert).map(({ localName }) => localName)"
    )
    return found


# ---------------------------------------------------------------- the page behind a dialog
def test_page_behind_a_dialog_is_inert_and_does_not_scroll(visitor, maths):
    visitor.open_catalogue(maths.degree).fill_cart([maths])
    before = inert(visitor.page)
    visitor.open_dialog()

    assert {"header", "main", "footer"} <= set(inert(visitor.page))
    expect(visitor.page.locator("#toasts")).to_have_js_property("inert", False)
    expect(visitor.page.locator("html")).to_have_css("overflow", "hidden")
    visitor.page.keyboard.press("Escape")
    expect(visitor.dialog).to_have_count(0)
    assert inert(visitor.page) == before
    expect(visitor.page.locator("html")).not_to_have_css("overflow", "hidden")


def test_escape_closes_a_dialog_as_soon_as_it_is_shown(visitor, maths):
    visitor.open_catalogue(maths.degree).fill_cart([maths])
    # In the moment in which the dialog is added, before the page is drawn.
    visitor.page.evaluate(
        """() => new MutationObserver((changes, observer) => {
             if (!document.querySelector("[role=dialog]")) return;
             observer.disconnect();
             window.pressed = true;
             document.body.dispatchEvent(
               new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
           }).observe(document.body, { childList: true })"""
    )
    visitor.cart_button.click()
    wait_until(visitor.page, lambda: visitor.page.evaluate("window.pressed"))
    expect(visitor.dialog).to_have_count(0)
    expect(visitor.cart_button).to_be_focused()


def test_frames_of_stripe_and_the_bank_are_never_inert(visitor, maths):
    # Stripe adds frames to the body, with or without a box, also before the dialog opens.
    visitor.open_catalogue(maths.degree).fill_cart([maths])
    visitor.page.evaluate(
        """() => {
             const box = document.createElement("div");
             box.append(document.createElement("iframe"));
             document.body.append(box, document.createElement("iframe"));
           }"""
    )
    visitor.open_dialog().fill_contact().buy("190,00 €", CHALLENGED_CARD)
    expect(visitor.challenge.get_by_role("heading")).to_be_visible()

    assert not {"div", "iframe"} & set(inert(visitor.page))
    expect(visitor.page.locator(CHALLENGE_FRAME)).to_have_js_property("inert", False)
    # The dialog cannot be closed during the bank's challenge.
    visitor.page.keyboard.press("Escape")
    expect(visitor.dialog).to_be_visible()
    visitor.challenge.get_by_role("button", name="Autorizar pago").click()
    visitor.expect_success()


# ---------------------------------------------------------------- tooltips
def expect_tooltip(visitor: Visitor, button: Locator, words: str) -> None:
    page = visitor.page
    page.mouse.move(1, 1)
    expect(page.locator(TOOLTIP)).to_have_count(0)
    point_at(page, button)
    expect(page.locator(TOOLTIP)).to_have_text(words)


def test_close_buttons_of_form_dialogs_and_toasts_have_tooltips(visitor):
    visitor.page.goto("/precios#descuentos")
    visitor.press(visitor.page.get_by_text("Solicitar mi descuento"))
    expect_tooltip(visitor, visitor.dialog.get_by_role("button", name="Cerrar"), "Cerrar")

    visitor.press(visitor.dialog.get_by_role("button", name="Solicitar descuento"))
    cross = visitor.page.get_by_role("button", name="Cerrar aviso")
    # The toast stays while the pointer is on it.
    expect_tooltip(visitor, cross, "Cerrar aviso")
    cross.click()
    expect(visitor.page.locator(".toast")).to_have_count(0)
    pass_time(visitor.page, 900)
    expect(visitor.page.locator(TOOLTIP)).to_have_count(0)


# ---------------------------------------------------------------- the focus
def test_closing_a_dialog_opened_from_the_mobile_menu_focuses_the_menu_button(phone):
    phone.page.goto("/precios")
    menu = phone.page.locator("header summary[aria-label=Menú]")
    item = phone.page.locator("header .menu").get_by_text("Asignatura gratis")
    for _ in range(2):
        phone.press(menu)
        phone.press(item)
        expect(phone.dialog).to_be_visible()
        expect(item).to_be_hidden()
        phone.press(phone.dialog.get_by_role("button", name="Cerrar"))
        expect(phone.dialog).to_have_count(0)
        expect(menu).to_be_focused()


# ---------------------------------------------------------------- toasts on a phone
def expect_uncovered(phone: Visitor, target: Locator) -> None:
    """No toast covers the target, once the toasts and the target have come to rest."""

    def uncovered() -> bool:
        place = target.bounding_box()
        toasts = [toast.bounding_box() for toast in phone.page.locator(".toast").all()]
        assert place
        assert toasts
        return not any(
            toast["y"] < place["y"] + place["height"] and place["y"] < toast["y"] + toast["height"]
            for toast in toasts
            if toast
        )

    wait_until(phone.page, uncovered)


def test_toasts_on_a_phone_cover_neither_the_first_field_nor_the_pay_bar(phone, maths):
    phone.open_catalogue(maths.degree).fill_cart([maths]).open_dialog()
    go_on = phone.dialog.get_by_role("button", name="Continuar")
    for _ in range(3):
        go_on.dispatch_event("click")
        expect(phone.page.locator(".toast")).to_have_count(1)
    expect_uncovered(phone, phone.field("Email"))
    expect_uncovered(phone, go_on)

    phone.fill_contact()
    expect(phone.page.locator(".toast")).to_have_count(0)
    phone.apply_code("NOEXISTE")
    expect(phone.page.locator(".toast")).to_have_count(1)
    expect_uncovered(phone, phone.pay_button())
    expect_uncovered(phone, phone.dialog.get_by_role("heading", name="Tu pedido"))


def test_toasts_on_a_phone_do_not_cover_the_first_field_of_a_form_dialog(phone):
    phone.page.goto("/precios")
    phone.press(phone.page.get_by_text("Solicitar mi descuento"))
    send = phone.dialog.get_by_role("button", name="Solicitar descuento")
    for shown in (1, 2, 3):
        send.dispatch_event("click")
        expect(phone.page.locator(".toast")).to_have_count(shown)
    expect_uncovered(phone, phone.field("Teléfono"))
