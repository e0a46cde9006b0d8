"""The lines of the book: what each invoice adds at each rate, and what it takes away.

Every line counts, so that the sum of a column is the total of the period. An invoice that replaces
another one ("por sustitución", or in place of a simplified one) has its own lines, and lines below
0 with what the replaced invoice and its correctives added. So the new one counts instead of the old
one, and the book of a period that is over never changes: the replaced invoice stays in its own.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple

from django.db.models import F, QuerySet
from django.db.models.fields.json import KT

from apps.catalogue.vat import Vat
from apps.core.period import Period
from apps.invoices.amounts import TaxLine
from apps.invoices.models import Invoice

_CHUNK = 2_000


@dataclass(frozen=True)
class Entry:
    """One line of the book: an invoice at one rate. Amounts are cents, below 0 for less.

    `removes` names the replaced invoice, and its correctives, that a line below 0 takes away.
    """

    pk: int
    issued_on: date
    operation_on: date
    series: str
    code: str
    kind: str
    tax_id: str
    name: str
    country: str
    line: TaxLine
    note: str = ""
    removes: str = ""
    replaced_by: str = ""


class _Row(NamedTuple):
    """The columns of an invoice that its lines are made of."""

    pk: int
    code: str
    series: str
    kind: str
    issued_on: date
    operation_on: str
    recipient: dict[str, str] | None
    breakdown: list[dict[str, Any]]
    root_code: str | None
    replaces_code: str | None
    replaced_by_code: str | None
    replaced_by_on: date | None


_COLUMNS = {
    "operation_on": KT("content__operation_on"),
    "breakdown": F("content__breakdown"),
    "root_code": F("root__code"),
    "replaces_code": F("replaces__code"),
    "replaced_by_code": F("replaced_by__code"),
    "replaced_by_on": F("replaced_by__issued_on"),
}


def invoices_in(period: Period) -> QuerySet[Invoice]:
    """The invoices of the period in the order of the book."""
    rows = Invoice.objects.filter(issued_on__gte=period.first, issued_on__lte=period.last)
    return rows.order_by("issued_on", "series", "year", "number")


def entries_of(invoices: QuerySet[Invoice]) -> Iterator[Entry]:
    """The lines of these invoices, in three statements, however many they are."""
    removed = _removed_by(invoices)
    aliased = {f"book_{name}": column for name, column in _COLUMNS.items()}
    names = [f"book_{name}" if name in _COLUMNS else name for name in _Row._fields]
    values = invoices.annotate(**aliased).values_list(*names)
    for row in map(_Row._make, values.iterator(chunk_size=_CHUNK)):
        yield from _entries(row, removed.get(row.pk, _NOTHING))


def _entries(row: _Row, removed: "_Removed") -> Iterator[Entry]:
    recipient = row.recipient or {}
    fields: dict[str, Any] = {
        "pk": row.pk,
        "issued_on": row.issued_on,
        "operation_on": date.fromisoformat(row.operation_on),
        "series": row.series,
        "code": row.code,
        "kind": Invoice.Kind(row.kind).label,
        "tax_id": recipient.get("tax_id", ""),
        "name": recipient.get("name", ""),
        "country": recipient.get("country", ""),
    }
    note = ""
    if row.root_code:
        note = f"Rectifica {row.root_code} por diferencias"
    elif row.replaces_code:
        note = f"Sustituye a {row.replaces_code}"
    replaced_by = ""
    if row.replaced_by_code:
        replaced_by = f"Sustituida por {row.replaced_by_code} el {row.replaced_by_on:%d/%m/%Y}"
    for line in _tax_lines(row.breakdown):
        yield Entry(**fields, line=line, note=note, replaced_by=replaced_by)
    removes = " y ".join(removed.codes)
    note = f"Baja de {removes}, sustituida{'s' if len(removed.codes) > 1 else ''}"
    for line in removed.less():
        yield Entry(**fields, line=line, note=note, removes=removes)


def removed_by(invoices: QuerySet[Invoice]) -> Iterator[tuple[str, QuerySet[Invoice]]]:
    """The invoices that these replace, then the correctives of the replaced ones.

    Each with the path from a replaced invoice to the one that replaces it.
    """
    for path in ("replaced_by", "root__replaced_by"):
        yield path, Invoice.objects.filter(**{f"{path}__in": invoices.values("pk")})


@dataclass
class _Removed:
    """The invoices that another one takes out of the book: their numbers and their lines."""

    codes: list[str] = field(default_factory=list)
    lines: list[TaxLine] = field(default_factory=list)

    def less(self) -> list[TaxLine]:
        return [TaxLine(line.vat, -line.base, -line.tax) for line in add_up(self.lines)]


_NOTHING = _Removed()


def _removed_by(invoices: QuerySet[Invoice]) -> dict[int, _Removed]:
    """The numbers and lines that each of these invoices takes away, by its id."""
    removed: dict[int, _Removed] = defaultdict(_Removed)
    for path, rows in removed_by(invoices):
        for pk, code, breakdown in rows.order_by("pk").values_list(
            path, "code", "content__breakdown"
        ):
            removed[pk].codes.append(code)
            removed[pk].lines += _tax_lines(breakdown)
    return removed


def totals_of(invoices: QuerySet[Invoice]) -> list[TaxLine]:
    """The total of each rate in the book of these invoices, in three statements."""
    added = invoices.order_by().values_list("content__breakdown", flat=True)
    lines = [line for rows in added.iterator(chunk_size=_CHUNK) for line in _tax_lines(rows)]
    for removed in _removed_by(invoices).values():
        lines += removed.less()
    return add_up(lines)


def add_up(lines: Iterable[TaxLine]) -> list[TaxLine]:
    """The sum of each rate that occurs, in the order of the rates."""
    sums: dict[Vat, tuple[int, int]] = {}
    for line in lines:
        base, tax = sums.get(line.vat, (0, 0))
        sums[line.vat] = base + line.base, tax + line.tax
    return [TaxLine(vat, *sums[vat]) for vat in Vat if vat in sums]


def _tax_lines(breakdown: list[dict[str, Any]]) -> list[TaxLine]:
    return [TaxLine(Vat(row["vat"]), row["base"], row["tax"]) for row in breakdown]
