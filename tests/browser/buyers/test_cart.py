"""The cart on /compra: choosing subjects and lessons, the cart panel, the floating button."""

import re

from playwright.sync_api import expect

from tests.browser.visitor import wait_until


def test_cart_shows_volume_and_full_payment_discounts_total_and_instalments_with_2_decimals(
    visitor, shelf
):
    subjects = [shelf.put(name, "200.00") for name in ("Cálculo", "Física")]
    single = shelf.put("Química", "150.00", lesson_price="50.00").lessons.get(title="PEC 1")

    visitor.open_catalogue(shelf.degree).fill_cart(subjects, [single])

    rows = visitor.cart.locator("dl > div")
    expect(rows).to_have_text(
        [
            "Subtotal450,00 €",
            "Descuento por volumen−15,00 €",
            "Pago completo (5 %)−22,50 €",
            "Total412,50 €",
        ]
    )
    # Instalments are without the 5 % discount: 435 ÷ 3.
    expect(visitor.cart.get_by_text("O en 3 pagos de 145,00 €, sin intereses.")).to_be_visible()
    expect(visitor.cart_button).to_contain_text("3 artículos")
    expect(visitor.cart_button).to_contain_text("412,50 €")
    status = visitor.page.get_by_role("status").filter(has_text=re.compile("^Carrito:"))
    expect(status).to_have_text("Carrito: 3 artículos, total 412,50 €")
    visitor.cart.get_by_role("button", name=f"Quitar {subjects[0].name} del carrito").click()
    expect(status).to_have_text(re.compile("^Carrito: 2 artículos"))
    # The pressed button is gone.
    expect(visitor.cart.get_by_role("group", name="Tu compra")).to_be_focused()


def test_cart_is_kept_when_filters_and_pages_change_and_lost_on_reload(visitor, shelf):
    subject = shelf.put("Cálculo", "200.00")
    visitor.open_catalogue(shelf.degree).fill_cart([subject])

    visitor.page.get_by_role("button", name="Limpiar filtros").click()
    expect(visitor.cards).to_have_count(9)
    visitor.page.get_by_role("button", name="Siguiente").click()
    expect(visitor.cart.get_by_text(subject.name)).to_be_visible()

    visitor.page.reload()
    visitor.wait_for_catalogue()
    expect(visitor.cart.get_by_text("Aún está vacío")).to_be_visible()
    expect(visitor.cart_button).to_have_count(0)


def test_floating_cart_button_is_at_the_bottom_right_and_opens_the_cart_below_1088_px(
    visitor, shelf
):
    subject = shelf.put("Cálculo", "200.00")
    visitor.open_catalogue(shelf.degree).fill_cart([subject])

    def at_the_bottom_right() -> bool:
        place = visitor.cart_button.bounding_box()
        assert place is not None
        return (
            place["x"] > 1440 / 2
            and 1440 * 0.9 < place["x"] + place["width"] <= 1440
            and 900 * 0.9 < place["y"] + place["height"] <= 900
        )

    wait_until(visitor.page, at_the_bottom_right)
    visitor.page.set_viewport_size({"width": 1088, "height": 900})
    visitor.cart_button.click()
    expect(visitor.dialog.get_by_role("heading", name="Tus datos")).to_be_visible()
    visitor.page.keyboard.press("Escape")
    visitor.page.set_viewport_size({"width": 1087, "height": 900})
    visitor.cart_button.click()
    expect(visitor.dialog.get_by_role("heading", name="Tu carrito")).to_be_focused()
    visitor.dialog.get_by_role("button", name="Ir a pagar").click()
    expect(visitor.dialog.get_by_role("heading", name="Tus datos")).to_be_visible()


def test_double_click_on_the_cross_of_a_line_removes_no_other_line(visitor, shelf):
    subjects = [shelf.put(name, "200.00") for name in ("Cálculo", "Física", "Química", "Lógica")]
    visitor.open_catalogue(shelf.degree).fill_cart(subjects)
    crosses = re.compile("^Quitar .* del (carrito|pedido)$")
    visitor.cart.get_by_role("button", name=crosses).first.dblclick()
    expect(visitor.cart.get_by_role("button", name=crosses)).to_have_count(3)
    visitor.open_dialog().fill_contact()
    visitor.dialog.get_by_role("button", name=crosses).first.dblclick()
    expect(visitor.dialog.get_by_role("button", name=crosses)).to_have_count(2)
