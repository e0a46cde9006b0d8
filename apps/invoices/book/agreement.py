"""The book beside the takings of its period: why the two differ, to the cent.

What the shop took less what it gave back is what the reports count
(`apps.orders.ledger.money_by_period`). An order is invoiced whole when its first instalment is
paid, and whenever its buyer asks for it. So the two differ by order: one has no invoice at all, or
its invoice or its money belongs to another period.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet, Sum

from apps.core.money import to_cents
from apps.core.period import Period
from apps.invoices.book.entries import invoices_in, removed_by
from apps.invoices.models import Invoice
from apps.orders.ledger.balance import cents_of
from apps.orders.ledger.money_by_period import movements_in, unmatched_in


class Why(StrEnum):
    """Why the takings of an order differ from its invoices in the period."""

    UNINVOICED = "sin-factura"
    OTHER_PERIOD = "otro-periodo"


@dataclass(frozen=True)
class Difference:
    """An order whose takings and invoices of the period differ. Amounts are cents.

    `order_id` is None for payments that match no order, all of them together.
    """

    order_id: int | None
    taken: int
    invoiced: int
    why: Why

    @property
    def cents(self) -> int:
        return self.taken - self.invoiced


@dataclass(frozen=True)
class Agreement:
    """The takings of a period, and what explains their difference from the book, in cents."""

    taken: int
    returned: int
    invoiced: int
    differences: tuple[Difference, ...]

    @property
    def net(self) -> int:
        return self.taken - self.returned

    def of(self, why: Why) -> list[Difference]:
        return [each for each in self.differences if each.why == why]

    @property
    def uninvoiced(self) -> int:
        return sum(each.cents for each in self.of(Why.UNINVOICED))

    @property
    def other_period(self) -> int:
        return sum(each.cents for each in self.of(Why.OTHER_PERIOD))

    @property
    def unexplained(self) -> int:
        """0, unless an invoice has lost its order or contradicts its own breakdown."""
        return self.net - self.invoiced - self.uninvoiced - self.other_period


def agreement_of(period: Period, *, invoiced: int) -> Agreement:
    """Compare a book that adds up to `invoiced` cents with the takings, in nine statements."""
    taken: Counter[int | None] = Counter()
    has_invoice: set[int | None] = set()
    gross = returned = 0
    for rows, path, sign in movements_in(period):
        for order_id, is_invoiced, cents in _by_order(rows, path):
            taken[order_id] += sign * cents
            gross += cents if path == "order" else 0
            returned -= 0 if path == "order" else sign * cents
            if is_invoiced:
                has_invoice.add(order_id)
    unmatched = cents_of(unmatched_in(period).aggregate(sum=Sum("amount"))["sum"])
    taken[None] += unmatched
    in_book = _invoiced_by_order(period)
    has_invoice |= in_book.keys()
    return Agreement(
        taken=gross + unmatched,
        returned=returned,
        invoiced=invoiced,
        differences=tuple(_differences(taken, in_book, has_invoice)),
    )


def _differences(
    taken: Counter[int | None], in_book: Counter[int | None], has_invoice: set[int | None]
) -> Iterator[Difference]:
    """The differences, those of the newest orders first. An invoice without an order is none."""
    orders = sorted(taken.keys() | in_book.keys(), key=lambda pk: -1 if pk is None else -pk)
    for order_id in orders:
        if order_id is None:
            if taken[None]:
                yield Difference(None, taken[None], 0, Why.UNINVOICED)
        elif taken[order_id] != in_book[order_id]:
            why = Why.OTHER_PERIOD if order_id in has_invoice else Why.UNINVOICED
            yield Difference(order_id, taken[order_id], in_book[order_id], why)


def _by_order(rows: QuerySet[Any], path: str) -> Iterator[tuple[int | None, bool, int]]:
    """The cents of each order, and whether it has an invoice of any period."""
    invoices = Invoice.objects.filter(order=OuterRef(path))
    sums = (
        rows.order_by(path)
        .values_list(path)
        .annotate(is_invoiced=Exists(invoices), sum=Sum("amount"))
    )
    for order_id, is_invoiced, amount in sums:
        yield order_id, is_invoiced, to_cents(amount)


def _invoiced_by_order(period: Period) -> Counter[int | None]:
    """The sum of each order in the book of the period, by the totals of its invoices."""
    invoices = invoices_in(period)
    sums: Counter[int | None] = Counter()
    for rows, sign in ((invoices, 1), *((rows, -1) for _, rows in removed_by(invoices))):
        by_order = rows.order_by("order").values_list("order").annotate(sum=Sum("total"))
        for order_id, total in by_order:
            sums[order_id] += sign * to_cents(total)
    return sums
