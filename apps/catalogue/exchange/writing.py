"""The catalogue as a file that `reading` reads back to the same."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import PurePath
from typing import Any

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.utils.exceptions import IllegalCharacterError

from apps.catalogue.exchange.columns import COLUMNS, DATA, KEYS, LEVELS
from apps.catalogue.exchange.errors import BadFile, Fault
from apps.catalogue.exchange.reading import FORMULA_STARTS
from apps.catalogue.models import Degree, Lesson, Recorded, Subject, University

TITLES = tuple(column.name for column in COLUMNS)
CONTENT_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".json": "application/json",
}

Row = list[Any]


def write_catalogue(name: str, on_progress: Callable[[int], object] = lambda _: None) -> bytes:
    """The whole catalogue as .csv, .xlsx or .json, by the name's ending.

    `on_progress` is told after each university how many subjects it had. Raises BadFile for another
    ending, and for what a format can't hold.
    """
    rows = catalogue_rows(on_progress)
    match PurePath(name).suffix.lower():
        case ".csv":
            return _csv(rows)
        case ".xlsx":
            return _xlsx(rows)
        case ".json":
            return _json(rows)
    raise BadFile(Fault("El archivo debe ser .csv, .xlsx o .json."))


def catalogue_rows(on_progress: Callable[[int], object]) -> Iterator[Row]:
    """A row for each lesson, in the order of the names; what has none below has a row of its own.

    Four queries for each university.
    """
    for university in University.objects.by_name():
        degrees = university.degrees.by_name().prefetch_related(None)
        subjects = Subject.objects.filter(university=university).order_by("name_sort", "pk")
        by_degree: dict[int, list[Subject]] = {}
        for subject in subjects.prefetch_related("lessons"):
            by_degree.setdefault(subject.degree_id, []).append(subject)
        rows: list[tuple[Recorded, ...]] = []
        for degree in degrees:
            rows += _below(university, degree, by_degree.get(degree.pk, []))
        for row in rows or [(university,)]:
            yield _row(row)
        on_progress(sum(map(len, by_degree.values())))


def _below(
    university: University, degree: Degree, subjects: list[Subject]
) -> Iterator[tuple[Recorded, ...]]:
    if not subjects:
        yield university, degree
    for subject in subjects:
        lessons: list[Lesson] = list(subject.lessons.all())
        for lesson in lessons:
            yield university, degree, subject, lesson
        if not lessons:
            yield university, degree, subject


def _row(objects: tuple[Recorded, ...]) -> Row:
    cells: Row = []
    for level, model in enumerate(LEVELS):
        for column in (KEYS[model], *DATA[model]):
            shown = level < len(objects)
            cells.append(column.show(getattr(objects[level], column.attribute)) if shown else None)
    return cells


def _csv(rows: Iterator[Row]) -> bytes:
    """As Spanish Excel writes and opens it: semicolons, decimal commas, a byte order mark."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=";")
    writer.writerow(TITLES)
    writer.writerows([_csv_cell(cell) for cell in row] for row in rows)
    return text.getvalue().encode("utf-8-sig")


def _csv_cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case Decimal():
            return str(value).replace(".", ",")
        case str() if value.startswith(FORMULA_STARTS):
            # A name "=HYPERLINK(…)" would be calculated by whoever opens the file.
            return f"'{value}"
    return str(value)


def _xlsx(rows: Iterator[Row]) -> bytes:
    book = Workbook(write_only=True)
    sheet: Any = book.create_sheet("Catálogo")
    sheet.freeze_panes = "A2"
    sheet.append(TITLES)
    for row in rows:
        sheet.append([_xlsx_cell(sheet, value) for value in row])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _xlsx_cell(sheet: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        cell: Any = WriteOnlyCell(sheet, value=value)
    except IllegalCharacterError:
        fault = Fault(f"Excel no admite un carácter de «{value}». Exporta en .csv o .json.")
        raise BadFile(fault) from None
    # A text, whatever it begins with.
    cell.data_type = "s"
    return cell


def _json(rows: Iterator[Row]) -> bytes:
    items = [
        {
            title: float(value) if isinstance(value, Decimal) else value
            for title, value in zip(TITLES, row, strict=True)
            if value is not None
        }
        for row in rows
    ]
    return json.dumps(items, ensure_ascii=False, indent=1).encode()
