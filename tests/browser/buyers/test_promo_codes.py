"""Promo codes in the payment dialog."""

import json
import re
from decimal import Decimal

import pytest
from playwright.sync_api import expect

from apps.orders.models import Order
from tests.browser.records import ACCESS, CONFIRMATION, link_in, mail_with, only_order, text_of
from tests.helpers.factories import make_promo

VALIDATE = "**/api/validate-promo-code"


@pytest.fixture
def buyer(visitor, maths):
    return visitor.to_step_2(maths.degree, [maths])


def test_promo_code_reserved_by_this_order_can_be_removed_and_applied_again(buyer):
    make_promo("SOLOUNO", value="10", max_uses=1, max_uses_per_student=1)
    buyer.apply_code("SOLOUNO").tick_boxes().open_card_form("171,00 €")
    buyer.press(buyer.dialog.get_by_role("button", name="Quitar el código SOLOUNO"))
    expect(buyer.pay_button("190,00 €")).to_be_visible()

    buyer.apply_code("SOLOUNO")

    buyer.open_card_form("171,00 €")


def test_refusal_is_shown_at_the_field_and_a_typed_code_is_tidied_applied_and_removed(buyer):
    summary = buyer.dialog.locator("dl")
    apply = buyer.dialog.get_by_role("button", name="Aplicar")
    asked = buyer.responses_of("/api/validate-promo-code")
    expect(apply).to_be_disabled()
    buyer.field("Código promocional").fill("   ")
    expect(apply).to_be_disabled()
    buyer.field("Código promocional").press("Enter")

    # The other sentences: apps/orders/tests/test_promo_codes.py, promo.test.ts.
    sentence = "Este código no existe."
    buyer.apply_code("NOEXISTE")
    expect(buyer.toast("Código inválido", sentence)).to_be_visible()
    expect(buyer.field("Código promocional")).to_have_accessible_description(sentence)
    expect(buyer.field("Código promocional")).to_have_attribute("aria-invalid", "true")
    expect(buyer.pay_button("190,00 €")).to_be_attached()
    assert len(asked) == 1

    with buyer.page.expect_request(VALIDATE) as sent:
        buyer.apply_code("  bienvenida10 ")
    assert json.loads(sent.value.post_data or "")["code"] == "BIENVENIDA10"
    expect(buyer.toast("¡Código aplicado!")).to_be_visible()
    expect(summary).to_contain_text("Código promocional−19,00 €")
    expect(buyer.pay_button("171,00 €")).to_be_attached()
    remove = buyer.dialog.get_by_role("button", name="Quitar el código BIENVENIDA10")
    expect(remove).to_be_focused()

    remove.click()
    expect(buyer.toast("Código eliminado")).to_be_visible()
    expect(summary).not_to_contain_text("Código promocional")
    expect(buyer.pay_button("190,00 €")).to_be_attached()
    expect(buyer.field("Código promocional")).to_be_focused()


def test_promo_code_that_expires_meanwhile_is_removed_at_the_payment(buyer, maths):
    buyer.watch.expect(r"status of 409.*/api/process-checkout")
    promo = make_promo(f"UNO{maths.pk}", kind="FIJO", value="10", max_uses=1)
    buyer.apply_code(promo.code).tick_boxes()
    expect(buyer.pay_button("180,00 €")).to_be_enabled()
    promo.active = False
    promo.save()

    buyer.pay_button("180,00 €").click()

    sentence = "Este código ya no está activo."
    expect(buyer.toast("Código inválido", sentence)).to_be_visible()
    expect(buyer.field("Código promocional")).to_have_accessible_description(sentence)
    expect(buyer.pay_button("190,00 €")).to_be_enabled()


@pytest.mark.usefixtures("money_adds_up")
def test_total_of_0_needs_no_card_and_a_mistyped_address_is_corrected_after_it(
    visitor, maths, email
):
    visitor.to_step_2(maths.degree, [maths]).apply_code("GRATIS100")
    expect(visitor.dialog.locator("dl")).to_contain_text("Código promocional−190,00 €")
    visitor.tick_boxes()

    expect(visitor.dialog).not_to_contain_text("obligación de pago")
    expect(visitor.dialog).not_to_contain_text("Pago con tarjeta")
    expect(visitor.dialog).to_contain_text("No hay nada que pagar: no te pedimos tarjeta")
    visitor.dialog.get_by_role("button", name="Confirmar sin pagar").click()

    assert re.fullmatch(r"free_[0-9a-f]{32}", visitor.expect_success())
    order = only_order(email)
    assert (order.status, order.total_amount) == (Order.Status.PAID, Decimal(0))
    assert order.customer_reference == ""
    assert mail_with(ACCESS, email)
    assert "No hay nada que pagar" in text_of(mail_with(CONFIRMATION, email))

    # The buyer notices that the address was mistyped.
    visitor.page.get_by_role("button", name="¿No es tu email? Corrígelo").click()
    visitor.page.get_by_label("Tu email, bien escrito").fill(f"b.{email}")
    visitor.page.get_by_role("button", name="Enviar a este email").click()
    expect(visitor.page.get_by_text("pulsa allí el enlace")).to_be_focused()
    visitor.page.goto(link_in("Confirma tu correo", f"b.{email}", "/correo/confirmar"))
    visitor.page.get_by_role("button", name="Sí, es mi correo").click()
    expect(visitor.page.get_by_role("heading", name="Gracias, correo confirmado")).to_be_visible()
    assert mail_with(CONFIRMATION, f"b.{email}")
    assert mail_with(ACCESS, f"b.{email}")
