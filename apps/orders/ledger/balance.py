"""The money that was paid for an order and refunded from it."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Sum

from apps.core.money import to_cents, to_euros
from apps.orders.models import Instalment, Order, Payment, Refund
from apps.orders.models.statuses import REFUND_COUNTED, REFUND_ELSEWHERE


@dataclass(frozen=True)
class Balance:
    """The paid and the refunded money of an order, and its cost so far, all in cents.

    The cost is the order's total or, with instalments, the sum of the paid instalments.
    """

    paid: int
    returned: int
    cost: int

    def less(self, cents: int) -> "Balance":
        """The balance after a further refund of this amount."""
        return Balance(self.paid, self.returned + cents, self.cost)

    @property
    def is_whole(self) -> bool:
        """Whether everything that was paid has been refunded."""
        return self.returned > 0 and self.returned >= self.paid

    @property
    def is_partial(self) -> bool:
        """Whether a part of the cost was refunded, and not just an excess payment."""
        return 0 < self.paid - self.returned < self.cost


def balance_of(order: Order) -> Balance:
    """The order's balance. Requested refunds count as refunded, rejected ones do not."""
    payments = order.payments.filter(status=Payment.Status.SUCCEEDED, currency="eur")
    sums = payments.aggregate(paid=Sum("amount"), returned=Sum("refunded"))
    outside = Refund.objects.filter(payment__order=order, status__in=REFUND_ELSEWHERE).aggregate(
        sum=Sum("amount")
    )["sum"]
    rows = list(order.instalments.all())
    cost = (
        sum(row.amount_cents for row in rows if row.status == Instalment.Status.PAID)
        if rows
        else order.total_cents
    )
    return Balance(cents_of(sums["paid"]), cents_of(sums["returned"]) + cents_of(outside), cost)


def cents_of(amount: Any) -> int:
    """A sum from the database in cents; 0 for the None that SUM gives without rows."""
    return to_cents(amount) if amount else 0


def refund_cents(payment: Payment) -> int:
    """How many cents of the payment were refunded or are requested to be."""
    rows = Refund.objects.filter(payment=payment, status__in=REFUND_COUNTED)
    return cents_of(rows.aggregate(sum=Sum("amount"))["sum"])


def count_refunded(payment: Payment) -> None:
    """Set `Payment.refunded` to the sum of the payment's refunds."""
    payment.refunded = to_euros(refund_cents(payment))
    payment.save(update_fields=["refunded"])


def unanswered_refund_cents(order: Order) -> int:
    """The cents of requested refunds. `balance_of` counts them; the provider may reject them."""
    rows = Refund.objects.unanswered().filter(payment__order=order)
    return cents_of(rows.aggregate(sum=Sum("amount"))["sum"])
