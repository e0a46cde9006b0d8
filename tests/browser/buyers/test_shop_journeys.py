"""Journeys through the shop that check many small things which buyers stumble over."""

import re
from typing import Any

from playwright.sync_api import Locator, expect

from apps.catalogue.models import Subject
from tests.browser.records import Shelf, only_order
from tests.browser.visitor import expect_to_fit, set_text_size, wait_until


def whole_in_view(target: Locator) -> None:
    """The target is in the window, and nothing covers its middle or its corners."""
    expect(target).to_be_in_viewport(ratio=1)
    covered = """element => {
             const { left, right, top, bottom } = element.getBoundingClientRect();
             const points = [[left + 6, top + 6], [right - 6, top + 6], [left + 6, bottom - 6],
               [right - 6, bottom - 6], [(left + right) / 2, (top + bottom) / 2]];
             return points.some(([x, y]) => !element.contains(document.elementFromPoint(x, y)));
           }"""
    wait_until(target.page, lambda: not target.evaluate(covered))


def expect_apart(one: Locator, other: Locator) -> None:
    """Neither covers a part of the other, once both have come to rest."""

    def apart() -> bool:
        a, b = one.bounding_box(), other.bounding_box()
        assert a
        assert b
        return (
            a["x"] >= b["x"] + b["width"]
            or b["x"] >= a["x"] + a["width"]
            or a["y"] >= b["y"] + b["height"]
            or b["y"] >= a["y"] + a["height"]
        )

    wait_until(one.page, apart)


def lessons_dearer_than(shelf: Shelf, whole: str) -> Subject:
    """A subject whose lessons cost 60 € each."""
    return shelf.put("Álgebra", whole, lesson_price="60.00")


def test_on_a_phone_from_the_cart_to_a_price_that_changes(phone, shelf):
    phone.watch.expect(r"status of 409.*/api/process-checkout")
    page, dialog = phone.page, phone.dialog
    maths, physics = shelf.put("Cálculo", "200.00"), shelf.put("Física", "180.00")

    # The floating button opens the cart; the browser's Back closes it, and the shop stays.
    phone.open_catalogue(shelf.degree, "por_pagina=todas").fill_cart([maths, physics])
    expect_to_fit(page)
    expect(phone.cart_button).to_have_text(re.compile(r"^Ver carrito · 2\s*· 346,00\s€$"))
    phone.press(phone.cart_button)
    expect(dialog.get_by_role("heading", name="Tu carrito")).to_be_focused()
    page.go_back()
    expect(dialog).to_have_count(0)
    expect(phone.cart_button).to_be_focused()

    # Step 1 asks about a mistyped address, and moves a typed country prefix to its field.
    phone.open_dialog()
    phone.field("Email").fill("ana@gmial.con")
    phone.field("Teléfono").press_sequentially("+34 600 123 123")
    expect(phone.field("Prefijo")).to_have_value("34")
    expect(phone.field("Teléfono")).to_have_value("600123123")
    phone.tick(phone.terms)
    phone.tick(phone.privacy)
    phone.press(dialog.get_by_role("button", name="Continuar"))
    expect(dialog.get_by_role("button", name="Sí, corregirlo")).to_be_focused()
    phone.press(dialog.get_by_role("button", name="Sí, corregirlo"))
    expect(phone.field("Email")).to_have_value("ana@gmail.com")
    phone.field("Email").fill(phone.email)
    phone.press(dialog.get_by_role("button", name="Continuar"))

    # Step 2 begins at its top, with the whole pay bar, and shows where the access will be sent.
    phone.expect_step_2()
    expect(dialog.locator(".modal__body")).to_have_js_property("scrollTop", 0)
    whole_in_view(dialog.locator(".pay-bar__pay"))
    whole_in_view(dialog.locator(".pay-bar__meaning"))
    phone.press(dialog.get_by_role("button", name="Cambiar el email"))
    expect(phone.field("Email")).to_be_focused()
    phone.press(dialog.get_by_role("button", name="Continuar"))
    phone.expect_step_2()

    # A toast leaves with its step, a touch does not hold it, and it covers no button or message.
    phone.apply_code("NADA")
    toast = page.get_by_role("region", name="Avisos").locator(".toast")
    message = dialog.get_by_text("Este código no existe").first
    expect(toast).to_be_visible()
    expect(message).to_be_visible()
    expect_apart(toast, message)
    expect_apart(toast, dialog.locator(".pay-bar"))
    toast.dispatch_event("pointerenter", {"pointerType": "touch"})
    phone.press(dialog.get_by_role("button", name=f"Quitar {physics.name} del pedido"))
    expect(dialog.get_by_role("heading", name="Tu pedido")).to_be_focused()
    phone.tick_boxes()
    expect(toast).to_have_count(0)

    # The new price is brought into view, and another press of the button does not accept it.
    maths.final_price = 210
    maths.save()
    checkouts = phone.responses_of("/api/process-checkout")
    phone.press(phone.pay_button("190,00 €"))
    notice = dialog.get_by_role("alert").filter(has_text="El precio ha cambiado.")
    expect(notice).to_be_in_viewport(ratio=1)
    expect(notice).to_be_focused()
    pay = phone.pay_button("199,50 €")
    dialog.get_by_role("heading", name="Resumen y pago").focus()
    pay.dispatch_event("click")
    expect(notice).to_be_focused()
    assert len(checkouts) == 1
    phone.accept_price("199,50 €").open_card_form("199,50 €")

    # Back goes to step 1 with what was typed there, then closes the dialog; the cart is as it was.
    page.go_back()
    expect(dialog.get_by_role("heading", name="Tus datos")).to_be_focused()
    expect(phone.field("Email")).to_have_value(phone.email)
    expect(phone.terms).to_be_checked()
    phone.press(dialog.get_by_role("button", name="Continuar"))
    phone.expect_step_2()
    expect(phone.adult).to_be_checked()
    page.go_back()
    expect(dialog.get_by_role("heading", name="Tus datos")).to_be_focused()
    page.go_back()
    expect(dialog).to_have_count(0)
    expect(phone.cart_button).to_contain_text("199,50 €")


def test_on_a_wide_screen_from_single_lessons_to_the_saved_order(visitor, shelf):
    page, dialog = visitor.page, visitor.dialog
    algebra = lessons_dearer_than(shelf, "120.00")

    # Two lessons cost as much as the whole subject: one press takes the whole.
    visitor.open_catalogue(shelf.degree).fill_cart([], algebra.lessons.all()[:2])
    card = visitor.card(algebra)
    for place in (card, visitor.cart):
        expect(place.get_by_role("status")).to_contain_text("lo mismo que estas lecciones")
    take_whole = re.compile("^Cambiar a la asignatura completa")
    visitor.press(card.get_by_role("button", name=take_whole))
    expect(visitor.cart).to_contain_text("Asignatura completa")
    expect(card.get_by_role("status")).to_have_count(0)

    # The cart has its own button, and emptying it can be undone.
    visitor.press(visitor.cart.get_by_role("button", name="Vaciar carrito"))
    emptied = visitor.toast("Carrito limpiado", "Se han eliminado todos los elementos del carrito")
    expect(emptied).to_be_visible()
    expect(visitor.cart.get_by_text("Has vaciado tu carrito.")).to_be_visible()
    expect(visitor.cart_button).to_have_count(0)
    visitor.press(visitor.cart.get_by_role("button", name="Deshacer"))
    visitor.press(visitor.cart.get_by_role("button", name="Ir a pagar"))
    visitor.fill_contact()

    # In a low window and at 200 % the pay bar can be seen whole.
    for width, height in ((844, 390), (720, 450)):
        page.set_viewport_size({"width": width, "height": height})
        bar = dialog.locator(".pay-bar")
        bar.scroll_into_view_if_needed()
        whole_in_view(dialog.locator(".pay-bar__pay"))
        whole_in_view(dialog.locator(".pay-bar__meaning"))
    page.set_viewport_size({"width": 320, "height": 640})
    set_text_size(page, 32)
    whole_in_view(dialog.get_by_role("button", name="Cerrar"))
    set_text_size(page, 16)
    page.set_viewport_size({"width": 1440, "height": 900})

    # The card form gets the focus. A script that does not load is no matter of addresses.
    visitor.tick_boxes().open_card_form("114,00 €")
    expect(page.get_by_role("group", name="Datos del pago")).to_be_focused()
    assert only_order(visitor.email).total_cents == 11_400
    page.keyboard.press("Escape")
    expect(visitor.cart_button).to_be_focused()
    expect(page).to_have_url(re.compile(rf"\?carrera={shelf.degree.pk}$"))
    page.wait_for_function("!history.state?.dialog")


def test_nothing_keeps_shop_and_calculator_out_of_the_back_forward_cache(visitor, shelf):
    """So Back and Forward find cart and calculator as they were.

    The headless Chromium has no such cache, but it says for each page what would be in the way.
    """
    page = visitor.page
    reasons: list[str] = []

    def note(event: dict[str, Any]) -> None:
        reasons.extend(
            found["reason"]
            for found in event["notRestoredExplanations"]
            if found["type"] != "Circumstantial"  # Such as: the browser has no cache.
        )

    chromium = page.context.new_cdp_session(page)
    chromium.send("Page.enable")
    asked = []
    chromium.on("Page.backForwardCacheNotUsed", lambda event: (asked.append(1), note(event)))
    maths = shelf.put("Cálculo", "200.00")
    visitor.open_catalogue(shelf.degree).fill_cart([maths]).open_dialog()
    page.keyboard.press("Escape")
    expect(visitor.dialog).to_have_count(0)
    # The dialog's entry leaves the history a moment later, which would end a navigation.
    page.wait_for_function("!history.state?.dialog")

    page.goto("/precios#calculadora")
    calculator = page.locator("[data-island=calculator][data-mounted]")
    expect(calculator).to_be_attached()
    page.goto("/nosotros")
    page.go_back()
    expect(calculator).to_be_attached()
    page.go_back()
    visitor.wait_for_catalogue()

    wait_until(page, lambda: len(asked) == 2)
    assert reasons == []
