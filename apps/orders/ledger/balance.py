"""What an order has brought in and what was given back."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Sum

from apps.core.money import to_cents, to_euros
from apps.orders.models import Instalment, Order, Payment, Refund
from apps.orders.models.statuses import REFUND_COUNTED


@dataclass(frozen=True)
class Balance:
    """What an order has brought and what went back, in cents. `cost` is what was due so far."""

    paid: int
    returned: int
    cost: int

    def less(self, cents: int) -> "Balance":
        return Balance(self.paid, self.returned + cents, self.cost)

    @property
    def is_whole(self) -> bool:
        return self.returned > 0 and self.returned >= self.paid

    @property
    def is_partial(self) -> bool:
        """Some of what it costs went back. A payment too many is no part of that."""
        return 0 < self.paid - self.returned < self.cost


def balance_of(order: Order) -> Balance:
    payments = order.payments.filter(status=Payment.Status.SUCCEEDED, currency="eur")
    sums = payments.aggregate(paid=Sum("amount"), returned=Sum("refunded"))
    outside = Refund.objects.filter(payment__order=order, status=Refund.Status.OUTSIDE).aggregate(
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
    return to_cents(amount) if amount else 0


def refund_cents(payment: Payment) -> int:
    """What of the payment was refunded or is about to be."""
    rows = Refund.objects.filter(payment=payment, status__in=REFUND_COUNTED)
    return cents_of(rows.aggregate(sum=Sum("amount"))["sum"])


def count_refunded(payment: Payment) -> None:
    """Bring `Payment.refunded` up to date with the payment's refunds."""
    payment.refunded = to_euros(refund_cents(payment))
    payment.save(update_fields=["refunded"])


def unanswered_refund_cents(order: Order) -> int:
    """What `balance_of` counts as returned although the provider may still reject it."""
    rows = Refund.objects.unanswered().filter(payment__order=order)
    return cents_of(rows.aggregate(sum=Sum("amount"))["sum"])
