"""Credit of exchanges that was paid with money in dispute (docs/rules.md, "Exchanges")."""

from apps.orders.models import Order, Refund
from apps.orders.models.statuses import DISPUTE_HELD, PaymentKind


def disputed_credit_cents(order: Order) -> int:
    """How many cents of the order's credit were paid with money that is in dispute, or was lost.

    An exchanged order may have been paid with the credit of an earlier exchange, and so on.
    """
    exchanges = []
    credited: int | None = order.pk
    while credited is not None:
        parts = list(Refund.objects.filter(credited_to=credited).select_related("payment"))
        exchanges.append(parts)
        # An exchange takes one line of one order.
        credited = parts[0].payment.order_id if parts else None
    cents = 0
    for parts in reversed(exchanges):
        cents = sum(min(part.amount_cents, _in_dispute(part, cents)) for part in parts)
    return cents


def _in_dispute(credited: Refund, credit_in_dispute: int) -> int:
    """At most how many cents of a payment that was credited are in dispute.

    `credit_in_dispute` are those of the credit of its order.
    """
    payment = credited.payment
    if payment.disputes.filter(status__in=DISPUTE_HELD).exists():
        return credited.amount_cents
    return credit_in_dispute if payment.kind == PaymentKind.CREDIT else 0
