"""Search in the header of every page: suggestions by keyboard, and the page of results."""

from playwright.sync_api import expect

from tests.browser.records import Shelf
from tests.browser.visitor import Visitor


def test_search_suggests_pages_by_keyboard_despite_typos(visitor: Visitor, shelf: Shelf) -> None:
    subject = shelf.put("Oceanografía física", "200.00")
    page = visitor.page
    page.goto("/precios")
    page.get_by_label("Buscar asignaturas").click()
    field = page.get_by_role("combobox", name="Asignatura, grado o universidad")
    expect(field).to_be_focused()
    field.press_sequentially("ocenaografia")
    option = page.get_by_role("option", name=subject.name)
    expect(option).to_be_visible()
    visitor.assert_accessible()
    field.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", "sugerencia-0")
    field.press("Escape")
    expect(option).to_be_hidden()
    expect(field).to_be_visible()
    field.fill("oceanografia")
    expect(option).to_be_visible()
    field.press("ArrowUp")
    field.press("Enter")
    page.wait_for_url(f"**{subject.page_path}")


def test_nothing_found_leads_to_the_request_of_a_subject(phone: Visitor) -> None:
    page = phone.page
    page.goto("/")
    phone.press(page.get_by_label("Buscar asignaturas"))
    page.get_by_role("combobox", name="Asignatura, grado o universidad").fill("zzzzzzzz")
    phone.press(page.get_by_role("option", name="No encontramos «zzzzzzzz»"))
    page.wait_for_url("**/buscar?q=zzzzzzzz")
    expect(page.get_by_text("No se encontraron asignaturas")).to_be_visible()
    phone.assert_accessible()
    phone.press(page.get_by_text("¿No encuentras tu asignatura?"))
    expect(page.get_by_role("link", name="Solicitar asignatura")).to_be_visible()
