"""The money figures of the start page. All amounts are cents (docs/rules.md, "Hoy")."""

from dataclasses import dataclass
from datetime import date, timedelta

from django.db.models import Q, Sum
from django.db.models.functions import TruncMonth
from django.utils.formats import date_format

from apps.backoffice.bar_chart import Chart, Place
from apps.backoffice.today.batched_questions import cents_of
from apps.backoffice.today.stored_takings import takings_by_day
from apps.core.dates import today
from apps.core.period import add_months
from apps.orders.models import Instalment

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


def takings() -> tuple[list[Takings], int]:
    """The takings of each period and of the one before, and this month's recovered carts."""
    shown = periods(today())
    days = takings_by_day(first_day(), shown[0].end)

    def net(start: date, end: date) -> int:
        return sum(sums.net_cents for day, sums in days.items() if start <= day < end)

    recovered = sum(days[day].recovered_cents for day in days if day >= today().replace(day=1))
    return [
        Takings(period, net(period.start, period.end), net(period.before, period.start))
        for period in shown
    ], recovered


def first_day() -> date:
    """The first day of the earliest period that is shown."""
    return min(period.before for period in periods(today()))


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


def instalments_chart(expected: Expected) -> Chart | None:
    """The instalments to come in the next twelve months. None if there are none."""
    due = dict(expected.by_month)
    months = [add_months(today().replace(day=1), number) for number in range(12)]
    last = max((at for at, month in enumerate(months) if due.get(month)), default=None)
    if last is None:
        return None
    places = [
        Place(date_format(month, "b"), date_format(month, r"F \d\e Y"), (due.get(month, 0),))
        for month in months[: last + 1]
    ]
    return Chart("plazos", "Plazos por cobrar", "Mes", ("Por cobrar",), places)
