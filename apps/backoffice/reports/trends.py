"""The charts of the reports: takings by month and by week, and how many carts are paid."""

from collections import Counter
from datetime import date, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.utils.formats import date_format

from apps.backoffice.bar_chart import Chart, Place
from apps.backoffice.today.batched_questions import cents_of
from apps.core.dates import midnight, today
from apps.core.money import grouped
from apps.core.period import Period, add_months
from apps.orders.ledger.money_by_period import payments_in, unmatched_in
from apps.orders.models import Order, Payment
from apps.orders.models.statuses import EVER_PAID

MONTHS, WEEKS = 12, 13
# Expired carts are kept for 90 days: of these weeks none is deleted.
CART_WEEKS = 12
WEEK = timedelta(days=7)
# The same weekday a year before.
YEAR_OF_WEEKS = 52 * WEEK


def takings_charts(last: date) -> list[Chart]:
    """The takings of twelve months and of thirteen weeks, the last with this day, in one query.

    Beside each month stands that of the year before, and beside each week that of 52 weeks before.
    """
    first_month = add_months(last.replace(day=1), 1 - MONTHS)
    first_week = last - timedelta(days=last.weekday()) - (WEEKS - 1) * WEEK
    days = _taken_by_day(add_months(first_month, -12), last)
    months = [add_months(first_month, number) for number in range(MONTHS)]
    weeks = [first_week + number * WEEK for number in range(WEEKS)]

    def taken(start: date, end: date) -> int:
        return sum(cents for day, cents in days.items() if start <= day < end)

    def month(first: date) -> Place:
        before = add_months(first, -12)
        now = taken(first, add_months(first, 1)), taken(before, add_months(before, 1))
        whole = date_format(first, r"F \d\e Y")
        return Place(date_format(first, "b"), whole, now, _change(*now), f"{first:%Y-%m}")

    def week(first: date) -> Place:
        before = first - YEAR_OF_WEEKS
        now = taken(first, first + WEEK), taken(before, before + WEEK)
        end = first + WEEK - timedelta(days=1)
        return Place(
            date_format(first, "j b"), f"Del {first:%d/%m/%Y} al {end:%d/%m/%Y}", now,
            _change(*now), f"{first}_{end}",
        )  # fmt: skip

    series, compared = ("Cobrado", "Un año antes"), "Diferencia"
    charts = [
        Chart(
            "meses", "Cobrado por mes", "Mes", series, list(map(month, months)),
            note_heading=compared,
        ),
        Chart(
            "semanas", "Cobrado por semana", "Semana", series, list(map(week, weeks)),
            note_heading=compared,
            help="Cada semana va de lunes a domingo, y se compara con la de 52 semanas antes.",
        ),
    ]  # fmt: skip
    return [chart for chart in charts if any(any(place.numbers) for place in chart.places)]


def _taken_by_day(first: date, last: date) -> Counter[date]:
    """The cents that were taken on each day, as the report counts them."""
    period = Period(first, last)
    days: Counter[date] = Counter()
    of_orders, others = _by_day(payments_in(period)), _by_day(unmatched_in(period))
    for day, amount in of_orders.union(others, all=True):
        days[day] += cents_of(amount)
    return days


def _by_day(rows: QuerySet[Payment]) -> Any:
    by_day = rows.order_by().annotate(day=TruncDate("succeeded_at")).values_list("day")
    return by_day.annotate(Sum("amount"))


def _change(now: int, before: int) -> str:
    if not before:
        return "–"
    percent = round(100 * (now - before) / before)
    return f"{'+' if percent > 0 else '−' if percent < 0 else ''}{grouped(abs(percent))} %"


def carts_chart(last: date) -> Chart | None:
    """The carts of each week and those of them that were paid, in one query.

    None if the weeks are too long ago: their expired carts are deleted.
    """
    monday = last - timedelta(days=last.weekday())
    first = monday - (CART_WEEKS - 1) * WEEK
    if today() - first > timedelta(days=90):
        return None
    weeks = [first + number * WEEK for number in range(CART_WEEKS)]
    by_day = (
        Order.objects.filter(
            status__in=Order.Status.values,
            created_at__gte=midnight(first),
            created_at__lt=midnight(monday + WEEK),
        )
        .order_by()
        .annotate(day=TruncDate("created_at"))
        .values_list("day")
        .annotate(all=Count("pk"), paid=Count("pk", filter=Q(status__in=EVER_PAID)))
    )
    carts: Counter[date] = Counter()
    paid: Counter[date] = Counter()
    for day, count, paid_count in by_day:
        week = day - timedelta(days=day.weekday())
        carts[week] += count
        paid[week] += paid_count
    if not carts:
        return None
    places = [
        Place(
            date_format(week, "j b"), f"Del {week:%d/%m/%Y}", (paid[week], carts[week]),
            f"{round(100 * paid[week] / carts[week])} %" if carts[week] else "–",
        )
        for week in weeks
    ]  # fmt: skip
    return Chart(
        "carritos", "Del carrito al pago, por semana", "Semana", ("Pagados", "Carritos"), places,
        is_money=False, note_heading="De cada 100",
        help="Carritos con datos de contacto, por la semana en que se empezaron.",
    )  # fmt: skip
