"""Keeps the takings of days that are over, right to the cent (docs/rules.md, "Hoy").

"Hoy" adds up only the days that are not kept: usually today. A change of an older payment, refund
or order empties the sums of its day in the same transaction. A job fills them again.

A change that commits while the job adds up its day is not lost. The change raises the row's number
of changes and holds the row until it commits; the job stores its sums only under the number that it
read before it began to add up.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import F, Model, Q, Sum, Value
from django.db.models.functions import TruncDate
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.utils import timezone

from apps.backoffice.models import DayTakings
from apps.backoffice.today.batched_questions import cents_of
from apps.core.dates import midnight, today
from apps.orders.models import Order, Payment, Refund
from apps.orders.reads import paid_after_reminder

# No transaction that stored a payment on the day before still runs after this time.
OVER_AFTER = timedelta(hours=2)
ONE_DAY = timedelta(days=1)
# By model, the moment that decides the day and the other columns that sums are made of. Saves of
# other columns change no sum.
_MOMENTS: dict[type[Model], str] = {Payment: "succeeded_at", Refund: "created_at", Order: "paid_at"}
_COLUMNS: dict[type[Model], tuple[str, ...]] = {
    Payment: ("amount", "currency", "order", "status"),
    Refund: ("amount", "status"),
    Order: ("total_amount",),
}


class StoredTakingsDiffer(Exception):
    """Kept sums differ from those of the payments. Its text says of which days, in Spanish."""


@dataclass(frozen=True)
class Sums:
    """Sums by day in cents: payments, refunds, and orders paid after a reminder of the cart."""

    paid_cents: int = 0
    refunded_cents: int = 0
    recovered_cents: int = 0

    @property
    def net_cents(self) -> int:
        return self.paid_cents - self.refunded_cents


def takings_by_day(start: date, end: date) -> dict[date, Sums]:
    """The sums of each day in [start, end), in at most two queries."""
    kept = _kept(start, end)
    missing = [day for day in _days(start, end) if day not in kept]
    return {**kept, **add_up(missing)}


def keep_days(start: date) -> int:
    """Add up the days since `start` that are over and not kept. Returns their number."""
    over = timezone.localdate(timezone.now() - OVER_AFTER)
    for day in set(_days(start, over)).difference(_kept(start, over)):
        DayTakings.objects.get_or_create(day=day)
    # The rows are read before the payments are added up: see the module's docstring.
    rows = list(DayTakings.objects.filter(day__gte=start, day__lt=over, recovered_cents=None))
    sums = add_up([row.day for row in rows])
    return sum(_store(row, sums[row.day]) for row in rows)


def check_days(start: date) -> int:
    """Compare the kept sums since `start` with the payments. Returns the number of days.

    Wrong days are emptied, so that they are added up again. Raises StoredTakingsDiffer.
    """
    rows = list(DayTakings.objects.filter(day__gte=start, recovered_cents__isnull=False))
    right = add_up([row.day for row in rows])
    wrong = [row for row in rows if _sums(row) != right[row.day]]
    # A day that has changed since the rows were read is not wrong, and has been emptied.
    if days := [str(row.day) for row in wrong if _store(row, None)]:
        raise StoredTakingsDiffer(f"Días de «Hoy» con otra recaudación: {', '.join(days)}")
    return len(rows)


def _store(row: DayTakings, sums: Sums | None) -> int:
    """Store these sums, or none, unless the day has changed since the row was read."""
    return DayTakings.objects.filter(day=row.day, changes=row.changes).update(
        paid_cents=sums.paid_cents if sums else None,
        refunded_cents=sums.refunded_cents if sums else None,
        recovered_cents=sums.recovered_cents if sums else None,
        changes=F("changes") + (0 if sums else 1),
    )


def _sums(row: DayTakings) -> Sums:
    return Sums(row.paid_cents or 0, row.refunded_cents or 0, row.recovered_cents or 0)


def add_up(days: Collection[date]) -> dict[date, Sums]:
    """The sums of these days from payments, refunds and orders, in one query.

    Payments of orders count by the moment of their success, refunds by the moment of their request.
    """
    if not days:
        return {}
    payments = Payment.objects.filter(
        status=Payment.Status.SUCCEEDED, currency="eur", order__isnull=False
    )
    refunds = Refund.objects.money_back().filter(payment__currency="eur")
    recovered = paid_after_reminder(since=midnight(min(days)))
    sums = _by_day("paid_cents", payments, "amount", days).union(
        _by_day("refunded_cents", refunds, "amount", days),
        _by_day("recovered_cents", recovered, "total_amount", days),
        all=True,
    )
    cents: dict[date, dict[str, int]] = {day: {} for day in days}
    for column, day, amount in sums:
        cents[day][column] = cents_of(amount)
    return {day: Sums(**columns) for day, columns in cents.items()}


def _by_day(column: str, rows: Any, amount: str, days: Collection[date]) -> Any:
    """The name of the column, the day and the sum of the rows of each of these days."""
    moment, within = _MOMENTS[rows.model], Q()
    for first, last in _runs(sorted(days)):
        start, end = midnight(first), midnight(last + ONE_DAY)
        within |= Q(**{f"{moment}__gte": start, f"{moment}__lt": end})
    found = rows.filter(within).order_by().annotate(column=Value(column), day=TruncDate(moment))
    return found.values_list("column", "day").annotate(Sum(amount))


def _runs(days: list[date]) -> Iterator[tuple[date, date]]:
    """The first and last day of each run of consecutive days."""
    first = last = days[0]
    for day in days[1:]:
        if day - last > ONE_DAY:
            yield first, last
            first = day
        last = day
    yield first, last


def _kept(start: date, end: date) -> dict[date, Sums]:
    rows = DayTakings.objects.filter(day__gte=start, day__lt=end, recovered_cents__isnull=False)
    return {row.day: _sums(row) for row in rows}


def _days(start: date, end: date) -> Iterator[date]:
    for number in range((end - start).days):
        yield start + timedelta(days=number)


@receiver((post_save, post_delete), sender=Payment)
@receiver((post_save, post_delete), sender=Refund)
@receiver((post_save, post_delete), sender=Order)
def empty_changed_day(
    sender: type[Model],
    instance: Model,
    update_fields: frozenset[str] | None = None,
    **kwargs: Any,
) -> None:
    """Empty the sums of the day of a changed row, if that day is over."""
    moment = _MOMENTS[sender]
    if update_fields is not None and update_fields.isdisjoint((moment, *_COLUMNS[sender])):
        return
    at: datetime | None = getattr(instance, moment)
    if at and timezone.localdate(at) < today():
        _empty(timezone.localdate(at))


def _empty(day: date) -> None:
    DayTakings.objects.get_or_create(day=day)
    DayTakings.objects.filter(day=day).update(
        paid_cents=None, refunded_cents=None, recovered_cents=None, changes=F("changes") + 1
    )
