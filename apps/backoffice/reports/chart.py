"""The takings of twelve months as a bar chart, drawn by the server as inline SVG."""

from dataclasses import dataclass

from apps.backoffice.reports.figures import payments_in, unmatched_in
from apps.backoffice.reports.month import Month
from apps.backoffice.today.batched_questions import Question, answers, cents_of

MONTHS = 12
# The size of the drawing in its own units: a place for each bar, and the height of the highest.
PLACE, BAR, HIGHEST, ABOVE = 30, 20, 100, 16


@dataclass(frozen=True)
class Bar:
    """One month. `x`, `y` and `height` are in units of the drawing."""

    month: Month
    cents: int
    x: int
    y: int
    height: int
    is_chosen: bool

    @property
    def middle(self) -> int:
        return self.x + BAR // 2


@dataclass(frozen=True)
class Chart:
    """The bars, oldest first, and the month with the highest takings."""

    bars: list[Bar]
    highest: Bar
    width: int = MONTHS * PLACE
    height: int = ABOVE + HIGHEST + 20
    bar_width: int = BAR
    baseline: int = ABOVE + HIGHEST
    labels_at: int = ABOVE + HIGHEST + 14


def takings_chart(last: Month) -> Chart | None:
    """The chart of this month and the eleven before it, in one query. None if all are 0."""
    months = [last]
    while len(months) < MONTHS:
        months.insert(0, months[0].before)
    sums = iter(
        answers(
            [
                Question(rows(month), "SUM", "amount")
                for month in months
                for rows in (payments_in, unmatched_in)
            ]
        )
    )
    takings = [cents_of(next(sums)) + cents_of(next(sums)) for _ in months]
    most = max(takings)
    if not most:
        return None
    bars = []
    for place, (month, cents) in enumerate(zip(months, takings, strict=True)):
        height = HIGHEST * cents // most
        x = place * PLACE + (PLACE - BAR) // 2
        bars.append(Bar(month, cents, x, ABOVE + HIGHEST - height, height, month == last))
    return Chart(bars, max(bars, key=lambda bar: bar.cents))
