"""How much of an order can be refunded, from which payments, and up to which daily limit.

The rules are in docs/rules.md, "Refunds and disputes".
"""

from typing import Any

from django.db.models import F, Sum

from apps.core.dates import today
from apps.core.money import format_euros, to_cents
from apps.core.staff.limits import limits_of
from apps.orders.ledger.balance import cents_of
from apps.orders.ledger.disputed_credit import disputed_credit_cents
from apps.orders.ledger.lines import order_money
from apps.orders.models import Order, Payment, Refund, StaffOrder
from apps.orders.models.statuses import DISPUTE_HELD, REFUND_ELSEWHERE, PaymentKind


def refundable_payments(order: Order) -> list[tuple[Payment, int]]:
    """The payments of an order and how many cents of each can be refunded.

    They are in the order in which they are refunded: excess payments first, then the newest. A
    disputed payment is left out, because the bank decides who gets its money, and so is what it has
    paid of a credit.
    """
    outside = Refund.objects.filter(payment__order=order, status__in=REFUND_ELSEWHERE)
    sums = dict(outside.order_by().values_list("payment").annotate(Sum("amount")))
    payments = (
        order.payments.filter(status=Payment.Status.SUCCEEDED, currency="eur", amount__gt=0)
        .exclude(disputes__status__in=DISPUTE_HELD)
        .order_by("-succeeded_at", "-pk")
    )
    disputed = disputed_credit_cents(order)
    left = [
        (
            payment,
            to_cents(payment.amount)
            - to_cents(payment.refunded)
            - cents_of(sums.get(payment.pk))
            - (disputed if payment.kind == PaymentKind.CREDIT else 0),
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
    """How many cents this clerk may still refund today.

    Forgiven instalments count, and so does what waits to go back with exchanges.
    """
    given = (
        Refund.objects.filter(user=user, created_at__date=today())
        # A rejected refund has moved no money.
        .exclude(status=Refund.Status.FAILED, reference="")
        .aggregate(sum=Sum(F("amount") + F("forgiven")))["sum"]
    )
    return max(0, limits_of(user).refund_cents - cents_of(given) - waiting_rests_cents(user))


def waiting_rests_words(user: Any) -> str:
    """What this clerk's waiting exchanges leave less for today, for the end of a sentence."""
    cents = waiting_rests_cents(user)
    return f" ({format_euros(cents)} esperan en cambios sin aprobar)" if cents else ""


def waiting_rests_cents(user: Any) -> int:
    """How many cents go back if all of this clerk's waiting exchanges are approved.

    Otherwise refunds and exchanges, each within the limit, could exceed it together.
    """
    waiting = StaffOrder.objects.awaiting_approval().filter(
        user=user, exchanged_at=None, agreed=0, exchanged_line__isnull=False
    )
    cents = 0
    for exchange in waiting.select_related("exchanged_line__order"):
        line = exchange.exchanged_line
        if line is not None:
            row = next(row for row in order_money(line.order).lines if row.line.pk == line.pk)
            # A refund may have taken a part of the line meanwhile, or all of it.
            cents += 0 if row.is_refunded else max(0, row.left - to_cents(exchange.credit))
    return cents
