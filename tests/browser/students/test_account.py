"""Signing in without a password, and the student's account, in a real browser."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from apps.students.models import SignIn, Student
from tests.browser.records import eventually, mail_with, only_order
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.usefixtures("money_adds_up")

LINK_MAIL = "Tu enlace para entrar"


@pytest.fixture
def mode():
    """Use the second address of the shop, where students may sign in."""
    return "hosted"


def sign_in(visitor: Visitor) -> None:
    page = visitor.page
    page.goto("/login")
    page.get_by_label("Email").fill(visitor.email)
    page.get_by_role("button", name="Enviadme el enlace").click()
    expect(page.get_by_role("heading", name="Mira tu email")).to_be_visible()
    body = mail_with(LINK_MAIL, visitor.email).get_body(("plain",))
    assert body is not None
    (path,) = re.findall(r"http://[^/]+(/login/entrar\S+)", body.get_content())
    page.goto(path)
    page.get_by_role("button", name="Entrar", exact=True).click()
    expect(page.get_by_role("heading", name="Mi cuenta")).to_be_visible()


def test_student_signs_in_sees_the_order_and_starts_the_next_purchase_at_step_2(visitor, shelf):
    maths, law = shelf.put("Matemáticas", "192.00"), shelf.put("Derecho", "192.00")
    visitor.to_step_2(shelf.degree, [maths]).buy("182,40 €")
    visitor.expect_success()
    order = only_order(visitor.email)

    sign_in(visitor)
    page = visitor.page
    card = page.get_by_role("article").filter(has_text=f"Pedido n.º {order.pk}")
    expect(card).to_contain_text(maths.name)
    expect(card).to_contain_text("182,40 €")

    page.get_by_label("Nombre", exact=True).fill("Ana")
    page.get_by_role("button", name="Guardar mis datos").click()
    expect(page.get_by_text("Hemos guardado tus datos.")).to_be_visible()
    assert Student.objects.get(email=visitor.email).first_name == "Ana"

    with page.expect_download() as download:
        page.get_by_role("link", name="Descargar mis datos").click()
    data = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert data["pedidos"][0]["pedido"] == order.pk

    page.get_by_role("button", name="Pedir que se borren mis datos").click()
    expect(page.get_by_text("Has pedido que se borren tus datos.")).to_be_visible()
    visitor.assert_accessible()

    visitor.open_catalogue(shelf.degree).select_all(law).click()
    visitor.cart_button.click()
    visitor.expect_step_2()

    page.goto("/mi-cuenta")
    page.get_by_role("button", name="Cerrar sesión").click()
    expect(page.get_by_role("heading", name="Iniciar sesión")).to_be_visible()
    assert eventually(lambda: not SignIn.objects.filter(student=order.student, ended_at=None))


def test_sign_in_pages_are_usable_on_a_phone(phone):
    phone.page.goto("/login")
    expect(phone.page.get_by_role("heading", name="Iniciar sesión")).to_be_visible()
    phone.assert_accessible()
    phone.watch.expect(r"status of 410 .*/login/entrar")
    phone.page.goto("/login/entrar?enlace=x")
    expect(phone.page.get_by_role("heading", name="El enlace ya no sirve")).to_be_visible()
    phone.assert_accessible()
