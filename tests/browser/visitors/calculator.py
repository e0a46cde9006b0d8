"""The budget calculator on home and /precios, as a page object."""

import re

from playwright.sync_api import Locator, expect

from apps.catalogue.models import Subject
from tests.browser.records import Shelf
from tests.browser.visitor import Visitor

SENT = "¡Presupuesto enviado a tu email! Te contactaremos pronto."


class Calculator:
    """The mounted calculator and the actions of a visitor on it."""

    def __init__(self, visitor: Visitor, path: str = "/precios#calculadora") -> None:
        self.visitor = visitor
        self.page = visitor.page
        self.page.goto(path)
        self.card = self.page.locator(".calculator")
        self.card.scroll_into_view_if_needed()
        expect(self.card.locator("[data-island=calculator][data-mounted]")).to_be_attached()

    def select(self, label: str) -> Locator:
        return self.card.get_by_role("combobox", name=label, exact=True)

    def button(self, name: str) -> Locator:
        return self.card.get_by_role("button", name=name, exact=True)

    def press(self, name: str) -> None:
        self.visitor.press(self.button(name))

    def ask(self, number: int = 1) -> "Calculator":
        """Complete step 1."""
        self.select("Número de asignaturas").select_option(str(number))
        self.press("Calcular Presupuesto")
        expect(self.card.get_by_text("Paso 2 de 3")).to_be_visible()
        return self

    def choose(self, shelf: Shelf, *subjects: Subject) -> "Calculator":
        """Complete step 2."""
        self.choose_degree(shelf)
        for position, subject in enumerate(subjects, start=1):
            self.select(f"Asignatura {position}").select_option(str(subject.pk))
        self.press("Ver presupuesto")
        expect(self.card.get_by_text("Paso 3 de 3")).to_be_visible()
        return self

    def choose_degree(self, shelf: Shelf) -> None:
        self.select("Universidad").select_option(str(shelf.degree.university_id))
        self.select("Carrera").select_option(str(shelf.degree.pk))
        expect(self.select("Asignatura 1")).to_be_visible()

    def open_contact(self) -> "Calculator":
        self.press("Ver presupuesto completo")
        expect(self.card.get_by_label("Email")).to_be_focused()
        return self

    def send(self, email: str, phone: str = "600123123") -> None:
        self.card.get_by_label("Email").fill(email)
        self.card.get_by_label("Teléfono").fill(phone)
        self.press("Enviar presupuesto")

    @property
    def figures(self) -> Locator:
        return self.card.locator(".calculator__figures")

    def expect_lines(self, *lines: str) -> None:
        """The base price, the discounts and the final price, each as "name amount"."""
        expect(self.figures.locator("dl > div")).to_have_text(list(lines), use_inner_text=True)

    def expect_blurred(self) -> None:
        expect(self.figures).to_have_css("filter", re.compile("^blur"))
