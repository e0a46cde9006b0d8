"""The period of a report or a book: days in Europe/Madrid, at most a year of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.utils.formats import date_format

from apps.core.dates import midnight, today

MOST_DAYS = 366
NO_PERIOD = (
    "Ese periodo no vale. Escribe dos fechas, la primera antes que la última, y como mucho un año "
    "entre ellas."
)
_ONE_DAY = timedelta(days=1)
_WRITTEN = re.compile(
    r"(?P<year>20\d\d)(?:-T(?P<quarter>[1-4])|-(?P<month>0[1-9]|1[0-2]))?", re.ASCII
)
_DAYS = re.compile(r"(20\d\d-\d\d-\d\d)_(20\d\d-\d\d-\d\d)", re.ASCII)


@dataclass(frozen=True)
class Period:
    """The days from `first` to `last`, both in it. Its text is "2026-T4", "2026-11" or "2026"."""

    first: date
    last: date

    @property
    def start(self) -> datetime:
        return midnight(self.first)

    @property
    def end(self) -> datetime:
        """The first moment after the period."""
        return midnight(self.last + _ONE_DAY)

    @property
    def is_over(self) -> bool:
        return self.last < today()

    @property
    def months(self) -> int:
        """1, 3 or 12 for a calendar month, quarter or year; 0 for other days."""
        for months in (1, 3, 12):
            if (self.first.month - 1) % months == 0 and self == _of_months(self.first, months):
                return months
        return 0

    @property
    def before(self) -> "Period":
        """The period of the same kind before this one."""
        if self.months:
            return _of_months(add_months(self.first, -self.months), self.months)
        return Period(self.first - (self.last - self.first) - _ONE_DAY, self.first - _ONE_DAY)

    @property
    def next(self) -> "Period":
        """The period of the same kind after this one."""
        if self.months:
            return _of_months(add_months(self.first, self.months), self.months)
        return Period(self.last + _ONE_DAY, self.last + (self.last - self.first) + _ONE_DAY)

    @property
    def label(self) -> str:
        """The period as a Spanish phrase: "4.º trimestre de 2026", "del 05/10/2026 al …"."""
        match self.months:
            case 12:
                return f"año {self.first.year}"
            case 3:
                ordinal = ("1.er", "2.º", "3.er", "4.º")[self.first.month // 3]
                return f"{ordinal} trimestre de {self.first.year}"
            case 1:
                return date_format(self.first, r"F \d\e Y")
        return f"del {self.first:%d/%m/%Y} al {self.last:%d/%m/%Y}"

    def __str__(self) -> str:
        match self.months:
            case 12:
                return f"{self.first.year}"
            case 3:
                return f"{self.first.year}-T{self.first.month // 3 + 1}"
            case 1:
                return f"{self.first:%Y-%m}"
        return f"{self.first}_{self.last}"


def period_of(text: str) -> Period | None:
    """The period that a text names, also two days ("2026-10-05_2026-11-20"); else None."""
    if found := _WRITTEN.fullmatch(text):
        year, quarter, month = (int(found[name] or 0) for name in ("year", "quarter", "month"))
        if quarter:
            return _of_months(date(year, 3 * quarter - 2, 1), 3)
        return _of_months(date(year, month or 1, 1), 1 if month else 12)
    if found := _DAYS.fullmatch(text):
        return period_between(found[1], found[2])
    return None


def period_between(first: str, last: str) -> Period | None:
    """The period between two days as browsers send them, "2026-10-05"; None if it is none."""
    found = _DAYS.fullmatch(f"{first}_{last}")
    try:
        days = [date.fromisoformat(day) for day in found.groups()] if found else []
    except ValueError:  # Such as 31 February.
        return None
    if not days or not 0 <= (days[1] - days[0]).days < MOST_DAYS:
        return None
    return Period(*days)


def asked_period(asked: Mapping[str, str], *, default: Period) -> tuple[Period, str]:
    """The period that a page's address asks for, and a Spanish sentence if it asks for none.

    An address has two days ("desde" and "hasta"), or the text of a period ("periodo").
    """
    if "desde" in asked or "hasta" in asked:
        period = period_between(asked.get("desde", ""), asked.get("hasta", ""))
    elif "periodo" in asked:
        period = period_of(asked["periodo"])
    else:
        return default, ""
    return (period, "") if period else (default, NO_PERIOD)


def this_month() -> Period:
    return _of_months(today().replace(day=1), 1)


def this_quarter() -> Period:
    day = today()
    return _of_months(date(day.year, day.month - (day.month - 1) % 3, 1), 3)


def _of_months(first: date, months: int) -> Period:
    return Period(first, add_months(first, months) - _ONE_DAY)


def add_months(first: date, months: int) -> date:
    """The first day of the month that many months after that of `first`."""
    count = 12 * first.year + first.month - 1 + months
    return date(count // 12, count % 12 + 1, 1)
