"""The book as a file for the accountant: CSV as a Spanish Excel has it, or XLSX."""

from collections.abc import Iterator, Sequence

from django.db.models import QuerySet

from apps.catalogue.vat import Vat
from apps.core.money import to_euros
from apps.core.staff.spreadsheets import Cell, as_csv, as_workbook
from apps.invoices.amounts import TaxLine
from apps.invoices.book.entries import add_up, entries_of
from apps.invoices.models import Invoice

HEADINGS = (
    "Fecha de expedición", "Fecha de operación", "Serie", "Número", "Clase", "NIF", "Nombre",
    "País", "Operación", "Tipo de IVA (%)", "Base imponible", "Cuota de IVA", "Total",
    "Rectifica o sustituye", "Sustituida por",
)  # fmt: skip
TOTAL_HEADINGS = ("Operación", "Tipo de IVA (%)", "Base imponible", "Cuota de IVA", "Total")


def csv_of(invoices: QuerySet[Invoice]) -> str:
    """The lines of the book, then a line with the total of each rate and one with that of all."""
    return as_csv(HEADINGS, _with_totals(invoices))


def workbook_of(invoices: QuerySet[Invoice]) -> bytes:
    """XLSX with two sheets: the lines, which a pivot table can add up, and the totals."""
    lines: list[TaxLine] = []
    sheets = (
        ("Facturas expedidas", HEADINGS, _rows(invoices, lines)),
        ("Totales", TOTAL_HEADINGS, _totals(lines)),
    )
    return as_workbook(sheets)


def _with_totals(invoices: QuerySet[Invoice]) -> Iterator[Sequence[Cell]]:
    lines: list[TaxLine] = []
    yield from _rows(invoices, lines)
    for operation, *numbers in _totals(lines):
        yield (*("",) * 8, operation, *numbers, "", "")


def _rows(invoices: QuerySet[Invoice], lines: list[TaxLine]) -> Iterator[Sequence[Cell]]:
    """The lines of the book. Each is added to `lines` once it is written."""
    for entry in entries_of(invoices):
        lines.append(entry.line)
        yield (
            entry.issued_on, entry.operation_on, entry.series, entry.code, entry.kind,
            entry.tax_id, entry.name, entry.country, *_amounts(entry.line), entry.note,
            entry.replaced_by,
        )  # fmt: skip


def _totals(lines: list[TaxLine]) -> Iterator[Sequence[Cell]]:
    """The total of each rate, and that of all. `lines` is read once this is iterated."""
    totals = add_up(lines)
    for line in totals:
        operation, *numbers = _amounts(line)
        yield (f"Total: {operation}", *numbers)
    base, tax = sum(line.base for line in totals), sum(line.tax for line in totals)
    yield ("Total", "", to_euros(base), to_euros(tax), to_euros(base + tax))


def _amounts(line: TaxLine) -> tuple[Cell, ...]:
    operation = "Exenta (artículo 20)" if line.vat == Vat.EXEMPT else "Sujeta"
    euros = map(to_euros, (line.base, line.tax, line.total))
    return (operation, line.vat.percent, *euros)
