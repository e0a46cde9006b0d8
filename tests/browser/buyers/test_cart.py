"""The cart on /compra: choosing subjects and lessons, the cart panel, the floating button."""

import re

from playwright.sync_api import expect

from tests.browser.visitor import expect_ticked, wait_until


def test_select_all_adds_the_complete_subject_and_a_second_click_removes_it(visitor, shelf):
    subject = shelf.put("Cálculo", "200.00", lessons=3)
    visitor.open_catalogue(shelf.degree)
    boxes = visitor.card(subject).get_by_role("checkbox")

    visitor.select_all(subject).click()

    expect_ticked(boxes, True, True, True)
    expect(visitor.card(subject).get_by_text("Completa", exact=True)).to_be_visible()
    expect(visitor.cart.get_by_text("Asignatura completa", exact=True)).to_be_visible()
    expect(visitor.cart_button).to_contain_text("1 artículo")
    visitor.card(subject).get_by_role("button", name="Quitar selección").click()
    expect_ticked(boxes, False, False, False)
    expect(visitor.cart.get_by_text("Aún está vacío")).to_be_visible()
    expect(visitor.cart_button).to_have_count(0)


def test_unticking_one_lesson_of_a_complete_subject_leaves_single_lessons_at_their_price(
    visitor, shelf
):
    subject = shelf.put("Cálculo", "200.00", lessons=3, lesson_price="50.00")
    visitor.open_catalogue(shelf.degree).fill_cart([subject])

    visitor.lesson_box(subject.lessons.get(title="PEC 2")).uncheck()

    expect(visitor.card(subject).get_by_text("Completa", exact=True)).to_have_count(0)
    chosen = visitor.cart.get_by_role("list", name=f"Lecciones elegidas de {subject.name}")
    expect(chosen.get_by_role("paragraph")).to_have_text(["PEC 1", "PEC 3"])
    # Two lessons of 50 € minus 5 % for full payment.
    expect(visitor.cart_button).to_contain_text("2 artículos")
    expect(visitor.cart_button).to_contain_text("95,00 €")


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


def test_lessons_and_subjects_can_be_removed_in_the_cart(visitor, shelf):
    subject = shelf.put("Cálculo", "200.00")
    other = shelf.put("Física", "180.00")
    lessons = list(other.lessons.all())
    visitor.open_catalogue(shelf.degree).fill_cart([subject], lessons)
    cart = visitor.cart

    cart.get_by_role("button", name=f"Quitar PEC 1 de {other.name}").click()
    expect(visitor.lesson_box(lessons[0])).not_to_be_checked()
    expect(visitor.lesson_box(lessons[1])).to_be_checked()
    cart.get_by_role("button", name=f"Quitar {other.name} del carrito").click()
    expect(visitor.lesson_box(lessons[1])).not_to_be_checked()
    expect(cart.get_by_text(other.name)).to_have_count(0)
    cart.get_by_role("button", name=f"Quitar {subject.name} del carrito").click()

    expect(cart.get_by_text("Aún está vacío")).to_be_visible()
    expect(visitor.card(subject).get_by_text("Completa", exact=True)).to_have_count(0)


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


def test_floating_cart_button_is_at_the_bottom_right_and_opens_the_payment_dialog(visitor, shelf):
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


def test_double_click_on_the_cross_of_a_line_removes_no_other_line(visitor, shelf):
    subjects = [shelf.put(name, "200.00") for name in ("Cálculo", "Física", "Química", "Lógica")]
    visitor.open_catalogue(shelf.degree).fill_cart(subjects)
    crosses = re.compile("^Quitar .* del (carrito|pedido)$")
    visitor.cart.get_by_role("button", name=crosses).first.dblclick()
    expect(visitor.cart.get_by_role("button", name=crosses)).to_have_count(3)
    visitor.open_dialog().fill_contact()
    visitor.dialog.get_by_role("button", name=crosses).first.dblclick()
    expect(visitor.dialog.get_by_role("button", name=crosses)).to_have_count(2)


def test_floating_cart_button_below_1088_px_opens_the_cart_one_press_from_the_payment(
    visitor, shelf
):
    subject = shelf.put("Cálculo", "200.00")
    visitor.open_catalogue(shelf.degree).fill_cart([subject])
    visitor.page.set_viewport_size({"width": 1087, "height": 900})
    visitor.cart_button.click()

    expect(visitor.dialog.get_by_role("heading", name="Tu carrito")).to_be_focused()
    expect(visitor.dialog.get_by_text(subject.name)).to_be_visible()
    visitor.dialog.get_by_role("button", name="Ir a pagar").click()
    expect(visitor.dialog.get_by_role("heading", name="Tus datos")).to_be_visible()


def test_cart_changes_are_announced_to_screen_readers(visitor, shelf):
    subject = shelf.put("Cálculo", "200.00")
    visitor.open_catalogue(shelf.degree).fill_cart([subject])

    status = visitor.page.get_by_role("status").filter(has_text=re.compile("^Carrito:"))
    expect(status).to_have_text("Carrito: 1 artículo, total 190,00 €")
