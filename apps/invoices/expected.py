"""How much of an order its invoices must add up to."""

from django.db.models import Sum

from apps.orders.ledger.balance import balance_of, cents_of
from apps.orders.models import Instalment, Order, Refund
from apps.orders.models.statuses import EVER_PAID, REFUND_ELSEWHERE, PaymentKind, RefundStatus
from apps.orders.refunds.sent_back_by_bank import refunds_sent_back_by_bank

# The provider has made these refunds. A refund that the bank sent back is counted apart.
_MADE = (RefundStatus.PENDING, RefundStatus.SUCCEEDED, *REFUND_ELSEWHERE)


def expected_cents(order: Order) -> int:
    """The cents that the buyer owes for the order: its total less what a refund has undone.

    An order in instalments is invoiced in full when its first instalment is paid, because access to
    all of it begins then. Instalments that were canceled count as undone. Refunds of money that was
    paid twice change nothing. A refund that the bank sent back still counts, because the academy
    owes it to the buyer. An order whose total no card
    can pay was not charged.
    """
    if order.status not in EVER_PAID:
        return 0
    if order.payments.filter(kind=PaymentKind.FREE).exists():
        return 0
    canceled = order.instalments.filter(status=Instalment.Status.CANCELED)
    balance = balance_of(order)
    excess = max(0, balance.paid - balance.cost)
    undone = max(0, _returned_cents(order) - excess)
    return max(0, order.total_cents - _sum(canceled) - undone)


def _returned_cents(order: Order) -> int:
    refunds = Refund.objects.filter(payment__order=order)
    made = refunds.filter(status__in=_MADE)
    # A further refund replaces one that was sent back once the provider has made it, not before.
    sent_back = refunds_sent_back_by_bank(replaced_by=_MADE).filter(payment__order=order)
    return _sum(made) + _sum(sent_back)


def _sum(rows: object) -> int:
    return cents_of(rows.aggregate(sum=Sum("amount"))["sum"])  # type: ignore[attr-defined]
