"""The second factor of staff in Chromium, on a phone."""

from base64 import b32decode

import pytest
from django.contrib.auth.models import User
from django_otp.oath import totp
from playwright.sync_api import expect

from tests.browser.visitor import expect_to_fit, sign_in_staff

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
