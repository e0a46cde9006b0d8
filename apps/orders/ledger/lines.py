"""What was paid for each line of an order, and what refunds have left of it.

The rules are in docs/rules.md, "Refunds and disputes".
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from apps.core.money import to_cents
from apps.core.shares import spread, take
from apps.orders.ledger.balance import balance_of
from apps.orders.models import Order, OrderLine, Payment, Refund
from apps.orders.models.statuses import REFUND_COUNTED, REFUND_ELSEWHERE


def lines_left(order: Order) -> QuerySet[OrderLine]:
    """The order's lines whose access has not been withdrawn by a refund."""
    carried_out = Refund.objects.exclude(reference="").filter(payment__order=order)
    return order.lines.exclude(refunds__in=carried_out)


def shares_of(lines: Sequence[OrderLine], total_cents: int) -> list[int]:
    """The cents of each line in a total, after all discounts. They add up to it exactly.

    Discounts are spread over the lines in proportion to their prices before discounts. What was
    paid for lessons comes off their subject alone (`nets_of`).
    """
    weights = [to_cents(line.list_price if line.net is None else line.net) for line in lines]
    if not any(weights):
        weights = [to_cents(line.list_price) for line in lines]
    return spread(total_cents, weights)


def nets_of(prices: Sequence[int], credits: Sequence[int], total_cents: int) -> list[int]:
    """The cents of each line in an order's total, which is less by the credits of the lines.

    No credit is above its line's part of the total without credits (`pricing.rules`).
    """
    whole = spread(total_cents + sum(credits), prices)
    return [share - credit for share, credit in zip(whole, credits, strict=True)]


@dataclass
class LineMoney:
    """The money of one line in cents: paid after all discounts, and refunded.

    `is_refunded` means that a refund has withdrawn its access or is about to.
    """

    line: OrderLine
    paid: int
    returned: int = 0
    is_refunded: bool = False

    @property
    def left(self) -> int:
        return self.paid - self.returned


@dataclass(frozen=True)
class OrderMoney:
    """What was paid for an order, split over its lines, in cents.

    `excess_left` was paid above the order's cost and has not been refunded. The lines' `left` and
    it add up to what was paid less what was refunded. `taken` has what each refund, named by its
    batch, has taken from each line, named by its id.
    """

    lines: Sequence[LineMoney]
    excess_left: int
    taken: dict[str, dict[int, int]]


def order_money(order: Order) -> OrderMoney:
    """Split what was paid and refunded over the lines.

    A refund of lines is taken from these, in proportion to what is left of each. Any other refund
    is taken from the excess payments, then from all lines. Requested refunds count, rejected ones
    do not. With instalments, only those that are paid count as paid. All that was paid for an order
    without lines is excess.
    """
    balance = balance_of(order)
    lines = list(order.lines.all())
    paid = min(balance.paid, balance.cost) if lines else 0
    excess = balance.paid - paid
    rows = {
        line.pk: LineMoney(line, cents)
        for line, cents in zip(lines, shares_of(lines, paid), strict=True)
    }
    all_taken = {}
    for batch, cents, line_ids in _refunds(order):
        from_excess = 0 if line_ids else min(excess, cents)
        left = {pk: row.left for pk, row in rows.items()}
        from_lines = min(cents - from_excess, sum(left.values()))
        taken = take(from_lines, left, first=line_ids)
        for pk, part in taken.items():
            rows[pk].returned += part
        for pk in line_ids:
            rows[pk].is_refunded = True
        excess -= min(excess, cents - from_lines)
        all_taken[batch] = taken
    return OrderMoney(list(rows.values()), excess, all_taken)


def _refunds(order: Order) -> list[tuple[str, int, list[int]]]:
    """The batch, the cents and the ids of the lines of each refund that counts, oldest first."""
    counted = Refund.objects.filter(
        payment__order=order,
        payment__status=Payment.Status.SUCCEEDED,
        payment__currency="eur",
        status__in=(*REFUND_COUNTED, *REFUND_ELSEWHERE),
    )
    cents: dict[str, int] = {}
    line_ids: dict[str, list[int]] = {}
    for refund in counted.order_by("pk").prefetch_related("lines"):
        cents[refund.batch] = cents.get(refund.batch, 0) + refund.amount_cents
        line_ids[refund.batch] = [line.pk for line in refund.lines.all()]
    return [(batch, cents[batch], line_ids[batch]) for batch in cents]
