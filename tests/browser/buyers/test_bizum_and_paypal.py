"""Bizum, PayPal and transfers, on a phone and on a wide screen."""

import re

import pytest
from django.conf import settings
from playwright.sync_api import expect

from apps.core.models import SiteSettings
from apps.orders.models import Order
from tests.browser.conftest import DESKTOP, PHONE
from tests.browser.records import (
    bank_undecided,
    eventually,
    mail_with,
    only_order,
    payments_at_provider,
)
from tests.browser.visitor import (
    Visitor,
    axe_problems,
    expect_to_fit,
    settled,
    sign_in_staff,
    wait_until,
)

pytestmark = pytest.mark.usefixtures("money_adds_up")

NOT_DONE = "No se ha cobrado nada: inténtalo otra vez o elige otro medio de pago."


@pytest.fixture
def maths(shelf):
    """A subject of 200 €, or 190 € with full payment."""
    return shelf.put("Cálculo", "200.00", lessons=3)


def leave_for(buyer: Visitor, name: str) -> None:
    """Choose this way to pay in the form that is open, and go to its page."""
    tab = buyer.card_form.get_by_role("radio", name=name)
    buyer.press(tab)
    expect(tab).to_be_checked()
    expect(buyer.card_form.get_by_label("Número de tarjeta")).to_be_hidden()
    buyer.press(buyer.pay_button("190,00 €"))
    expect(buyer.page.get_by_role("heading", name=f"Pagar con {name}")).to_be_visible()
    expect(buyer.page.get_by_text(re.compile(r"190,00\s€"))).to_be_visible()


def answer(buyer: Visitor, button: str) -> None:
    buyer.press(buyer.page.get_by_role("button", name=button, exact=True))


# What becomes of a payment of either kind: apps/payments/tests/test_bizum_and_paypal.py. The page
# has the same code for both, and their names.
def test_approved_payment_is_a_paid_order(phone, maths, email):
    phone.to_step_2(maths.degree, [maths]).tick_boxes()
    heading = phone.dialog.get_by_role("heading", name="Pago con tarjeta, Bizum o PayPal")
    expect(heading).to_be_visible()
    phone.open_card_form("190,00 €")
    expect(phone.card_form.get_by_role("radio")).to_have_count(3)
    expect(phone.card_form.get_by_role("radio", name="Tarjeta")).to_be_checked()
    expect_to_fit(phone.page)

    leave_for(phone, "Bizum")
    answer(phone, "Aprobar")
    phone.expect_success()

    assert "secret" not in phone.page.url
    order = only_order(email)
    assert (order.status, order.payments.get().kind) == (Order.Status.PAID, "bizum")
    assert [payment["amount"] for payment in payments_at_provider(order)] == [19000]


@pytest.mark.parametrize(
    ("window", "name", "button", "what", "kind"),
    [
        (
            "visitor",
            "Bizum",
            "Dejar que caduque",
            "El pago con Bizum ha caducado porque no se aprobó a tiempo.",
            "card",
        ),
        (
            "phone",
            "PayPal",
            "Rechazar",
            "El pago con PayPal no se ha hecho: se rechazó o se canceló.",
            "paypal",
        ),
    ],
)
def test_refused_payment_leads_back_to_the_saved_order_that_is_then_paid(
    request, maths, email, window, name, button, what, kind
):
    buyer: Visitor = request.getfixturevalue(window)
    buyer.watch.expect("status of 409.*/api/complete-payment")
    buyer.to_step_2(maths.degree, [maths]).tick_boxes().open_card_form("190,00 €")
    expect_to_fit(buyer.page)
    leave_for(buyer, name)
    answer(buyer, button)

    buyer.page.wait_for_url("**/complete-payment?*")
    expect(buyer.toast("Error en el pago", f"{what} {NOT_DONE}")).to_be_visible()
    expect(buyer.page.get_by_role("alert").filter(has_text=what)).to_be_visible()
    expect(buyer.page.get_by_text(maths.name).first).to_be_visible()
    assert only_order(email).status == Order.Status.CART

    if kind == "card":
        buyer.buy("190,00 €")
        expect(buyer.page.get_by_text("¡Pago exitoso!")).to_be_visible()
    else:
        buyer.tick_boxes().open_card_form("190,00 €")
        leave_for(buyer, name)
        answer(buyer, "Aprobar")
        buyer.expect_success()
    wait_until(buyer.page, lambda: only_order(email).status == Order.Status.PAID)
    assert only_order(email).payments.get().kind == kind
    assert len(payments_at_provider(only_order(email))) == 1


def test_approval_that_is_confirmed_late_pays_the_order(visitor, maths, email):
    visitor.to_step_2(maths.degree, [maths]).tick_boxes().open_card_form("190,00 €")
    leave_for(visitor, "Bizum")
    with bank_undecided():
        answer(visitor, "Aprobar, pero tarda en confirmarse")
        waiting = visitor.page.get_by_role("heading", name="Tu banco está confirmando el pago")
        expect(waiting).to_be_visible()
        assert only_order(email).status == Order.Status.CART
    visitor.expect_success()
    assert only_order(email).status == Order.Status.PAID


def test_buyer_who_goes_back_from_bizum_finds_the_purchase(phone, maths, email):
    phone.to_step_2(maths.degree, [maths]).tick_boxes().open_card_form("190,00 €")
    leave_for(phone, "Bizum")

    phone.page.go_back()

    link = phone.page.get_by_role("link", name="Continuar")
    pay = phone.pay_button("190,00 €")
    expect(link.or_(pay).first).to_be_visible()
    if link.count():
        phone.press(link)
    phone.buy("190,00 €")
    wait_until(phone.page, lambda: only_order(email).status == Order.Status.PAID)
    assert len(payments_at_provider(only_order(email))) == 1


def test_instalments_are_paid_by_card_alone(phone, maths):
    phone.to_step_2(maths.degree, [maths])
    phone.press(phone.dialog.get_by_role("radio", name="3 plazos"))
    expect(phone.dialog.get_by_role("heading", name="Pago con tarjeta", exact=True)).to_be_visible()
    phone.tick_boxes().open_card_form("66,68 €")
    expect(phone.card_form.get_by_label("Número de tarjeta")).to_be_visible()
    expect(phone.card_form.get_by_role("radio")).to_have_count(0)


def test_what_is_switched_off_is_neither_offered_nor_named(phone, maths):
    SiteSettings.objects.update(bizum=False, paypal=False, transfer=False)
    try:
        phone.to_step_2(maths.degree, [maths]).tick_boxes().open_card_form("190,00 €")
        expect(phone.card_form.get_by_label("Número de tarjeta")).to_be_visible()
        expect(phone.card_form.get_by_role("radio")).to_have_count(0)
        heading = phone.dialog.get_by_role("heading", name="Pago con tarjeta", exact=True)
        expect(heading).to_be_visible()
        expect(phone.dialog).not_to_contain_text(re.compile("Bizum|PayPal|transferencia"))
    finally:
        SiteSettings.objects.update(bizum=True, paypal=True, transfer=True)


def test_buyer_who_chooses_a_transfer_reads_how_to_make_it_and_staff_confirm_it(
    phone, new_visitor, maths, email
):
    phone.to_step_2(maths.degree, [maths])
    choose = phone.dialog.get_by_role("button", name="Pagar por transferencia")
    expect(choose).to_be_disabled()
    phone.tick_boxes()
    phone.press(choose)
    expect(phone.dialog.get_by_role("heading", name="Haz la transferencia")).to_be_visible()
    order = only_order(email)
    for words in (f"PEDIDO-{order.pk}", settings.TRANSFER_IBAN, "190,00"):
        expect(phone.dialog).to_contain_text(words)
    phone.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    phone.press(phone.dialog.get_by_role("button", name="Copiar el concepto"))
    expect(phone.toast("Has copiado el concepto")).to_be_visible()
    assert settled(phone.page, "() => navigator.clipboard.readText()") == f"PEDIDO-{order.pk}"
    for size in (DESKTOP, PHONE):
        phone.page.set_viewport_size(size)
        expect_to_fit(phone.page)
        assert axe_problems(phone.page, part="[role=dialog]") == []
    eventually(lambda: mail_with("Datos para pagar tu pedido", email))
    phone.press(phone.dialog.get_by_role("button", name="Cerrar"))
    expect(phone.cart_button).to_have_count(0)

    clerk = new_visitor().page
    sign_in_staff(clerk)
    clerk.goto(f"/admin/orders/order/{order.pk}/change/")
    expect(clerk.get_by_text("Esperando transferencia").first).to_be_visible()
    expect(clerk.get_by_role("link", name="Apuntar la transferencia…")).to_be_visible()
