"""Gifts: Bruno buys, Leo gets the access."""

import re
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from apps.classroom.models import Account, Enrolment
from apps.core.dates import today
from apps.orders.models import Gift
from tests.browser.conftest import PHONE
from tests.browser.records import (
    CONFIRMATION,
    eventually,
    html_of,
    mail_with,
    mails_to,
    only_order,
    text_of,
)
from tests.browser.visitor import Visitor, expect_to_fit

pytestmark = pytest.mark.usefixtures("money_adds_up")

PRESENT = "Tienes un regalo"


@pytest.fixture
def friend(email):
    return f"leo-{email}"


def fill_step_1(visitor: Visitor, friend: str, **gift: str) -> None:
    """Fill in step 1 with a gift, up to its last field."""
    visitor.field("Email").fill(visitor.email)
    visitor.field("Teléfono").fill("600123123")
    visitor.tick(visitor.box("Es un regalo"))
    visitor.field("De parte de").fill("Bruno")
    visitor.field("Email de quien lo recibe").fill(friend)
    for label, value in gift.items():
        visitor.field(label).fill(value)
    visitor.tick(visitor.terms)
    visitor.tick(visitor.privacy)


def test_friend_gets_the_access_and_the_message_and_the_buyer_the_receipt(
    new_visitor, maths, email, friend
):
    visitor = new_visitor(viewport=PHONE)
    page = visitor.page
    visitor.open_catalogue(maths.degree).fill_cart([maths]).open_dialog()
    fill_step_1(visitor, friend, **{"Mensaje (opcional)": "¡Feliz día!\nDe todos."})
    visitor.assert_accessible()
    expect_to_fit(page)
    visitor.press(visitor.dialog.get_by_role("button", name="Continuar"))
    visitor.expect_step_2()
    expect(visitor.dialog).to_contain_text(f"Regalo para {friend}")
    expect(visitor.dialog).to_contain_text(f"La confirmación llegará a {email}")

    visitor.buy("190,00 €")
    visitor.expect_success()

    expect(page.get_by_text(re.compile("Enviamos ahora el acceso a l•••@"))).to_be_visible()
    expect(page.get_by_text("Credenciales enviadas a tu email")).to_be_hidden()
    expect(page.get_by_role("link", name="Ir al aula virtual")).to_be_hidden()
    expect(page.get_by_role("link", name="Ver más asignaturas")).to_be_visible()
    eventually(lambda: len(mails_to(friend)) == 1)
    present = mail_with(PRESENT, friend)
    assert "Bruno te ha hecho un regalo" in text_of(present)
    assert "¡Feliz día!<br>De todos." in html_of(present)
    assert "aula/acceso" not in text_of(mail_with(CONFIRMATION, email))
    assert Enrolment.objects.get(student__email=friend).subject == maths
    assert not Account.objects.filter(student__email=email).exists()

    link = re.search(r"https?://\S*/aula/acceso\S+", text_of(present))
    assert link
    leo = new_visitor().page
    leo.goto(link[0])
    leo.get_by_label("Nombre", exact=True).fill("Leo")
    leo.get_by_label("Apellidos").fill("Mota")
    for field in leo.locator("input[type=password]").all():
        field.fill("contraseña-larga-1")
    leo.get_by_role("button", name=re.compile("contraseña|Guardar|Entrar")).click()
    expect(leo.get_by_text(maths.name).first).to_be_visible()


def test_gift_for_a_later_day_is_chosen_by_keyboard_and_can_be_corrected(visitor, maths, email):
    page = visitor.page
    day = today() + timedelta(days=20)
    visitor.open_catalogue(maths.degree).fill_cart([maths]).open_dialog()
    visitor.field("Email").fill(email)
    visitor.field("Teléfono").fill("600123123")
    page.keyboard.press("Tab")
    expect(visitor.box("Es un regalo")).to_be_focused()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("Bruno")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("leo@gmial.com")
    visitor.field("Día de entrega").fill(f"{day}")
    visitor.field("Mensaje (opcional)").fill("Mira premio.com")
    visitor.tick(visitor.terms)
    visitor.tick(visitor.privacy)
    page.keyboard.press("Enter")

    expect(visitor.field("Mensaje (opcional)")).to_be_focused()
    visitor.field("Mensaje (opcional)").fill("¡Suerte!")
    visitor.press(visitor.dialog.get_by_role("button", name="Continuar"))
    expect(visitor.dialog.get_by_role("button", name="Sí, corregirlo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(visitor.field("Email de quien lo recibe")).to_have_value("leo@gmail.com")
    visitor.press(visitor.dialog.get_by_role("button", name="Continuar"))
    visitor.expect_step_2()

    visitor.press(visitor.dialog.get_by_role("button", name="Cambiar el regalo"))
    expect(visitor.field("De parte de")).to_be_focused()
    visitor.field("Email de quien lo recibe").fill(f"leo-{email}")
    visitor.press(visitor.dialog.get_by_role("button", name="Continuar"))
    visitor.buy("190,00 €")
    visitor.expect_success()

    expect(page.get_by_text(re.compile(r"El acceso llegará a l•••@\S+ el \d+ de"))).to_be_visible()
    gift = Gift.objects.get(order=only_order(email))
    assert (gift.recipient_email, gift.deliver_on, gift.status) == (f"leo-{email}", day, "waiting")
    assert not mails_to(f"leo-{email}")
