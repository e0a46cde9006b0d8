"""The back office in Chromium: Django's admin under our content security policy.

The fixture `watch` fails a test whose pages log an error or lose a request.
"""

import re

import pytest
from playwright.sync_api import Page, expect

from academy.dev.run import SAMPLE_ADMIN


@pytest.fixture
def clerk(visitor) -> Page:
    """Somebody signed in as the sample admin."""
    page = visitor.page
    page.goto("/admin")
    page.get_by_label("Nombre de usuario").fill(SAMPLE_ADMIN[0])
    page.get_by_label("Contraseña").fill(SAMPLE_ADMIN[1])
    page.get_by_role("button", name="Iniciar sesión").click()
    expect(page.get_by_role("heading", name="Gestión de la academia")).to_be_visible()
    return page


def test_every_list_and_a_row_of_each_opens_without_an_error(clerk):
    lists = [link.get_attribute("href") for link in clerk.locator("#content-main th a[href]").all()]
    assert len(lists) > 20
    for address in lists:
        clerk.goto(address)
        rows = clerk.locator("#result_list tbody tr th a")
        if rows.count():
            clerk.goto(rows.first.get_attribute("href"))
        expect(clerk.locator("#content")).to_be_visible()


def test_a_mail_reads_in_the_admin_as_it_was_written(clerk):
    clerk.goto("/admin/core/mail/?template=order_confirmation&q=ana.ejemplo@example.com")
    clerk.locator("#result_list tbody th a").first.click()

    expect(clerk.locator(".field-subject")).to_contain_text("Confirmación de tu pedido")
    letter = clerk.frame_locator("iframe[title=Mensaje]")
    expect(letter.get_by_role("heading", name=re.compile("Gracias por tu compra"))).to_be_visible()
    # Its own styles are let in, in its frame alone.
    expect(letter.locator("body")).to_have_css("background-color", "rgb(250, 247, 242)")
    expect(clerk.locator(".mail-text")).to_contain_text("Gracias por tu compra")


def test_the_samples_of_a_mail_are_seen_in_the_dark_and_on_a_phone(clerk):
    clerk.goto("/admin/core/mail/")
    clerk.get_by_role("link", name="Modelos de correo").click()
    clerk.get_by_role("link", name="Confirmación de tu pedido n.º 1042").click()
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


def test_a_code_is_restricted_by_typing_a_few_letters(clerk):
    clerk.goto("/admin/pricing/promocode/add/")
    field = clerk.locator(".field-subjects .select2-search__field")
    field.click()
    field.press_sequentially("microeconomia int")
    clerk.get_by_role("option", name="Microeconomía intermedia").click()

    expect(clerk.locator(".field-subjects .select2-selection__choice")).to_contain_text(
        "Microeconomía intermedia"
    )
