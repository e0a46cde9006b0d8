"""A new member of staff: invited by mail, with a password of their own, on a phone."""

import re
from uuid import uuid4

from playwright.sync_api import expect

from tests.browser.records import mail_with
from tests.browser.visitor import sign_in_staff

INVITATION = "Tu cuenta en la administración"
PASSWORD = "tres-gatos-verdes"


def test_invited_person_chooses_a_password_and_sees_their_part_of_today(visitor, phone):
    page, address = visitor.page, f"eva.{uuid4().hex[:8]}@example.com"
    sign_in_staff(page)
    expect(page.get_by_role("heading", name="Recaudación")).to_be_visible()
    visitor.assert_accessible()
    page.goto("/admin/auth/user/")
    page.get_by_role("link", name="Añadir").first.click()
    page.get_by_label("Correo:", exact=True).fill(address)
    page.get_by_label("Nombre:", exact=True).fill("Eva")
    page.get_by_label("Grupo").select_option(label="Atención")
    visitor.assert_accessible()
    page.get_by_role("button", name="Enviar la invitación").click()
    expect(page.get_by_text(f"Se ha enviado la invitación a {address}")).to_be_visible()

    body = mail_with(INVITATION, address).get_body(("plain",)).get_content()
    eva = phone.page
    eva.goto(re.search(r"https?://\S+/admin/nueva-clave\?\S+", body)[0])
    expect(eva.get_by_role("heading", name="Elige tu contraseña")).to_be_visible()
    phone.assert_accessible()
    eva.get_by_label("Contraseña nueva:", exact=True).fill(PASSWORD)
    eva.get_by_label("La nueva, otra vez:").fill(PASSWORD)
    eva.get_by_role("button", name="Guardar la contraseña").click()
    sign_in_staff(eva, address, PASSWORD)

    expect(eva.get_by_role("heading", name="Pendiente")).to_be_visible()
    expect(eva.get_by_role("heading", name="Recaudación")).to_have_count(0)
    phone.assert_accessible()
    eva.get_by_role("link", name="Correos sin entregar").click()
    expect(eva.get_by_role("heading", name="Correos")).to_be_visible()
