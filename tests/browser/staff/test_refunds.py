"""Refunds by staff in the admin: the button, the preview, the refund and its effects."""

import pytest
from playwright.sync_api import Page, expect

from apps.classroom.models import Enrolment
from apps.orders.models import Order, Refund
from tests.browser.records import (
    Shelf,
    eventually,
    mail_with,
    only_order,
    pay_elsewhere,
    payments_at_provider,
    text_of,
)
from tests.helpers.factories import whole

pytestmark = pytest.mark.usefixtures("money_adds_up")


@pytest.fixture
def order(shelf: Shelf, email: str) -> Order:
    """Two subjects of 200 € and 100 € with full payment: 300 − 15 − 15 = 270 €."""
    subjects = shelf.put("Cálculo", "200.00"), shelf.put("Álgebra", "100.00")
    pay_elsewhere(email, *(whole(subject) for subject in subjects), total="270")
    return only_order(email)


def open_form(clerk: Page, order: Order) -> None:
    clerk.goto(f"/admin/orders/order/{order.pk}/change/")
    clerk.get_by_role("link", name="Devolver…").click()
    expect(clerk.get_by_role("heading", name="Devolver dinero del pedido")).to_be_visible()


def expect_on_success_page(page: Page, order: Order, title: str, *sentences: str) -> None:
    page.goto(f"/success?payment_intent_id={order.payments.get().reference}")
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    # The mark has no colour of its own: a refund is no success.
    expect(page.locator(".payment-result--done")).to_be_visible()
    for sentence in sentences:
        expect(page.get_by_text(sentence)).to_be_visible()


def test_staff_refund_one_line_and_then_the_remaining_amount(
    clerk: Page, order: Order, email: str
) -> None:
    open_form(clerk, order)
    expect(clerk.get_by_label("Importe (€)")).to_have_value("270,00")
    clerk.get_by_label("Importe (€)").fill("85,50")
    clerk.get_by_label("Álgebra").check()
    clerk.get_by_label("Motivo").fill("Se equivocó de asignatura")
    clerk.get_by_role("button", name="Ver qué cambiaría").click()

    preview = clerk.locator(".refund-preview")
    expect(preview).to_contain_text("Se retira el acceso a: Álgebra")
    assert Refund.objects.filter(payment__order=order).count() == 0
    clerk.get_by_role("button", name="Cambiar", exact=True).click()
    expect(clerk.get_by_label("Motivo")).to_have_value("Se equivocó de asignatura")
    clerk.get_by_label("Importe (€)").fill("90,00")
    clerk.get_by_role("button", name="Ver qué cambiaría").click()
    clerk.get_by_role("button", name="Devolver 90,00 €").click()

    expect(clerk.get_by_text("Devueltos 90,00 €.")).to_be_visible()
    expect(clerk.locator(".form-row.field-status")).to_contain_text("Devuelto en parte")
    expect(clerk.get_by_text("Se equivocó de asignatura").last).to_be_visible()
    left = Enrolment.objects.filter(order_id=order.pk).values_list("subject__name")
    assert [name.startswith("Cálculo") for (name,) in left] == [True]
    told = text_of(mail_with("Te hemos devuelto 90,00", email))
    assert "termina tu acceso a:" in told
    expect_on_success_page(
        clerk,
        order,
        "Compra devuelta en parte",
        "Te hemos devuelto 90,00\u00a0€ de los 270,00\u00a0€ que pagaste.",
        "Sigue abierto el acceso a lo que no se ha devuelto.",
    )

    open_form(clerk, order)
    expect(clerk.get_by_label("Importe (€)")).to_have_value("180,00")
    clerk.get_by_label("Motivo").fill("Ya no la quiere")
    clerk.get_by_role("button", name="Ver qué cambiaría").click()
    expect(clerk.locator(".refund-preview")).to_contain_text("el pedido queda como devuelto")
    clerk.get_by_role("button", name="Devolver 180,00 €").click()

    expect(clerk.locator(".form-row.field-status")).to_contain_text("Devuelto")
    # Stripe's webhooks report the same refunds and must not change anything.
    [payment] = payments_at_provider(order)
    assert payment["status"] == "succeeded"
    eventually(lambda: not Enrolment.objects.filter(order_id=order.pk).exists())
    order.refresh_from_db()
    assert order.status == "refunded"
    assert Refund.objects.filter(payment__order=order).count() == 2
    assert order.events.filter(to_status="refunded").count() == 1
    expect_on_success_page(clerk, order, "Compra devuelta", "Esta compra ya no da acceso al aula.")
    expect(clerk.get_by_role("link", name="Ir al aula virtual")).to_have_count(0)
