"""Writes the catalogue to a file. `reading` reads the same catalogue back."""

import csv
import io
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from math import inf
from pathlib import PurePath
from typing import Any

from django.db.models import QuerySet

from apps.catalogue.exchange.columns import COLUMNS, KEYS, STORED
from apps.catalogue.exchange.file_errors import BadFile, FileError, quoted
from apps.catalogue.exchange.reading import ESCAPED_STARTS
from apps.catalogue.exchange.teachers import TeacherNames
from apps.catalogue.models import Degree, Lesson, Subject, University
from apps.core.staff.spreadsheets import CSV_TYPE, XLSX_TYPE, as_workbook

TITLES = tuple(column.name for column in COLUMNS)
CONTENT_TYPES = {
    ".csv": CSV_TYPE,
    ".xlsx": XLSX_TYPE,
    ".json": "application/json",
}

TOO_LARGE = (
    "El catálogo es demasiado grande para descargarlo de una vez desde aquí. Quien administra el "
    "servidor puede sacarlo con «manage.py export_catalogue»."
)

# A university, its degrees, their subjects and their lessons.
PATHS = ("pk", "degrees", "degrees__subjects", "degrees__subjects__lessons")
ORDER = (
    "name_sort",
    "pk",
    "degrees__name_sort",
    "degrees__pk",
    "degrees__subjects__name_sort",
    "degrees__subjects__pk",
    "degrees__subjects__lessons__position",
    "degrees__subjects__lessons__pk",
)
LINES_AT_ONCE = 1_000

Row = list[Any]


def write_catalogue(
    name: str,
    on_progress: Callable[[int], object] = lambda _: None,
    *,
    most_letters: float = inf,
) -> bytes:
    """Return the whole catalogue as .csv, .xlsx or .json. The suffix of `name` decides the format.

    `on_progress` gets the number of subjects after each `LINES_AT_ONCE` lines. Raises BadFile for
    another suffix, for a character that the format can't hold, and above `most_letters` of texts.
    """
    rows = _bounded(catalogue_rows(on_progress), most_letters)
    match PurePath(name).suffix.lower():
        case ".csv":
            return write_csv(rows)
        case ".xlsx":
            return as_workbook([("Catálogo", TITLES, rows)], _xlsx_cell)
        case ".json":
            return _json(rows)
    raise BadFile(FileError("El archivo debe ser .csv, .xlsx o .json."))


def write_template() -> bytes:
    """Return an empty .xlsx file for an import, with a second sheet that explains its columns."""
    columns = [column for column in COLUMNS if not column.read_only]
    titles = [column.name for column in columns]
    about = [
        (
            column.name,
            column.model._meta.verbose_name,
            "sí" if column.is_key or column.required else "",
            column.about,
            " / ".join(column.choices),
        )
        for column in columns
    ]
    head = ("columna", "es de", "obligatoria en lo nuevo", "qué es", "qué se escribe")
    return as_workbook([("Catálogo", titles, []), ("Columnas", head, about)], _xlsx_cell)


def catalogue_rows(on_progress: Callable[[int], object]) -> Iterator[Row]:
    """Yield a line for each lesson, and one for each parent without children, ordered by name.

    All universities and degrees are in memory, the numbers of all rows, and the texts of the
    subjects and lessons of `LINES_AT_ONCE` lines, which take three queries.
    """
    names = TeacherNames()
    universities, degrees = _cells(University.objects.all()), _cells(Degree.objects.all())
    # A line is the numbers of a university, degree, subject and lesson. A missing child is None.
    lines = list(University.objects.order_by(*ORDER).values_list(*PATHS))
    last_subject = None
    for first in range(0, len(lines), LINES_AT_ONCE):
        some = lines[first : first + LINES_AT_ONCE]
        subjects = _subject_cells({line[2] for line in some}, names)
        lessons = _cells(Lesson.objects.filter(pk__in={line[3] for line in some}))
        for line in some:
            levels = zip((universities, degrees, subjects, lessons), line, strict=True)
            parts = [cells.get(pk) for cells, pk in levels if pk is not None]
            # A row that was deleted since has no cells.
            if None not in parts:
                row = [cell for part in parts for cell in part or ()]
                yield row + [None] * (len(TITLES) - len(row))
        on_progress(len(subjects.keys() - {last_subject}))
        last_subject = some[-1][2]


def _bounded(rows: Iterable[Row], most_letters: float) -> Iterator[Row]:
    """Yield the rows. Raises BadFile above so many letters: each lesson repeats its subject's."""
    letters = 0
    for row in rows:
        letters += sum(len(cell) for cell in row if isinstance(cell, str))
        if letters > most_letters:
            raise BadFile(FileError(TOO_LARGE))
        yield row


def _cells(rows: QuerySet[Any]) -> dict[int, Row]:
    """Return the cells of these rows by their number."""
    columns = (KEYS[rows.model], *STORED[rows.model])
    attributes = [column.attribute for column in columns]
    return {
        pk: [column.show(value) for column, value in zip(columns, values, strict=True)]
        for pk, *values in rows.values_list("pk", *attributes)
    }


def _subject_cells(pks: Collection[int], names: TeacherNames) -> dict[int, Row]:
    """Return the cells of these subjects by their number. The last one has their teachers."""
    subjects = Subject.objects.filter(pk__in=pks)
    teachers = names.of_subjects(subjects)
    return {pk: [*cells, teachers.get(pk, "")] for pk, cells in _cells(subjects).items()}


def write_csv(rows: Iterable[Row], titles: Sequence[str] = TITLES) -> bytes:
    """Write CSV as Spanish Excel does: semicolons, decimal commas and a byte order mark."""
    data = io.BytesIO()
    text = io.TextIOWrapper(data, encoding="utf-8-sig", newline="")
    writer = csv.writer(text, delimiter=";")
    writer.writerow(titles)
    writer.writerows([_csv_cell(cell) for cell in row] for row in rows)
    text.flush()
    return data.getvalue()


def _csv_cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case Decimal():
            return str(value).replace(".", ",")
        case str() if value.startswith(ESCAPED_STARTS):
            # A spreadsheet would run a name such as "=HYPERLINK(…)" as a formula.
            return f"'{value}"
    return str(value)


def _xlsx_cell(sheet: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    try:
        cell: Any = WriteOnlyCell(sheet, value=value)
    except IllegalCharacterError:
        file_error = FileError(
            f"Excel no admite un carácter de {quoted(value)}. Exporta en .csv o .json."
        )
        raise BadFile(file_error) from None
    # Mark the cell as text, so that Excel does not run it as a formula.
    cell.data_type = "s"
    return cell


def _json(rows: Iterator[Row]) -> bytes:
    data = io.BytesIO()
    for row in rows:
        item = {
            title: float(value) if isinstance(value, Decimal) else value
            for title, value in zip(TITLES, row, strict=True)
            if value is not None
        }
        # Write one object at a time: a list of all of them would take much more memory.
        data.write(b",\n" if data.tell() else b"[\n")
        data.write(json.dumps(item, ensure_ascii=False, default=str).encode())
    data.write(b"\n]\n" if data.tell() else b"[]\n")
    return data.getvalue()
