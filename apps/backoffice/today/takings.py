"""The money figures of the start page. All amounts are cents (docs/rules.md, "Hoy")."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Q, Sum
from django.db.models.functions import TruncMonth

from apps.backoffice.today.one_statement import Question
from apps.core.dates import midnight, month_start, today
from apps.core.money import to_cents
from apps.orders.models import Instalment, Payment, Refund
from apps.orders.reads import paid_after_reminder

PERMISSION = "orders.read_takings"


@dataclass(frozen=True)
class Period:
    """Two neighbouring periods of days: [start, end) and [before, start)."""

    label: str
    label_before: str
    before: date
    start: date
    end: date


@dataclass(frozen=True)
class Takings:
    """The payments of a period less its refunds, and those of the period before."""

    period: Period
    net_cents: int
    before_cents: int


def periods(day: date) -> list[Period]:
    """The day, the week from Monday and the month of `day`, each with the one before."""
    monday = day - timedelta(days=day.weekday())
    first = day.replace(day=1)
    tomorrow = day + timedelta(days=1)
    last_month = (first - timedelta(days=1)).replace(day=1)
    return [
        Period("Hoy", "ayer", day - timedelta(days=1), day, tomorrow),
        Period("Esta semana", "la anterior", monday - timedelta(days=7), monday, tomorrow),
        Period("Este mes", "el anterior", last_month, first, tomorrow),
    ]


def questions() -> list[Question]:
    """Takings and refunds of each period and of the one before, then the recovered carts."""
    sums = [
        question
        for period in periods(today())
        for start, end in ((period.start, period.end), (period.before, period.start))
        for question in _money_between(midnight(start), midnight(end))
    ]
    return [*sums, recovered_this_month()]


def takings(sums: list[Any]) -> list[Takings]:
    """The figures from the answers to `questions()`."""
    cents = iter(map(cents_of, sums))
    return [Takings(period, _net(cents), _net(cents)) for period in periods(today())]


def recovered_this_month() -> Question:
    return Question(paid_after_reminder(since=month_start()), "SUM", "total_amount")


@dataclass(frozen=True)
class Expected:
    """Money of instalments: what is late, and what is to come by month (first day, cents)."""

    late_cents: int
    by_month: list[tuple[date, int]]

    @property
    def outstanding_cents(self) -> int:
        """Everything that is still to be paid."""
        return self.late_cents + sum(cents for _, cents in self.by_month)


def expected() -> Expected:
    """The unpaid instalments, in one query."""
    late = Q(status=Instalment.Status.FAILED) | Q(due_on__lt=today())
    months = (
        Instalment.objects.unpaid()
        .annotate(month=TruncMonth("due_on"))
        .order_by("month")
        .values("month")
        .annotate(late=Sum("amount", filter=late), to_come=Sum("amount", filter=~late))
        .values_list("month", "late", "to_come")
    )
    rows = [(month, cents_of(late), cents_of(to_come)) for month, late, to_come in months]
    return Expected(
        sum(late for _, late, _ in rows),
        [(month, to_come) for month, _, to_come in rows if to_come],
    )


def _money_between(start: datetime, end: datetime) -> list[Question]:
    """Payments of orders by the moment of their success, refunds by the moment of their request."""
    paid = Payment.objects.filter(
        status=Payment.Status.SUCCEEDED, currency="eur", order__isnull=False,
        succeeded_at__gte=start, succeeded_at__lt=end,
    )  # fmt: skip
    back = Refund.objects.money_back().filter(created_at__gte=start, created_at__lt=end)
    return [Question(paid, "SUM", "amount"), Question(back, "SUM", "amount")]


def _net(cents: Iterator[int]) -> int:
    return next(cents) - next(cents)


def cents_of(amount: Any) -> int:
    """A sum in cents. SQLite sums decimals as floats, and a sum of no rows is None."""
    return to_cents(round(Decimal(str(amount or 0)), 2))
