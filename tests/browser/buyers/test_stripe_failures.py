"""Failures of Stripe during a purchase: the buyer sees a clear message and nothing is lost."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from apps.catalogue.models import Subject
from apps.classroom.models import Enrolment
from apps.orders.models import Order
from tests.browser.records import (
    clear_faults,
    eventually,
    mails_to,
    only_order,
    payments_at_provider,
    set_fault,
    switch_webhooks,
)
from tests.browser.visitor import Visitor


@pytest.fixture(autouse=True)
def _clear_faults() -> Iterator[None]:
    yield
    clear_faults()
    switch_webhooks(enabled=True)


def expect_one_of_everything(address: str, subject: Subject) -> None:
    """One order, charge and enrolment; one mail each for order, access and referral code."""
    order = only_order(address)
    assert order.status == Order.Status.PAID
    statuses = [payment["status"] for payment in payments_at_provider(order)]
    assert statuses == ["succeeded"]
    eventually(lambda: len(mails_to(address)) == 3)
    assert Enrolment.objects.filter(student=order.student, subject=subject).count() == 1


@pytest.mark.parametrize("fault", ["timeout_after", "error_500", "truncated"])
def test_failed_payment_preparation_shows_a_message_and_the_next_attempt_pays_once(
    visitor: Visitor, maths: Subject, email: str, fault: str
) -> None:
    visitor.watch.expect("status of 502.*/api/process-checkout")
    visitor.to_step_2(maths.degree, [maths]).tick_boxes()
    # Stripe's library retries once by itself if there is no response.
    set_fault(calls="POST /v1/payment_intents", do=fault, nth=[1, 2])

    visitor.pay_button("190,00 €").click()

    sentence = "No se pudo preparar el pago. Inténtalo de nuevo."
    expect(visitor.toast("Error", sentence)).to_be_visible()
    expect(visitor.dialog.get_by_role("alert")).to_have_text(sentence)
    clear_faults()
    visitor.open_card_form("190,00 €").type_card().pay_button("190,00 €").click()
    visitor.expect_success()
    expect_one_of_everything(email, maths)


def test_payment_that_the_server_cannot_read_at_first_is_confirmed_on_the_success_page(
    visitor: Visitor, maths: Subject, email: str
) -> None:
    visitor.watch.expect("status of 502.*/api/complete-payment")
    visitor.to_step_2(maths.degree, [maths])
    switch_webhooks(enabled=False)
    set_fault(calls="GET /v1/payment_intents/*", caller="server", do="error_429")

    visitor.buy("190,00 €")

    # The card was charged, so the dialog must not suggest to pay again.
    expect(visitor.dialog.get_by_role("heading", name="Hemos recibido tu pago")).to_be_visible()
    expect(visitor.dialog).to_contain_text("No hace falta que pagues otra vez.")
    order = only_order(email)
    assert order.status == Order.Status.CART
    visitor.page.goto(f"/success?payment_intent_id={order.stripe_payment_intent_id}")
    waiting = visitor.page.get_by_role("heading", name="Tu banco está confirmando el pago")
    expect(waiting).to_be_visible()
    clear_faults()

    visitor.expect_success()
    expect_one_of_everything(email, maths)
