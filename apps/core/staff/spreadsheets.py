"""CSV files in the dialect that a Spanish Excel opens directly."""

import csv
import io
from collections.abc import Iterable, Sequence
from decimal import Decimal

from django.http import HttpResponse
from django.utils import timezone

# A spreadsheet reads a cell that starts with one of these as a formula. Those with an East Asian
# keyboard take the wide forms, too (https://owasp.org/www-community/attacks/CSV_Injection).
FORMULA_STARTS = (*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20")


def as_text(cell: str) -> str:
    """Escape a cell that a spreadsheet would run as a formula: visitors write these texts."""
    return f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell


def as_csv(headings: Sequence[str], rows: Iterable[Sequence[str | Decimal]]) -> str:
    """CSV with semicolons and a byte order mark, which tells Excel that it is UTF-8.

    Numbers get a decimal comma and stay numbers, also below 0.
    """
    file = io.StringIO()
    writer = csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(headings)
    writer.writerows([_csv_cell(cell) for cell in row] for row in rows)
    return "\N{BYTE ORDER MARK}" + file.getvalue()


def _csv_cell(cell: str | Decimal) -> str:
    return f"{cell:f}".replace(".", ",") if isinstance(cell, Decimal) else as_text(cell)


def csv_answer(name: str, text: str) -> HttpResponse:
    """A download with today's date in its name, not cached."""
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
