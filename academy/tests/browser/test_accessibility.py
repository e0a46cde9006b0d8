"""axe finds nothing, by day and by night, at a desk and on a phone (issue 2, "Done when")."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from academy.tests.browser.records import (
    ACCESS,
    Shelf,
    mail_with,
    pay_elsewhere,
    save_for_later,
    text_of,
)
from academy.tests.browser.visitor import Visitor
from academy.tests.factories import whole
from apps.catalogue.models import Subject

SIZES = {
    "desk": {"viewport": {"width": 1440, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=list(SIZES))
def reader(
    request: pytest.FixtureRequest, scheme: str, new_visitor: Callable[..., Visitor]
) -> Visitor:
    # Colours in the middle of a transition are no colours of the design.
    return new_visitor(**SIZES[request.param], color_scheme=scheme, reduced_motion="reduce")


@pytest.fixture
def maths(shelf: Shelf) -> Subject:
    """A subject of 200 €: 190 € when it is paid at once."""
    return shelf.put("Cálculo", "200.00", lessons=3)


def test_the_catalogue_and_the_dialog_are_accessible(reader: Visitor, maths: Subject) -> None:
    reader.open_catalogue()
    reader.assert_accessible()

    reader.open_catalogue(maths.degree).fill_cart([maths])
    reader.assert_accessible()

    reader.open_dialog()
    reader.press(reader.dialog.get_by_role("button", name="Continuar"))
    expect(reader.dialog.get_by_text("Escribe tu teléfono.", exact=True)).to_be_visible()
    reader.assert_accessible()

    reader.fill_contact()
    reader.assert_accessible()
    reader.apply_code("NOEXISTE")
    expect(reader.field("Código promocional")).to_have_attribute("aria-invalid", "true")
    reader.apply_code("BIENVENIDA10")
    expect(reader.dialog.get_by_text("Código BIENVENIDA10 aplicado")).to_be_visible()
    reader.tick_boxes().ask_for_card_form("171,00 €")
    reader.assert_accessible()


def test_success_and_the_recovery_page_are_accessible(
    reader: Visitor, maths: Subject, email: str
) -> None:
    reader.page.goto(save_for_later(email, whole(maths), total="190"))
    reader.tick_boxes().ask_for_card_form("190,00 €")
    reader.assert_accessible()

    reference = pay_elsewhere(f"otra.{email}", whole(maths), total="190")
    reader.page.goto(f"/success?payment_intent_id={reference}")
    reader.assert_accessible()
    reader.expect_success()
    reader.assert_accessible()


def test_the_classroom_is_accessible(reader: Visitor, maths: Subject, email: str) -> None:
    reader.page.goto("/aula")
    reader.assert_accessible()

    pay_elsewhere(email, whole(maths), total="190")
    link = re.search(r"https?://\S+/aula/acceso/\S+", text_of(mail_with(ACCESS, email)))
    assert link is not None
    reader.page.goto(link[0])
    reader.assert_accessible()
    reader.page.get_by_label("Nombre", exact=True).fill("Ana")
    reader.page.get_by_label("Apellidos").fill("Muñoz")
    reader.page.get_by_label("Contraseña nueva").fill("ñandú-veloz-27")
    reader.page.get_by_label("Repite la contraseña").fill("ñandú-veloz-27")
    reader.page.get_by_role("button", name="Guardar y entrar en el aula").click()
    expect(reader.page.get_by_role("heading", name="Hola, Ana")).to_be_visible()
    reader.assert_accessible()
    reader.page.goto("/aula/perfil")
    reader.assert_accessible()


def test_the_pages_around_the_purchase_are_accessible(reader: Visitor) -> None:
    reader.watch.expect("status of 404.*/no-existe")
    legal = ["/terminos", "/privacidad", "/cookies", "/aviso-legal"]
    for path in ("/cancel", "/no-existe", "/complete-payment", "/login", *legal):
        reader.page.goto(path)
        reader.assert_accessible()
