"""Reads a file into lines of cells. Raises BadFile if the file can't be read."""

import csv
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any
from xml.etree.ElementTree import ParseError

from apps.catalogue.exchange.bounds import COMMAND, BoundedArchive, Reading
from apps.catalogue.exchange.columns import BY_NAME, KEYS
from apps.catalogue.exchange.error_messages import csv_reason, json_reason, xlsx_reason
from apps.catalogue.exchange.file_errors import BadFile, FileError, FileErrors
from apps.catalogue.models import University
from apps.catalogue.text import search_form
from apps.core.money import grouped
from apps.core.staff.spreadsheets import FORMULA_STARTS

MOST_COLUMNS = 64
LONGEST_TITLE = 100
# The most that a cell of Excel holds. A sheet stores a text once, and each row may name it.
LONGEST_CELL = 32_767
# `writing` puts an apostrophe before these: formulas, and texts that begin with an apostrophe.
ESCAPED_STARTS = (*FORMULA_STARTS, "'")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_NOT_UTF8 = (
    "El archivo no está en UTF-8. En Excel, guárdalo como «CSV UTF-8 (delimitado por comas)», "
    "o como .xlsx."
)
# Each unknown title is compared with all names, which takes a third of a millisecond.
_TOO_WIDE = f"Hay más de {MOST_COLUMNS} columnas."
# A row of empty cells takes eight bytes of memory for each.
_LONGEST_LINE = MOST_COLUMNS * LONGEST_CELL
_TOO_LONG = (
    f"tiene más de {grouped(LONGEST_CELL)} caracteres, y en una celda de Excel no caben más."
)


@dataclass(frozen=True)
class Line:
    # "línea 12", for error messages.
    place: str
    # Cells by column name, without the empty ones.
    cells: dict[str, str]


def read_lines(data: bytes, name: str, reading: Reading | None = None) -> list[Line]:
    """Return the lines of a .csv, .xlsx or .json file. The suffix of `name` decides the format.

    Without a reading it has the bounds of the command. Raises BadFile with all unknown columns and
    all lines with too many cells, or if the file has more than the bounds allow.
    """
    reading = reading or Reading(COMMAND)
    if PurePath(name).suffix.lower() == ".json":
        lines = _json_lines(data, reading)
    else:
        lines = _by_header(*read_table(data, name, reading))
    errors = FileErrors()
    for line in lines:
        reading.take_turn()
        for column, text in line.cells.items():
            if not is_storable(text):
                errors.add(
                    "Tiene un carácter que no se puede guardar.", place=line.place, column=column
                )
    errors.check()
    return lines


def read_table(
    data: bytes, name: str, reading: Reading
) -> tuple[Iterator[tuple[int, Sequence[str]]], str]:
    """The numbered rows of a .csv or .xlsx file, and what its rows are called in messages.

    A row of more than MOST_COLUMNS cells, or with a cell that no spreadsheet holds, raises BadFile.
    """
    match PurePath(name).suffix.lower():
        case ".csv":
            return _bounded(_csv_rows(data, reading), "línea"), "línea"
        case ".xlsx":
            return _bounded(_xlsx_rows(data, reading), "fila"), "fila"
    raise BadFile(FileError("El archivo debe ser .csv, .xlsx o .json."))


def _bounded(
    rows: Iterable[tuple[int, Sequence[str]]], unit: str
) -> Iterator[tuple[int, Sequence[str]]]:
    for number, row in rows:
        if any(row[MOST_COLUMNS:]):
            raise BadFile(FileError(_TOO_WIDE, place=f"{unit} {number}"))
        for place, text in enumerate(row, start=1):
            if len(text) > LONGEST_CELL:
                message = f"La celda número {place} {_TOO_LONG}"
                raise BadFile(FileError(message, place=f"{unit} {number}"))
        yield number, row


def is_storable(text: str) -> bool:
    """Whether databases store the text: it has no NUL and no lone surrogate."""
    return _UNSTORABLE.search(text) is None


def _by_header(rows: Iterable[tuple[int, Sequence[str]]], unit: str) -> list[Line]:
    numbered = iter(rows)
    first = next(((number, row) for number, row in numbered if any(row)), None)
    if first is None:
        raise BadFile(FileError("El archivo está vacío."))
    titles = [search_form(title[: 2 * LONGEST_TITLE]) for title in first[1]]
    columns = _columns([title.replace(" ", "_") for title in titles])
    errors = FileErrors()
    lines = []
    for number, row in numbered:
        place = f"{unit} {number}"
        if any(row[len(columns) :]):
            errors.add(f"Hay más celdas que columnas ({len(columns)}).", place=place)
        cells = {
            column: text
            for column, text in zip(columns, row, strict=False)
            if column and text.strip()
        }
        if cells:
            lines.append(Line(place, cells))
    errors.check()
    return lines


def _columns(titles: Sequence[str]) -> list[str]:
    """Return the checked columns of the header, without untitled columns at its end."""
    columns = list(titles)
    while columns and not columns[-1]:
        columns.pop()
    errors = FileErrors()
    for place, title in enumerate(columns, start=1):
        if not title:
            errors.add(f"La columna número {place} no tiene título.")
        elif title not in BY_NAME:
            errors.add(_unknown(title), column=title[:LONGEST_TITLE])
        elif title in columns[: place - 1]:
            errors.add("La columna está dos veces.", column=title)
    if KEYS[University].name not in columns:
        errors.add(f"Falta la columna «{KEYS[University].name}».")
    errors.check()
    return columns


def _unknown(title: str) -> str:
    title = title[:LONGEST_TITLE]
    close = get_close_matches(title, BY_NAME, n=1)
    hint = f" ¿Querías decir «{close[0]}»?" if close else ""
    return f"No conozco esta columna.{hint}"


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadFile(FileError(_NOT_UTF8, place=f"línea {line}")) from None


def _csv_rows(data: bytes, reading: Reading) -> Iterator[tuple[int, Sequence[str]]]:
    text = _decoded(data)
    head, _, rest = text.partition("\n")
    skipped = 0
    if head.startswith("sep="):  # Excel names the separator this way.
        delimiter, text, skipped = head[4:5] or ";", rest, 1
    else:
        # Spanish Excel uses semicolons, because the comma is the decimal separator.
        delimiter = max(";,\t", key=head.count)
    reader = csv.reader(_short_lines(text, first=1 + skipped), delimiter=delimiter, strict=True)
    before = 0
    try:
        for row in reader:
            reading.check_row(before + 1, "línea")
            # A cell may contain line breaks. Errors name the line in which the row begins.
            yield before + 1 + skipped, [_without_apostrophe(cell) for cell in row]
            before = reader.line_num
    except csv.Error as error:
        file_error = FileError(
            f"No se puede leer como CSV: {csv_reason(error)}.",
            place=f"línea {before + 1 + skipped}",
        )
        raise BadFile(file_error) from None


def _short_lines(text: str, *, first: int) -> Iterator[str]:
    for number, line in enumerate(io.StringIO(text, newline=""), start=first):
        if len(line) > _LONGEST_LINE:
            raise BadFile(FileError("La línea es demasiado larga.", place=f"línea {number}"))
        yield line


def _without_apostrophe(cell: str) -> str:
    """Remove the apostrophe that `writing` puts before text that looks like a formula."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(ESCAPED_STARTS) else cell


def _xlsx_rows(data: bytes, reading: Reading) -> Iterator[tuple[int, Sequence[str]]]:
    # Imported here because openpyxl takes 5 MB of each process that imports it.
    from openpyxl.reader.excel import ExcelReader
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        archive = BoundedArchive(data, reading)
        reader: Any = ExcelReader(
            io.BytesIO(data), read_only=True, data_only=True, keep_links=False
        )
        reader.archive = archive
        reader.read_manifest()
        reader.read()
        sheet: Any = reader.wb.worksheets[0]
        # Ignore the sheet's stated dimensions: some programs write wrong ones.
        sheet.reset_dimensions()
        rows = sheet.iter_rows(values_only=True, max_col=MOST_COLUMNS)
        for number, row in enumerate(rows, start=1):
            reading.check_row(number, "fila")
            yield number, [_cell_text(value) for value in row]
    except (
        zipfile.BadZipFile, InvalidFileException, ParseError,
        LookupError, ValueError, OSError, RuntimeError, EOFError, zlib.error,
    ) as error:  # fmt: skip
        file_error = FileError(f"No se puede leer como hoja de Excel .xlsx: {xlsx_reason(error)}.")
        raise BadFile(file_error) from None


def _cell_text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "sí" if value else "no"
        case float():
            # The result of a formula may be stored as 49.900000000000006.
            return f"{value:.6f}".rstrip("0").rstrip(".")
        case date():
            return value.isoformat()
    return str(value)


def _json_lines(data: bytes, reading: Reading) -> list[Line]:
    # Each list and each object of the file takes a hundred bytes of memory.
    reading.check_row(data.count(b"{"), "elemento")
    reading.check_row(data.count(b"["), "lista")
    try:
        # Parse numbers as text to keep their digits.
        items = json.loads(_decoded(data), parse_float=str, parse_int=str)
    except json.JSONDecodeError as error:
        file_error = FileError(f"No es JSON: {json_reason(error)}.", place=f"línea {error.lineno}")
        raise BadFile(file_error) from None
    except RecursionError:
        raise BadFile(FileError("No es una lista de objetos.")) from None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise BadFile(FileError("No es una lista de objetos."))
    errors = FileErrors()
    lines = []
    for number, item in enumerate(items, start=1):
        place = f"elemento {number}"
        reading.check_row(number, "elemento")
        if len(item) > MOST_COLUMNS:
            raise BadFile(FileError(_TOO_WIDE, place=place))
        cells = {}
        for column, value in item.items():
            if column not in BY_NAME:
                shown = column[:LONGEST_TITLE].encode(errors="replace").decode()
                errors.add(_unknown(shown), place=place, column=shown)
            elif isinstance(value, list | dict):
                errors.add("Tiene que ser un texto o un número.", place=place, column=column)
            elif len(text := _cell_text(value).strip()) > LONGEST_CELL:
                errors.add(f"Su texto {_TOO_LONG}", place=place, column=column)
            elif text:
                cells[column] = text
        if cells:
            lines.append(Line(place, cells))
    errors.check()
    if not lines:
        raise BadFile(FileError("El archivo está vacío."))
    return lines
