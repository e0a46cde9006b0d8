"""The price that staff have agreed for an order binds while the order is open.

It binds for exactly the lines and the payment type of the order, and not above today's prices
(docs/rules.md, "Orders made by staff"). Once the buyer has stored another cart in the order, it
does not bind any more: the total of that cart is no price that staff have agreed.
"""

from collections.abc import Sequence

from apps.orders.checkout.cart import CartLine
from apps.orders.models import Order, StaffOrder
from apps.pricing.payment_type import PaymentType


def agreed_cents(
    order: Order | None, lines: Sequence[CartLine], payment_type: PaymentType
) -> int | None:
    """The order's agreed total, or None if staff agreed none for these lines."""
    if order is None or order.payment_type != payment_type:
        return None
    by_staff = StaffOrder.objects.filter(order=order).first()
    if by_staff is None or order.promo_code_id or order.total_amount != by_staff.agreed:
        return None
    ordered = set(order.lines.values_list("subject_id", "lesson_id"))
    if {(line.subject.pk, line.lesson.pk if line.lesson else None) for line in lines} != ordered:
        return None
    today_cents = sum(line.item.price_cents for line in lines)
    return order.total_cents if order.total_cents <= today_cents else None
