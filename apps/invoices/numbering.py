"""The numbers of invoices: one series per kind and year, without gaps.

The counter's row is locked until the transaction ends. A transaction that fails gives its number
back, and two transactions never have the same one (docs/rules.md, "Invoices").
"""

from dataclasses import dataclass
from datetime import date

from apps.core.dates import today
from apps.invoices.models import Invoice, SeriesCounter

SERIES = {
    Invoice.Kind.FULL: "F",
    Invoice.Kind.REPLACEMENT: "F",
    Invoice.Kind.SIMPLIFIED: "S",
    Invoice.Kind.CORRECTIVE: "R",
    Invoice.Kind.SIMPLIFIED_CORRECTIVE: "R",
    Invoice.Kind.RECIPIENT_CORRECTIVE: "R",
}


@dataclass(frozen=True)
class Number:
    """A number of a series, and the day on which it was given."""

    series: str
    number: int
    issued_on: date

    @property
    def code(self) -> str:
        return f"{self.series}{self.issued_on.year}-{self.number:05}"


def next_number(kind: Invoice.Kind) -> Number:
    """The next number for an invoice of this kind. Call it in the invoice's own transaction.

    The day is read after the lock, so that days and numbers of a series ascend together.
    """
    series = SERIES[kind]
    while True:
        year = today().year
        SeriesCounter.objects.get_or_create(series=series, year=year)
        counter = SeriesCounter.objects.select_for_update().get(series=series, year=year)
        issued_on = today()
        if issued_on.year == year:
            counter.last_number += 1
            counter.save(update_fields=["last_number"])
            return Number(series, counter.last_number, issued_on)
