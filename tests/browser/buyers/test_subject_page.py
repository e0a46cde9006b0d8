"""The page of a subject: reached from its card, and bought from without leaving it."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.records import only_order
from tests.browser.visitor import HeldRequests

pytestmark = pytest.mark.usefixtures("money_adds_up")


def test_lesson_pressed_while_the_page_prepares_its_form_is_ticked(visitor, shelf):
    subject = shelf.put("Cálculo", "130.00", lessons=3)
    page = visitor.page
    page.goto(subject.page_path)
    box = page.get_by_role("checkbox", name="PEC 2")
    island = page.locator("[data-island=subject]")
    box.scroll_into_view_if_needed()
    frame = box.bounding_box()
    assert frame

    # The press itself loads the code, which is there long before the button is released.
    page.mouse.move(frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2)
    page.mouse.down()
    page.wait_for_load_state("networkidle")
    expect(island).not_to_have_attribute("data-mounted", "")
    page.mouse.up()

    expect(island).to_have_attribute("data-mounted", "")
    expect(box).to_be_checked()
    expect(page.locator(".buy__total")).to_contain_text("47,50 €")


def test_total_of_lessons_is_not_shown_before_the_script_has_summed_it(visitor, shelf):
    subject = shelf.put("Cálculo", "130.00", lessons=3)
    page = visitor.page
    held = HeldRequests(page, "**/subject-*.js")
    page.goto(subject.page_path)
    total = page.locator(".buy__total strong")
    expect(total).to_be_visible()
    visitor.tick(page.get_by_role("checkbox", name="PEC 2"))
    # The server's total is that of the complete subject.
    expect(total).to_be_hidden()
    held.release()
    expect(total).to_be_visible()
    expect(total).to_have_text("47,50 €")


def test_keyboard_keeps_its_place_while_the_page_prepares_its_form(visitor, shelf):
    subject = shelf.put("Cálculo", "130.00", lessons=3)
    page = visitor.page
    held = HeldRequests(page, "**/subject-*.js")
    page.goto(subject.page_path)
    island = page.locator("[data-island=subject]")
    for control in (
        page.get_by_role("radio", name="Lecciones sueltas"),
        page.get_by_role("checkbox", name="PEC 2"),
    ):
        control.focus()
        page.keyboard.press("Space")
    held.release()
    expect(island).to_have_attribute("data-mounted", "")
    expect(page.get_by_role("checkbox", name="PEC 2")).to_be_focused()
    expect(page.get_by_role("checkbox", name="PEC 2")).to_be_checked()
    # With nothing ticked, Enter leads to what is missing.
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(visitor.toast("Marca al menos una lección")).to_be_visible()
    expect(page.get_by_role("checkbox", name="PEC 1")).to_be_focused()


def test_lessons_are_bought_on_the_page_of_a_subject(visitor, shelf):
    subject = shelf.put("Cálculo", "130.00", lessons=3)
    page = visitor.page
    visitor.open_catalogue(shelf.degree)
    link = visitor.card(subject).get_by_role("link", name="Ver más")
    expect(link).to_have_attribute("href", subject.page_path)

    scripts: list[str] = []
    page.on(
        "response",
        lambda answer: (
            scripts.append(urlsplit(answer.url).path) if answer.url.endswith(".js") else None
        ),
    )
    page.goto(subject.page_path)
    expect(page.get_by_text("Ahorras 20,00 €")).to_be_visible()
    # Before the first interaction the page loads the loader only.
    assert [re.sub(r"-\w{8}\.", ".", path.rpartition("/")[2]) for path in scripts] == ["main.js"]
    total = page.locator(".buy__total")
    expect(total).to_contain_text("123,50 €")
    for lesson in ("PEC 2", "PEC 3"):
        visitor.tick(page.get_by_role("checkbox", name=lesson))
    expect(page.get_by_role("radio", name="Lecciones sueltas")).to_be_checked()
    expect(total).to_contain_text("95,00 €")
    others = page.get_by_role("link", name="Añadir otras asignaturas")
    expect(others).to_have_attribute("href", re.compile(r"leccion=\d+&leccion=\d+$"))
    visitor.assert_accessible()

    page.get_by_role("button", name="Comprar ahora").click()
    visitor.fill_contact().buy("95,00").expect_success()
    titles = only_order(visitor.email).lines.values_list("lesson__title", flat=True)
    assert sorted(titles) == ["PEC 2", "PEC 3"]

    page.goto(f"{subject.page_path}")
    visitor.tick(page.get_by_role("checkbox", name="PEC 1"))
    others.click()
    visitor.wait_for_catalogue()
    expect(visitor.cart.get_by_text("PEC 1")).to_be_visible()


def test_first_tap_on_the_buy_button_opens_the_dialog(phone, shelf):
    subject = shelf.put("Álgebra", "200.00")
    phone.page.goto(subject.page_path)
    phone.assert_accessible()
    phone.press(phone.page.get_by_role("button", name="Comprar ahora"))
    phone.fill_contact()
    expect(phone.pay_button("190,00")).to_be_visible()
    assert urlsplit(phone.page.url).path == subject.page_path


def test_form_opens_the_catalogue_if_the_island_cannot_be_loaded(visitor, shelf):
    subject = shelf.put("Geometría", "200.00")
    page = visitor.page
    visitor.watch.expect("subject-")
    page.route("**/subject-*.js", lambda route: route.abort())
    page.goto(subject.page_path)
    page.get_by_role("button", name="Comprar ahora").click()
    visitor.wait_for_catalogue()
    expect(visitor.cart.get_by_text(subject.name)).to_be_visible()
