"""The numbers of invoices: one series per kind and year, without gaps.

The counter's row is locked until the transaction ends. A transaction that fails gives its number
back, and two transactions never have the same one (docs/rules.md, "Invoices").
"""

from dataclasses import dataclass
from datetime import date

from django.db import transaction
from django.db.models import QuerySet

from apps.core.dates import today
from apps.core.errors import Conflict
from apps.core.models import Restore
from apps.invoices.models import Invoice, NumbersConfirmed, SeriesCounter

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


class NumbersUnknown(Conflict):
    """A backup was restored, and nobody has stated the numbers that were given out after it."""

    code = "numbers_unknown"
    message = (
        "Se restauró una copia de seguridad: no se emite ninguna factura hasta que se sepa el "
        "último número de cada serie (manage.py resume_invoices)."
    )


def restores_to_confirm() -> QuerySet[Restore]:
    """The restores after which numbers may be given out twice."""
    return Restore.objects.filter(numbers_confirmed=None)


def next_number(kind: Invoice.Kind) -> Number:
    """The next number for an invoice of this kind. Call it in the invoice's own transaction.

    The day is read after the lock, so that days and numbers of a series ascend together. Raises
    NumbersUnknown after a restore.
    """
    if restores_to_confirm().exists():
        raise NumbersUnknown
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


@transaction.atomic
def go_on_after(last_numbers: dict[tuple[str, int], int]) -> None:
    """Go on after these numbers, by series and year, which were given out before the restore.

    A number below that of the backup changes nothing.
    """
    for (series, year), last in sorted(last_numbers.items()):
        SeriesCounter.objects.get_or_create(series=series, year=year)
        behind = SeriesCounter.objects.filter(series=series, year=year, last_number__lt=last)
        behind.update(last_number=last)
    for restore in restores_to_confirm():
        NumbersConfirmed.objects.create(restore=restore)
