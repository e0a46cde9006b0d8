"""The page /plazos of an instalment plan: pay one or all instalments, change the card."""

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Locator, expect

from apps.backoffice.seed import ADMIN_NAME
from apps.orders.models import Order, Payment
from apps.orders.plan.plan_link import plan_url
from apps.orders.refunds.effects import RefundRequest
from apps.payments.refunds.at_stripe import make_refund
from tests.browser.records import (
    bank_undecided,
    eventually,
    mail_with,
    only_order,
    pay_elsewhere,
    payments_at_provider,
    text_of,
)
from tests.browser.visitor import (
    BANK_DECLINED,
    CHALLENGED_CARD,
    DECLINED_CARD,
    GOOD_CARD,
    SLOWLY_DECLINED_CARD,
    Visitor,
)
from tests.helpers.factories import whole

pytestmark = pytest.mark.usefixtures("money_adds_up")


@pytest.fixture
def plan(shelf, email):
    """An order of 200 € in instalments of 66.68, 66.66 and 66.66; the first one is paid."""
    maths = shelf.put("Cálculo", "200.00")
    pay_elsewhere(email, whole(maths), total="200", payment_type="installment")
    return only_order(email)


def rows(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("region", name="Pedido").get_by_role("listitem")


def press(visitor: Visitor, name: str) -> None:
    visitor.press(visitor.page.get_by_role("button", name=name))


def with_another_card(visitor: Visitor, name: str) -> None:
    """Press the button that opens the card form for another card than the saved one."""
    press(visitor, "Pagar con otra tarjeta")
    press(visitor, name)


def fill_card(visitor: Visitor, number: str) -> None:
    visitor.expect_card_form()
    visitor.type_card(number)


def states(order: Order) -> list[str]:
    return list(order.instalments.order_by("number").values_list("status", flat=True))


def test_next_instalment_is_paid_with_3d_secure(visitor, plan, email):
    page = visitor.page
    page.goto(plan_url(plan))
    expect(rows(visitor).nth(0)).to_contain_text("Pagado el")
    expect(rows(visitor).nth(1)).to_contain_text("Se cobrará el")
    expect(page.get_by_text("Visa terminada en 4242", exact=True)).to_be_visible()

    with_another_card(visitor, "Pagar el plazo 2: 66,66 €")
    expect(page.get_by_text("Guardaremos esta tarjeta en Stripe")).to_be_visible()
    fill_card(visitor, CHALLENGED_CARD)
    visitor.press(visitor.pay_button("66,66 €"))
    visitor.challenge.get_by_role("button", name="Autorizar").click()

    expect(visitor.toast("¡Pago exitoso!")).to_be_visible()
    expect(rows(visitor).nth(1)).to_contain_text("Pagado el")
    expect(page.get_by_role("button", name="Pagar el plazo 3: 66,66 €")).to_be_visible()
    assert states(plan) == ["paid", "paid", "due"]
    receipt = text_of(mail_with("Recibo de tu pago: plazo 2", email))
    assert plan_url(plan) in receipt
    taken = [payment["amount_received"] for payment in payments_at_provider(plan)]
    assert sorted(taken) == [6666, 6668]


def test_saved_card_pays_the_next_instalment_in_one_press(visitor, plan):
    visitor.page.goto(plan_url(plan))
    expect(visitor.page.get_by_text("con tu Visa terminada en 4242")).to_be_visible()

    press(visitor, "Pagar el plazo 2: 66,66 €")

    expect(visitor.toast("¡Pago exitoso!")).to_be_visible()
    expect(rows(visitor).nth(1)).to_contain_text("Pagado el")
    assert states(plan) == ["paid", "paid", "due"]
    taken = [payment["amount_received"] for payment in payments_at_provider(plan)]
    assert sorted(taken) == [6666, 6668]


def test_all_remaining_instalments_are_paid_at_once_after_a_declined_card(phone, plan):
    phone.watch.expect("status of 402")
    page = phone.page
    page.goto(plan_url(plan))
    with_another_card(phone, "Pagar todo lo que queda: 133,32 €")
    fill_card(phone, DECLINED_CARD)
    phone.press(phone.pay_button("133,32 €"))
    expect(page.get_by_role("alert")).to_contain_text("Tu banco ha rechazado la tarjeta")
    assert states(plan) == ["paid", "due", "due"]

    phone.type_card()
    phone.press(phone.pay_button("133,32 €"))

    expect(page.get_by_text("Has pagado todos los plazos. ¡Gracias!")).to_be_visible()
    plan.refresh_from_db()
    assert plan.status == Order.Status.PAID
    assert states(plan) == ["paid", "paid", "paid"]
    assert Payment.objects.filter(order=plan, status="succeeded").count() == 2
    phone.assert_accessible()


def test_card_is_changed_with_3d_secure_without_a_charge(visitor, plan):
    page = visitor.page
    before = plan.card_reference
    page.goto(plan_url(plan))
    press(visitor, "Cambiar la tarjeta")
    expect(page.get_by_text("No se cobra nada por guardarla.")).to_be_visible()
    fill_card(visitor, CHALLENGED_CARD)
    visitor.assert_accessible()
    press(visitor, "Guardar la tarjeta")
    visitor.challenge.get_by_role("button", name="Autorizar").click()

    expect(visitor.toast("Tarjeta cambiada")).to_be_visible()
    last_four = CHALLENGED_CARD.replace(" ", "")[-4:]
    expect(page.get_by_text(f"Visa terminada en {last_four}", exact=True)).to_be_visible()
    plan.refresh_from_db()
    assert plan.card_reference != before
    assert len(payments_at_provider(plan)) == 1
    # Stripe's webhook reports the same change and must not add another event.
    eventually(lambda: plan.events.filter(kind="card_changed").exists())
    assert plan.events.filter(kind="card_changed").count() == 1


def test_student_can_go_back_to_the_plan_and_pay_something_else(visitor, plan):
    page = visitor.page
    page.goto(plan_url(plan))
    with_another_card(visitor, "Pagar el plazo 2: 66,66 €")
    visitor.expect_card_form()
    press(visitor, "Volver a mis plazos")

    with_another_card(visitor, "Pagar todo lo que queda: 133,32 €")
    fill_card(visitor, "4242424242424242")
    visitor.press(visitor.pay_button("133,32 €"))

    expect(page.get_by_text("Has pagado todos los plazos. ¡Gracias!")).to_be_visible()
    statuses = sorted(str(payment["status"]) for payment in payments_at_provider(plan))
    assert statuses == ["canceled", "succeeded", "succeeded"]


def test_plan_says_that_the_bank_is_confirming_and_then_that_it_has_declined(visitor, plan):
    page = visitor.page
    page.goto(plan_url(plan))
    with_another_card(visitor, "Pagar el plazo 2: 66,66 €")
    fill_card(visitor, SLOWLY_DECLINED_CARD)
    with bank_undecided():
        visitor.press(visitor.pay_button("66,66 €"))
        expect(page.get_by_text("Tu banco está confirmando un pago.")).to_be_visible()
        expect(visitor.toast("¡Pago exitoso!")).to_have_count(0)

    expect(page.get_by_role("alert")).to_have_text(BANK_DECLINED)

    expect(page.get_by_role("button", name="Pagar el plazo 2: 66,66 €")).to_be_visible()
    assert states(plan) == ["paid", "due", "due"]


def test_plan_that_staff_have_ended_meanwhile_is_shown_as_it_is(visitor, plan):
    visitor.watch.expect("status of 400.*/confirm")
    page = visitor.page
    page.goto(plan_url(plan))
    with_another_card(visitor, "Pagar el plazo 2: 66,66 €")
    fill_card(visitor, GOOD_CARD)
    make_refund(
        order_id=plan.pk,
        request=RefundRequest(
            amount_cents=1000, reason="Lo deja", line_ids=frozenset(), cancels_plan=True
        ),
        batch="lo-deja",
        user=User.objects.get(username=ADMIN_NAME),
        seen_cents=6668,
    )

    visitor.press(visitor.pay_button("66,66 €"))

    expect(page.get_by_text("Este pedido no tiene plazos pendientes.")).to_be_visible()
    assert states(plan) == ["paid", "canceled", "canceled"]


def test_wrong_link_shows_no_plan(visitor, plan):
    visitor.watch.expect("status of 404.*/api/instalments")

    visitor.page.goto(f"{plan_url(plan)[:-4]}0000")

    heading = visitor.page.get_by_role("alert").get_by_role("heading")
    expect(heading).to_have_text("El enlace no es válido o ha caducado.")
    visitor.page.get_by_role("link", name="Volver al inicio").click()
    expect(visitor.page).to_have_url(re.compile(r"^[^/]+//[^/]+/$"))


def test_instalment_paid_in_another_tab_is_not_paid_twice(visitor, plan, email):
    visitor.watch.expect("status of 409.*/api/instalments/pay")
    page = visitor.page
    page.goto(plan_url(plan))
    expect(page.get_by_role("button", name="Pagar el plazo 2")).to_be_visible()
    other = page.context.new_page()
    other.goto(plan_url(plan))
    elsewhere = Visitor(other, email, visitor.watch)
    with_another_card(elsewhere, "Pagar el plazo 2: 66,66 €")
    fill_card(elsewhere, "4242424242424242")
    elsewhere.press(elsewhere.pay_button("66,66 €"))
    expect(elsewhere.toast("¡Pago exitoso!")).to_be_visible()

    with_another_card(visitor, "Pagar el plazo 2: 66,66 €")

    expect(page.get_by_role("alert")).to_contain_text("Ese plazo ya está pagado.")
    expect(page.get_by_role("button", name="Pagar el plazo 3: 66,66 €")).to_be_visible()
    assert states(plan) == ["paid", "paid", "due"]
