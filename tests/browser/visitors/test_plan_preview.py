"""The plan preview on /servicios."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.visitor import Visitor, next_frame

ITEMS = ["PEC 1", "PEC 2", "PEC 3", "PEC 4", "PEC 5", "EXAMEN"]
NOTICE = (
    "Disponible únicamente una vez iniciado el curso. Las PECs individuales solo están "
    "disponibles para determinadas asignaturas."
)


@pytest.fixture
def preview(visitor):
    visitor.page.goto("/servicios")
    expect(visitor.page.locator("[data-island=plan-preview][data-mounted]")).to_be_attached()
    return visitor.page.locator("[data-island=plan-preview]")


def item(preview: Locator, name: str) -> Locator:
    return preview.locator(".preview__item", has_text=name)


def block(preview: Locator, title: str) -> Locator:
    return preview.locator(".preview__block").filter(
        has=preview.page.get_by_role("heading", name=title)
    )


def full(visitor: Visitor, preview: Locator) -> Locator:
    visitor.press(preview.get_by_role("tab", name="Asignatura Completa"))
    expect(preview.get_by_role("tabpanel", name="Asignatura Completa")).to_be_visible()
    return preview


def test_clicking_an_accessible_item_toggles_it_and_clears_the_chosen_content(visitor, preview):
    # The individual plan opens PEC 1, with the sample lesson.
    chosen = preview.get_by_role("figure")
    expect(chosen).to_contain_text("La demanda de un libro")
    expect(item(preview, "EXAMEN")).to_contain_text("Desbloquear")
    expect(item(preview, "EXAMEN")).to_have_attribute("aria-disabled", "true")
    full(visitor, preview)
    expect(item(preview, "PEC 2")).to_have_attribute("aria-pressed", "true")
    for words in (NOTICE, "Desbloquear", "Bloqueado"):
        expect(preview.get_by_text(words)).to_have_count(0)
    visitor.press(block(preview, "Documentos").get_by_role("button").first)
    expect(chosen).to_contain_text("Así lo verás en la plataforma")
    visitor.press(item(preview, "PEC 1"))
    visitor.press(block(preview, "Ejercicios tipo test").get_by_role("button"))
    visitor.press(chosen.locator("summary").first)
    expect(chosen.get_by_text("Aumenta: la curva se desplaza a la derecha").last).to_be_visible()
    visitor.assert_accessible()

    visitor.press(item(preview, "PEC 3"))
    expect(preview.get_by_role("heading", name="PEC 3 ")).to_be_visible()
    expect(chosen).to_have_count(0)
    visitor.press(item(preview, "PEC 3"))
    expect(preview.get_by_role("heading", name="PEC 3 ")).to_have_count(0)
    expect(preview.get_by_text("Elige una PEC de la lista para ver su contenido.")).to_be_visible()


def test_plan_tabs_move_with_the_arrow_keys(visitor, preview):
    tabs = preview.get_by_role("tab")
    tabs.first.focus()
    visitor.page.keyboard.press("ArrowRight")
    expect(tabs.last).to_be_focused()
    expect(tabs.last).to_have_attribute("aria-selected", "true")
    expect(tabs.first).to_have_attribute("tabindex", "-1")
    visitor.page.keyboard.press("ArrowRight")
    expect(tabs.first).to_be_focused()


def test_plan_preview_can_be_read_without_javascript(new_visitor):
    reader = new_visitor(java_script_enabled=False)
    reader.page.goto("/servicios")
    main = reader.page.locator("main")
    for words in (NOTICE, "EXAMEN", "50 preguntas", "35:00"):
        expect(main).to_contain_text(words)
    expect(main).to_contain_text("artículo 270 del Código Penal")
    expect(main).to_contain_text("hasta cuatro años de prisión")


def test_mounting_the_plan_preview_shifts_no_layout(visitor):
    visitor.page.add_init_script(
        """window.shifts = [];
        new PerformanceObserver((list) => {
          for (const { value, hadRecentInput } of list.getEntries())
            if (!hadRecentInput) window.shifts.push(value);
        }).observe({ type: "layout-shift", buffered: true });"""
    )
    visitor.page.goto("/servicios")
    expect(visitor.page.locator("[data-island=plan-preview][data-mounted]")).to_be_attached()
    next_frame(visitor.page)
    shifted = visitor.page.evaluate("window.shifts.reduce((sum, value) => sum + value, 0)")
    assert shifted < 0.01
