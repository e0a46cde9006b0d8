"""A withdrawal without JavaScript: the statement, its acknowledgement, the case and the refund."""

import re

import pytest
from playwright.sync_api import expect

from apps.leads.models import Withdrawal
from tests.browser.records import mail_with, mails_to, only_order, pay_elsewhere, text_of
from tests.browser.visitor import sign_in_staff
from tests.helpers.factories import whole

pytestmark = pytest.mark.usefixtures("money_adds_up")


def test_a_withdrawal_is_acknowledged_and_refunded(new_visitor, visitor, shelf, email):
    pay_elsewhere(email, whole(shelf.put("Cálculo", "200.00")), total="190")
    order = only_order(email)
    confirmation = text_of(mail_with("Confirmación de tu pedido", email))
    mailed = re.search(rf"http\S+/desistimiento\?pedido={order.pk}&clave=\w+", confirmation)
    assert mailed is not None

    page = new_visitor(java_script_enabled=False, viewport={"width": 390, "height": 844}).page
    page.goto("/")
    page.get_by_role("link", name="Desistir del contrato aquí").click()
    page.get_by_role("button", name="Desistir del contrato aquí").click()
    expect(page.get_by_label("Nombre y apellidos")).to_be_focused()
    # Only the mailed link shows that the statement is the buyer's own.
    page.goto(mailed[0])
    page.get_by_role("button", name="Desistir del contrato aquí").click()
    expect(page.get_by_label("Nombre y apellidos")).to_be_focused()
    page.get_by_label("Nombre y apellidos").fill("Ana Gil")
    page.get_by_label("Email").fill(email)
    expect(page.get_by_label("Número de pedido")).to_have_value(str(order.pk))
    page.get_by_role("button", name="Desistir del contrato aquí").click()
    expect(page.get_by_text("Todavía no se ha enviado nada.")).to_be_visible()
    page.get_by_role("button", name="Confirmar desistimiento").click()
    expect(page.get_by_role("heading", name="Hemos recibido tu desistimiento")).to_be_visible()
    assert "Ana Gil" in text_of(mail_with("Acuse de recibo de tu desistimiento", email))

    case = Withdrawal.objects.get(order=order)
    clerk = visitor.page
    sign_in_staff(clerk, path=f"/admin/leads/withdrawal/{case.pk}/change/")
    expect(clerk.get_by_text("pierdo el derecho de desistimiento")).to_be_visible()
    expect(clerk.get_by_text("No ha llegado a entrar")).to_be_visible()
    visitor.assert_accessible()
    clerk.get_by_role("link", name="Devolver…").click()
    clerk.locator("input[name=lines]").check()
    clerk.get_by_label("Motivo").fill("Desiste")
    clerk.get_by_role("button", name="Ver qué cambiaría").click()
    clerk.get_by_role("button", name="Devolver 190,00 €").click()
    expect(clerk.get_by_text("Devueltos 190,00 €.")).to_be_visible()

    clerk.goto(f"/admin/leads/withdrawal/{case.pk}/change/")
    expect(clerk.get_by_label("Estado")).to_have_value(Withdrawal.Status.REFUNDED)
    case.refresh_from_db()
    assert case.status == Withdrawal.Status.REFUNDED
    acknowledged = [mail for mail in mails_to(email) if "Acuse de recibo" in mail["Subject"]]
    assert len(acknowledged) == 1

    clerk.goto("/admin/informes")
    clerk.get_by_role("button", name="Traer lo último de Stripe").click()
    expect(clerk.locator(".messagelist").get_by_text("Traído de Stripe")).to_be_visible()
    visitor.assert_accessible()
