"""Orders that are placed and paid without Stripe, for tests of friend codes and rewards."""

from itertools import count
from typing import Any

from apps.catalogue.models import Subject
from apps.orders.checkout.place import Placed, place
from apps.orders.checkout.request import Checkout
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order, ReferralReward
from apps.orders.offer.cart import CheckoutItem
from apps.orders.settlement.mark_paid import mark_paid
from apps.pricing.models import PromoCode
from tests.helpers.factories import BRUNO

NOVEMBER = "2026-11-21T10:00:00+01:00"
_references = count(1)


def place_order(
    subject: Subject,
    *,
    total: int,
    code: str = "",
    payment_type: str = "full_payment",
    **buyer: str,
) -> Placed:
    """Place an unpaid order, Bruno's unless told otherwise. `total` is in cents."""
    buyer = {**BRUNO, **buyer}
    return place(
        Checkout(
            email=buyer["email"],
            phone=buyer["phone"],
            payment_type=payment_type,
            items=(CheckoutItem(subject.pk),),
            expected_total_cents=total,
            accepted=frozenset({"terms", "privacy", "adult", "withdrawal"}),
            promo_code=code,
        )
    )


def pay_order(placed: Placed) -> Order:
    payment = ConfirmedPayment(f"pi_{next(_references)}", placed.offer.due_now_cents)
    return mark_paid(order_id=placed.order.pk, payment=payment, actor="Stripe")


def buy_subject(subject: Subject, **details: Any) -> Order:
    """Place an order for the subject and pay it."""
    return pay_order(place_order(subject, **details))


def earn_reward(subject: Subject, code: PromoCode, **details: Any) -> ReferralReward:
    """The reward for Bruno's order with Ana's code: 200 €, less 10 € for one payment, less 15 €."""
    return buy_subject(subject, total=17500, code=code.code, **details).referral_reward
