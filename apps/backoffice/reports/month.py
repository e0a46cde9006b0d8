import re
from dataclasses import dataclass
from datetime import date, datetime

from apps.core.dates import midnight, today

WRITTEN = re.compile(r"(20\d\d)-(0[1-9]|1[0-2])")


@dataclass(frozen=True)
class Month:
    """A calendar month in Europe/Madrid. `first` is its first day."""

    first: date

    @property
    def start(self) -> datetime:
        return midnight(self.first)

    @property
    def end(self) -> datetime:
        """The first moment of the next month."""
        return midnight(self.next.first)

    @property
    def next(self) -> "Month":
        later = self.first.month == 12
        return Month(date(self.first.year + later, 1 if later else self.first.month + 1, 1))

    @property
    def before(self) -> "Month":
        earlier = self.first.month == 1
        return Month(date(self.first.year - earlier, 12 if earlier else self.first.month - 1, 1))

    @property
    def is_over(self) -> bool:
        return self.next.first <= today()

    def __str__(self) -> str:
        return f"{self.first:%Y-%m}"


def month_of(text: str) -> Month | None:
    """The month "2026-11"; None for any other text."""
    found = WRITTEN.fullmatch(text)
    return Month(date(int(found[1]), int(found[2]), 1)) if found else None


def this_month() -> Month:
    return Month(today().replace(day=1))
