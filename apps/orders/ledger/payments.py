"""Payments that have succeeded."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from apps.core.money import to_cents, to_euros
from apps.orders.models import Order, Payment
from apps.orders.models.statuses import PaymentKind


@dataclass(frozen=True)
class ConfirmedPayment:
    """A payment that the provider reports as succeeded.

    `reference` is its id at the provider, or an id of the shop's own for one without the provider.
    `session` is the id of the Checkout Session that it was opened with, if any. `succeeded_at` is
    the moment of its success at the provider, or None if it succeeds now.
    """

    reference: str
    amount_cents: int
    currency: str = "eur"
    payment_method: str = ""
    session: str = ""
    kind: PaymentKind = PaymentKind.CARD
    succeeded_at: datetime | None = None

    def moment(self) -> datetime:
        """When it succeeded. Never later than now: the provider's clock may be ahead."""
        now = timezone.now()
        return min(self.succeeded_at or now, now)


def record_payment(
    order: Order, row: Payment | None, payment: ConfirmedPayment, *, flag_reason: str
) -> Payment:
    """Store a succeeded payment. `row` is the payment's row, if it was stored as open before.

    `flag_reason` is a Spanish text for staff, empty for a payment that fits its order.
    """
    row = row or Payment(order=order)
    row.reference = payment.reference
    row.session = payment.session or row.session
    row.amount = to_euros(payment.amount_cents)
    row.currency = payment.currency
    row.payment_method = payment.payment_method
    row.status = Payment.Status.SUCCEEDED
    row.kind = payment.kind
    row.succeeded_at = payment.moment()
    row.recorded_at = timezone.now()
    row.flag = flag_reason[:200]
    row.save()
    return row


def amount_paid_cents(order: Order) -> int:
    """The sum of the order's succeeded payments in cents, flagged ones included."""
    return sum(
        to_cents(payment.amount)
        for payment in order.payments.all()
        if payment.status == Payment.Status.SUCCEEDED
    )
