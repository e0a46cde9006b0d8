"""Django's admin in Chromium, with the site's content security policy.

The fixture `watch` fails a test if a page logs an error or a request fails.
"""

import re
from base64 import b32decode

import pytest
from django.contrib.auth.models import User
from django_otp.oath import totp
from playwright.sync_api import expect

from tests.browser.visitor import expect_to_fit, sign_in_staff


def test_admin_shows_a_mail_with_its_own_styles(clerk):
    clerk.goto("/admin/core/mail/?template=order_confirmation&q=ana.ejemplo@example.com")
    clerk.locator("#result_list tbody th a").first.click()

    expect(clerk.locator(".field-subject")).to_contain_text("Confirmación de tu pedido")
    letter = clerk.frame_locator("iframe[title=Mensaje]")
    expect(letter.get_by_role("heading", name=re.compile("Gracias por tu compra"))).to_be_visible()
    # The policy allows the mail's own styles, inside its frame only.
    expect(letter.locator("body")).to_have_css("background-color", "rgb(250, 247, 242)")
    expect(clerk.locator(".mail-text")).to_contain_text("Gracias por tu compra")


def test_admin_shows_mail_samples_in_the_dark_scheme_and_at_phone_width(clerk):
    clerk.goto("/admin/core/mail/")
    clerk.get_by_role("link", name="Modelos de correo").click()
    clerk.get_by_role("link", name="Confirmación de la compra", exact=True).click()
    letter = clerk.frame_locator("iframe[title=Mensaje]")
    expect(letter.get_by_role("heading", name="Gracias por tu compra, Ana")).to_be_visible()
    expect(letter.locator("body")).to_have_css("background-color", "rgb(250, 247, 242)")

    clerk.get_by_role("link", name="A plazos").click()
    expect(letter.get_by_text("Pago en 3 plazos")).to_be_visible()
    clerk.get_by_role("link", name="Oscuro").click()
    expect(letter.locator("body")).to_have_css("background-color", "rgb(21, 25, 26)")
    clerk.get_by_role("link", name="Móvil").click()
    expect(clerk.locator("iframe[title=Mensaje]")).to_have_css("width", "390px")
    expect(letter.get_by_text("Pago en 3 plazos")).to_be_visible()

    clerk.get_by_role("link", name="el texto").click()
    clerk.get_by_role("button", name="Ver antes de guardar").click()
    draft = clerk.get_by_role("heading", name=re.compile("Así quedaría"))
    expect(draft).to_be_in_viewport()
    expect(draft).to_be_focused()


def test_promo_code_is_restricted_to_subjects_found_by_typing_letters(clerk):
    clerk.goto("/admin/pricing/promocode/add/")
    field = clerk.locator(".field-subjects .select2-search__field")
    field.click()
    field.press_sequentially("microeconomia int")
    clerk.get_by_role("option", name="Microeconomía intermedia").click()

    expect(clerk.locator(".field-subjects .select2-selection__choice")).to_contain_text(
        "Microeconomía intermedia"
    )


PASSWORD = "una-clave-de-prueba"


@pytest.fixture
def member(stack):
    user = User.objects.create_superuser("movil", password=PASSWORD)
    yield user
    user.delete()


@pytest.mark.usefixtures("member")
def test_authenticator_is_set_up_and_then_asked_for_at_390_pixels(visitor):
    page = visitor.page
    page.set_viewport_size({"width": 390, "height": 844})
    sign_in_staff(page, "movil", PASSWORD)
    page.goto("/admin/segundo-factor/activar")
    expect(page.get_by_role("img", name="Código QR para la aplicación")).to_be_visible()
    expect_to_fit(page)
    secret = page.locator("code.secret").inner_text().replace(" ", "")
    page.locator("#id_code").fill(f"{totp(b32decode(secret)):06}")
    page.get_by_role("button", name="Activar").click()
    expect(page.get_by_role("heading", name="Códigos de reserva")).to_be_visible()
    expect_to_fit(page)
    codes = page.locator(".backup-codes code").all_inner_texts()
    assert len(codes) == 10
    page.get_by_role("link", name="Los he guardado").click()
    expect(page.get_by_role("heading", name="Gestión de la academia")).to_be_visible()

    page.context.clear_cookies()
    sign_in_staff(page, "movil", PASSWORD)
    expect(page.get_by_role("heading", name="Segundo factor")).to_be_visible()
    expect_to_fit(page)
    page.locator("#id_code").fill(codes[0])
    page.get_by_role("button", name="Entrar").click()
    expect(page.get_by_role("heading", name="Gestión de la academia")).to_be_visible()
