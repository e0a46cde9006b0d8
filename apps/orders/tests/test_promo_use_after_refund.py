"""What a refund does to the use of a promo code (docs/rules.md, "Promo codes")."""

import pytest

from apps.orders.checkout.place import place
from apps.orders.checkout.request import Checkout
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models.statuses import PromoUseStatus
from apps.orders.offer.cart import CheckoutItem
from apps.orders.refunds.preview import keeps_promo_use
from apps.orders.settlement.mark_paid import mark_paid
from tests.helpers.factories import BRUNO, make_promo, make_subject

pytestmark = pytest.mark.django_db


@pytest.fixture
def order():
    """An order of 200 € placed with a code of 5 €, not paid yet."""
    make_promo("CINCO", kind="FIJO", value="5")
    placed = place(
        Checkout(
            email=BRUNO["email"],
            phone=BRUNO["phone"],
            payment_type="full_payment",
            items=(CheckoutItem(make_subject(price="200.00").pk),),
            expected_total_cents=18500,
            accepted=frozenset({"terms", "privacy", "adult", "withdrawal"}),
            promo_code="CINCO",
        )
    )
    return placed.order


def test_refund_keeps_the_use_of_a_paid_order(order):
    mark_paid(order_id=order.pk, payment=ConfirmedPayment("pi_1", 18500), actor="Stripe")

    assert keeps_promo_use(order)


@pytest.mark.parametrize("status", [PromoUseStatus.RESERVED, PromoUseStatus.RELEASED])
def test_use_that_was_never_used_up_is_not_kept(order, status):
    order.promo_uses.update(status=status)

    assert not keeps_promo_use(order)
