"""CSV files in the dialect that a Spanish Excel opens directly, and XLSX files."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, cast

from django.http import HttpResponse
from django.utils import timezone

# A spreadsheet reads a cell that starts with one of these as a formula. Those with an East Asian
# keyboard take the wide forms, too (https://owasp.org/www-community/attacks/CSV_Injection).
FORMULA_STARTS = (*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20")

_PHONE = re.compile(r"\+\d{5,15}", re.ASCII)

EURO_FORMAT = '#,##0.00 "€"'
CSV_TYPE = "text/csv; charset=utf-8"
XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

# A Decimal is an amount in euros; the other numbers are whole.
Cell = str | Decimal | int | date


def as_text(cell: str) -> str:
    """Escape a cell that a spreadsheet would run as a formula: visitors write these texts.

    A phone such as +34600111222 is a number there, and stays as it is.
    """
    is_harmless = not cell.startswith(FORMULA_STARTS) or _PHONE.fullmatch(cell)
    return cell if is_harmless else f"'{cell}"


def as_csv(headings: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """CSV with semicolons and a byte order mark, which tells Excel that it is UTF-8.

    Numbers get a decimal comma and stay numbers, also below 0. Days are written "24/11/2026".
    """
    file = io.StringIO()
    writer = csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(headings)
    writer.writerows([_csv_cell(cell) for cell in row] for row in rows)
    return "\N{BYTE ORDER MARK}" + file.getvalue()


def _csv_cell(cell: Cell) -> str:
    match cell:
        case Decimal():
            return f"{cell:f}".replace(".", ",")
        case int():
            return str(cell)
        case date():
            return f"{cell:%d/%m/%Y}"
    return as_text(cell)


def as_workbook(
    sheets: Iterable[tuple[str, Sequence[str], Iterable[Sequence[Any]]]],
    cell_of: Callable[[Any, Any], Any] | None = None,
) -> bytes:
    """XLSX of these sheets: title, headings and rows. Numbers and days are such, to be added up.

    `cell_of` makes the cell of a sheet from a value; without it the values are each a `Cell`.
    """
    # Imported here because openpyxl takes 5 MB of each process that imports it.
    from openpyxl import Workbook
    from openpyxl.utils import get_column_letter

    book = Workbook(write_only=True)
    for title, headings, rows in sheets:
        sheet: Any = book.create_sheet(title)
        sheet.freeze_panes = "A2"
        for index, heading in enumerate(headings, start=1):
            sheet.column_dimensions[get_column_letter(index)].width = max(12, len(heading) + 2)
        sheet.append(headings)
        try:
            for row in rows:
                sheet.append([(cell_of or _xlsx_cell)(sheet, value) for value in row])
        except Exception:
            # Else openpyxl reports an error of its own later, when the sheet is thrown away.
            sheet.close()
            raise
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _xlsx_cell(sheet: Any, value: Cell) -> Any:
    """A number, a day, or a text that no spreadsheet runs as a formula."""
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    if isinstance(value, str):
        # Control characters, which XML can't hold.
        return as_text(ILLEGAL_CHARACTERS_RE.sub("", value))
    if isinstance(value, int):
        return value
    # openpyxl writes a Decimal exactly; its types lack it.
    cell = WriteOnlyCell(sheet, value=cast(Any, value))
    cell.number_format = EURO_FORMAT if isinstance(value, Decimal) else "dd/mm/yyyy"
    return cell


def csv_answer(name: str, text: str) -> HttpResponse:
    """A download with today's date in its name, not cached."""
    return HttpResponse(
        text,
        content_type=CSV_TYPE,
        headers={
            "Content-Disposition": (
                f'attachment; filename="{name}-{timezone.localdate():%Y-%m-%d}.csv"'
            ),
            "Cache-Control": "no-store",
        },
    )
