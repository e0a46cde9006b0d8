"""A slow network, or none: feedback before any answer, sentences of their own, and a retry.

`make bench` measures how many milliseconds the feedback takes.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import HeldRequests, next_frame, settled, wait_until


def test_buy_button_of_a_subject_is_busy_at_once(phone, shelf):
    subject = shelf.put("Física", "200.00")
    page = phone.page
    held = HeldRequests(page, "**/subject-*.js")
    page.goto(subject.page_path)
    button = page.get_by_role("button", name="Comprar ahora")
    # The island's code is not there yet.
    phone.press(button)
    expect(button).to_have_attribute("aria-busy", "true")
    held.release()
    expect(phone.dialog.get_by_role("heading", name="Tus datos")).to_be_visible()
    page.keyboard.press("Escape")
    expect(button).not_to_have_attribute("aria-busy", "true")


def test_choices_before_the_catalogue_is_loaded_are_in_the_cart(phone, shelf):
    whole, single, further = (shelf.put(name, "200.00", lessons=2) for name in ("A", "B", "C"))
    page = phone.page
    phone.watch.expect("catalogue-")
    failing = HeldRequests(page, "**/catalogue-*.js")
    opened = shelf.put("D", "200.00", lessons=2)
    link = f"codigo=ANA&asignatura={opened.pk}&leccion={opened.lessons.first().pk}"
    page.goto(f"/compra?carrera={shelf.degree.pk}&{link}")
    phone.press(phone.select_all(whole))
    expect(phone.select_all(whole)).to_have_attribute("aria-busy", "true")
    # If the code can't be loaded, the server answers the press: the next page has the choice.
    held = HeldRequests(page, "**/catalogue-*.js")
    failing.first().abort()
    page.wait_for_url(f"**/compra?universidad=*&asignatura={whole.pk}")
    phone.tick(phone.lesson_box(single.lessons.first()))
    phone.select_all(further).focus()
    page.keyboard.press("Enter")
    expect(phone.cart_button).to_have_count(0)
    held.release()
    expect(phone.cart_button).to_contain_text("Ver carrito · 4 ·")
    # What the first page's link named is chosen, too, and its code stays in the address.
    expect(phone.lesson_box(opened.lessons.first())).to_be_checked()
    expect(phone.lesson_box(opened.lessons.last())).not_to_be_checked()
    expect(page).to_have_url(re.compile(r"[?&]codigo=ANA&"))
    expect(phone.lesson_box(single.lessons.first())).to_be_checked()
    expect(phone.lesson_box(single.lessons.last())).not_to_be_checked()
    expect(page.get_by_role("button", name="Quitar selección: C")).to_be_focused()


FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint').length > 0"
RECORD_SHIFTS = """window.shifts = [];
new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value }) => value)))
  .observe({ type: "layout-shift", buffered: true });"""
# Good is a sum of less than 0.1 in all (https://web.dev/articles/cls).
MOVED_BY_FONT = 0.05


@pytest.mark.parametrize("path", ["/", "/compra"])
def test_font_that_comes_late_moves_little(phone, path):
    page = phone.page
    page.add_init_script(RECORD_SHIFTS)
    held = HeldRequests(page, "**/*.woff2")
    page.goto(path, wait_until="domcontentloaded")
    wait_until(page, lambda: page.evaluate(FIRST_PAINT))
    before = page.evaluate("shifts.length")
    held.release()
    settled(page, "() => document.fonts.ready.then(() => undefined)")
    next_frame(page)
    assert page.evaluate("document.fonts.check(`1rem 'Figtree Variable'`)")
    assert sum(page.evaluate("shifts")[before:]) < MOVED_BY_FONT


def test_filters_answer_at_once_and_a_slow_answer_has_a_sentence(visitor, shelf):
    shelf.put("Química", "200.00")
    page = visitor.page
    visitor.open_catalogue()
    held = HeldRequests(page, "**/api/catalogue?*")
    page.get_by_label("Carrera").select_option(str(shelf.degree.pk))
    expect(page.locator("[aria-busy=true]")).not_to_have_count(0)
    expect(page.locator(".subject--skeleton")).to_have_count(6)
    notice = page.get_by_text("Tu conexión va lenta. Seguimos cargando las asignaturas.")
    expect(notice).to_be_visible()
    page.get_by_role("button", name="Volver a intentarlo").click()
    # The retry gives the first request up. Without a route, held requests go on.
    wait_until(page, lambda: len(held) == 2)
    page.unroute("**/api/catalogue?*")
    expect(visitor.cards).to_have_count(1)
    expect(notice).to_have_count(0)


def test_catalogue_without_connection_says_so_and_tries_again(visitor, shelf):
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
def test_payment_that_can_not_be_opened_keeps_the_cart(visitor, shelf, online):
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


def test_payment_does_not_open_over_a_cart_that_was_closed_while_it_loaded(phone, shelf):
    subject = shelf.put("Retórica", "200.00")
    held = HeldRequests(phone.page, "**/PaymentDialog-*.js")
    phone.open_catalogue(shelf.degree).fill_cart([subject])
    phone.press(phone.cart_button)
    phone.press(phone.dialog.get_by_role("button", name="Ir a pagar"))
    expect(phone.cart_button).to_have_attribute("aria-busy", "true")
    phone.press(phone.dialog.get_by_role("button", name="Cerrar"))
    held.release()
    expect(phone.cart_button).not_to_have_attribute("aria-busy", "true")
    expect(phone.dialog).to_have_count(0)
