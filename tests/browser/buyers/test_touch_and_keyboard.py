"""A complete purchase by touch on a small screen, and by keyboard only."""

import re

import pytest
from playwright.sync_api import expect

from apps.orders.models import Order
from tests.browser.records import only_order
from tests.browser.visitor import (
    CHALLENGED_CARD,
    GOOD_CARD,
    HeldRequests,
    expect_to_fit,
    tab_to,
    wait_until,
)

COMPLETION = "**/api/complete-payment"


@pytest.fixture
def subjects(shelf):
    return [shelf.put("Cálculo", "200.00"), shelf.put("Física", "180.00")]


def test_purchase_by_touch_on_a_screen_of_390_px(phone, shelf, subjects, email):
    page = phone.page
    page.goto("/")
    page.get_by_role("main").get_by_role("link", name="Compra asignaturas").first.tap()
    phone.wait_for_catalogue()
    page.get_by_label("Buscar asignatura", exact=True).fill(str(shelf.degree.pk))
    phone.fill_cart([subjects[0]], [subjects[1].lessons.get(title="PEC 1")])
    # 250 € minus 5 %.
    expect(phone.cart_button).to_contain_text("237,50 €")
    expect_to_fit(page)

    phone.open_dialog().fill_contact().apply_code("BIENVENIDA10")
    phone.buy("213,75 €", CHALLENGED_CARD)
    phone.challenge.get_by_role("button", name="Autorizar pago").tap()

    phone.expect_success()
    expect_to_fit(page)
    order = only_order(email)
    assert (order.status, order.total_cents) == (Order.Status.PAID, 21_375)


def test_second_tap_of_a_double_tap_presses_nothing_else(phone, shelf, subjects):
    subjects.append(shelf.put("Óptica", "150.00"))
    phone.open_catalogue(shelf.degree)
    for subject in subjects:
        phone.tap_twice(phone.select_all(subject))
    expect(phone.cart_button).to_contain_text("Ver carrito · 3")
    phone.tap_twice(phone.cart_button)
    lines = phone.dialog.locator(".cart__line")
    phone.tap_twice(phone.dialog.get_by_role("button", name=re.compile("^Quitar")).first)
    expect(lines).to_have_count(2)
    # The page under the dialog is inert: its own status would say nothing.
    expect(phone.dialog.get_by_role("status")).to_have_text(re.compile("^Carrito: 2 artículos"))
    expect(phone.dialog.get_by_role("heading", name="Tu carrito")).to_be_visible()


def test_touch_targets_of_the_dialog_are_large_enough(phone, subjects):
    def small() -> list[str]:
        return [
            f"{target.inner_text()}: {place['height']:.0f}"
            for role in ("button", "textbox")
            for target in phone.dialog.get_by_role(role).all()
            if (place := target.bounding_box()) and round(place["height"]) < 44
        ]

    phone.open_catalogue(subjects[0].degree).fill_cart(subjects).open_dialog()
    wait_until(phone.page, lambda: not small())
    phone.fill_contact()
    wait_until(phone.page, lambda: not small())


def test_purchase_by_keyboard_only(visitor, shelf, subjects, email):
    keyboard = visitor.page.keyboard
    visitor.page.goto("/compra")
    visitor.wait_for_catalogue()
    keyboard.press("Tab")
    expect(visitor.page.get_by_role("link", name="Saltar al contenido")).to_be_focused()
    keyboard.press("Enter")

    tab_to(visitor, visitor.page.get_by_label("Buscar asignatura", exact=True))
    keyboard.type(subjects[0].name)
    expect(visitor.cards).to_have_count(1)
    tab_to(visitor, visitor.select_all(subjects[0]))
    keyboard.press("Enter")
    tab_to(visitor, visitor.page.get_by_label("Buscar asignatura", exact=True), "Shift+Tab")
    keyboard.press("Control+a")
    keyboard.type(subjects[1].name)
    lesson = visitor.lesson_box(subjects[1].lessons.get(title="PEC 2"))
    expect(lesson).to_be_visible()
    tab_to(visitor, lesson)
    keyboard.press("Space")
    expect(visitor.cart_button).to_contain_text("2 artículos")
    stops = tab_to(visitor, visitor.page.get_by_role("button", name="Ir a pagar").first)
    assert stops < 12
    keyboard.press("Enter")

    expect(visitor.dialog.get_by_role("heading", name="Tus datos")).to_be_focused()
    tab_to(visitor, visitor.field("Email"))
    keyboard.type(email)
    tab_to(visitor, visitor.field("Teléfono"))
    keyboard.type("600123123")
    for box in (visitor.terms, visitor.privacy):
        tab_to(visitor, box)
        # Without the attribute, a required box that nobody has touched is read as wrong.
        expect(box).to_have_attribute("aria-invalid", "false")
        keyboard.press("Space")
    keyboard.press("Enter")  # Enter sends the form from any of its fields.

    expect(visitor.dialog.get_by_role("heading", name="Resumen y pago")).to_be_focused()
    spoken = visitor.dialog.locator("[aria-live=polite][aria-atomic=true]")
    expect(spoken).to_have_text(["Paso 2 de 2", re.compile(r"^Total .*237,50\s€$")])
    tab_to(visitor, visitor.field("Código promocional"))
    keyboard.type("bienvenida10")
    keyboard.press("Enter")
    expect(visitor.pay_button("213,75 €")).to_be_attached()
    expect(spoken.last).to_have_text(re.compile(r"^Total .*213,75\s€$"))
    for box in (visitor.adult, visitor.waiver):
        tab_to(visitor, box)
        keyboard.press("Space")
    tab_to(visitor, visitor.pay_button())
    keyboard.press("Enter")
    visitor.expect_card_form()
    # The focus follows the card form.
    expect(visitor.page.get_by_role("group", name="Datos del pago")).to_be_focused()
    tab_to(visitor, visitor.card_form.get_by_label("Número de tarjeta"))
    keyboard.type(GOOD_CARD)
    expect(visitor.card_form.get_by_label("Fecha de caducidad")).to_be_focused()
    keyboard.type("1234")
    expect(visitor.card_form.get_by_label("CVC")).to_be_focused()
    keyboard.type("123")
    tab_to(visitor, visitor.pay_button())
    completion = HeldRequests(visitor.page, COMPLETION)
    keyboard.press("Enter")
    completion.first()
    expect(visitor.dialog.get_by_role("status").filter(has_text="Procesando")).to_be_attached()
    completion.release()
    visitor.page.unroute(COMPLETION)  # The success page asks there, too.

    visitor.expect_success()
    assert only_order(email).status == Order.Status.PAID
