"""Lists as files that Spanish Excel opens by a double click."""

import csv
import io
from collections.abc import Iterable, Sequence

from django.http import HttpResponse
from django.utils import timezone

# What a spreadsheet takes for the beginning of a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def as_text(cell: str) -> str:
    """The cell so that no spreadsheet runs it: visitors write what clerks open."""
    return f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell


def as_csv(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Semicolons, and a mark that says UTF-8."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(headings)
    writer.writerows([as_text(cell) for cell in row] for row in rows)
    return "\N{BYTE ORDER MARK}" + file.getvalue()


def csv_answer(name: str, text: str) -> HttpResponse:
    """The file as the admin offers it: its name ends in the day, and nobody keeps a copy."""
    return HttpResponse(
        text,
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": (
                f'attachment; filename="{name}-{timezone.localdate():%Y-%m-%d}.csv"'
            ),
            "Cache-Control": "no-store",
        },
    )
