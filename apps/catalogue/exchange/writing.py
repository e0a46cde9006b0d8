"""Writes the catalogue to a file. `reading` reads the same catalogue back."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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

Row = list[Any]
# Stands for a parent without children: one line with empty cells. No row has id 0.
_NOTHING: list[tuple[int, Row]] = [(0, [])]


def write_catalogue(
    name: str,
    on_progress: Callable[[int], object] = lambda _: None,
    *,
    most_letters: float = inf,
) -> bytes:
    """Return the whole catalogue as .csv, .xlsx or .json. The suffix of `name` decides the format.

    `on_progress` gets the number of subjects after each university. Raises BadFile for another
    suffix, for a character that the format can't hold, and above `most_letters` of texts.
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

    Runs four queries for each university and holds one university in memory at a time.
    """
    names = TeacherNames()
    for university, ((_, university_cells),) in _cells(University.objects.by_name(), "pk").items():
        degrees = Degree.objects.filter(university=university).by_name()
        subjects = Subject.objects.filter(degree__university=university)
        lessons = Lesson.objects.filter(subject__degree__university=university)
        by_degree = _cells(
            subjects.order_by("name_sort", "pk"), "degree", names.of_subjects(subjects)
        )
        by_subject = _cells(lessons.order_by("position", "pk"), "subject")
        for degree, degree_cells in _cells(degrees, "university").get(university, _NOTHING):
            for subject, subject_cells in by_degree.get(degree, _NOTHING):
                for _, lesson_cells in by_subject.get(subject, _NOTHING):
                    cells = university_cells + degree_cells + subject_cells + lesson_cells
                    yield cells + [None] * (len(TITLES) - len(cells))
        on_progress(sum(map(len, by_degree.values())))


def _bounded(rows: Iterable[Row], most_letters: float) -> Iterator[Row]:
    """Yield the rows. Raises BadFile above so many letters: each lesson repeats its subject's."""
    letters = 0
    for row in rows:
        letters += sum(len(cell) for cell in row if isinstance(cell, str))
        if letters > most_letters:
            raise BadFile(FileError(TOO_LARGE))
        yield row


def _cells(
    rows: QuerySet[Any], parent: str, teachers: Mapping[int, str] | None = None
) -> dict[int, list[tuple[int, Row]]]:
    """Return the id and the cells of each row, grouped by the id of the parent.

    Those of a subject end with its teachers, by its id.
    """
    columns = (KEYS[rows.model], *STORED[rows.model])
    cells_by_parent: dict[int, list[tuple[int, Row]]] = {}
    attributes = [column.attribute for column in columns]
    for parent_id, pk, *values in rows.values_list(parent, "pk", *attributes):
        cells = [column.show(value) for column, value in zip(columns, values, strict=True)]
        if teachers is not None:
            cells.append(teachers.get(pk, ""))
        cells_by_parent.setdefault(parent_id, []).append((pk, cells))
    return cells_by_parent


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
