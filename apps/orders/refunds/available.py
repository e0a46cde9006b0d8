"""How much of an order can be refunded, from which payments, and up to which daily limit.

The rules are in docs/rules.md, "Refunds and disputes".
"""

from typing import Any

from django.db.models import F, Sum

from apps.core.dates import today
from apps.core.money import to_cents
from apps.core.staff.limits import limits_of
from apps.orders.ledger.balance import cents_of
from apps.orders.models import Order, Payment, Refund
from apps.orders.models.statuses import DISPUTE_HELD, REFUND_ELSEWHERE


def refundable_payments(order: Order) -> list[tuple[Payment, int]]:
    """The payments of an order and how many cents of each can be refunded.

    They are in the order in which they are refunded: excess payments first, then the newest. A
    disputed payment is left out, because the bank decides who gets its money.
    """
    outside = Refund.objects.filter(payment__order=order, status__in=REFUND_ELSEWHERE)
    sums = dict(outside.order_by().values_list("payment").annotate(Sum("amount")))
    payments = (
        order.payments.filter(status=Payment.Status.SUCCEEDED, currency="eur", amount__gt=0)
        .exclude(disputes__status__in=DISPUTE_HELD)
        .order_by("-succeeded_at", "-pk")
    )
    left = [
        (
            payment,
            to_cents(payment.amount) - to_cents(payment.refunded) - cents_of(sums.get(payment.pk)),
        )
        for payment in payments
    ]
    return sorted(
        [(payment, cents) for payment, cents in left if cents > 0],
        key=lambda row: not row[0].flag,
    )


def refundable_cents(order: Order) -> int:
    """How many cents of the order can be refunded in all."""
    return sum(cents for _, cents in refundable_payments(order))


def left_today_cents(user: Any) -> int:
    """How many cents this clerk may still refund today. Forgiven instalments count."""
    given = (
        Refund.objects.filter(user=user, created_at__date=today())
        # A rejected refund has moved no money.
        .exclude(status=Refund.Status.FAILED, reference="")
        .aggregate(sum=Sum(F("amount") + F("forgiven")))["sum"]
    )
    return max(0, limits_of(user).refund_cents - cents_of(given))
