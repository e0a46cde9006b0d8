"""The Moodle courses of all subjects and lessons as one list: to download, fill in and upload."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from django.db import transaction

from apps.catalogue.exchange.bounds import Bounds, Reading
from apps.catalogue.exchange.file_errors import BadFile, FileError, FileErrors, quoted
from apps.catalogue.exchange.reading import read_table
from apps.catalogue.exchange.writing import write_csv
from apps.catalogue.models import Lesson, Subject
from apps.classroom.backends.base import Item
from apps.classroom.backends.moodle.courses import (
    course_idnumber,
    find_course,
    is_gone,
    take_over_enrolments,
)
from apps.classroom.models import MoodleCourse

CODE, SHORTNAME = "codigo", "nombre_corto"
TITLES = (CODE, "universidad", "grado", "asignatura", "leccion", SHORTNAME, "curso_en_moodle")
# A web process reads the list while staff wait. 20,000 lines take 2 seconds.
BOUNDS = Bounds(rows=50_000, texts=100_000, unpacked=30_000_000, seconds=5)
# Each new short name is a call to Moodle, and so is each course that is replaced.
MOST_ASKED = 300
# The short name of each item, and its place in the file.
Wanted = dict[Item, tuple[str, str]]


class CourseChange(NamedTuple):
    code: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.code}: {self.before or '(ninguno)'} → {self.after}"


def write_course_list() -> bytes:
    """The subjects and lessons on sale as CSV, each with its course if it has one."""
    return write_csv(_rows(), TITLES)


def _rows() -> Iterator[list[Any]]:
    courses = {
        Item(course.subject_id, course.lesson_id): course for course in MoodleCourse.objects.all()
    }
    subjects = Subject.objects.on_sale().select_related("degree__university")
    lessons: dict[int, list[tuple[int, str]]] = {}
    on_sale = Lesson.objects.on_sale().order_by("position", "pk")
    for subject_id, pk, title in on_sale.values_list("subject_id", "pk", "title"):
        lessons.setdefault(subject_id, []).append((pk, title))
    for subject in subjects.order_by("degree__university__name_sort", "name_sort", "pk"):
        for lesson_id, title in [(None, ""), *lessons.get(subject.pk, [])]:
            item = Item(subject.pk, lesson_id)
            course = courses.get(item)
            yield [
                course_idnumber(item),
                subject.degree.university.name,
                subject.degree.name,
                subject.name,
                title,
                course.shortname if course else "",
                course.full_name if course else "",
            ]


def preview_course_list(data: bytes, name: str) -> list[CourseChange]:
    """The changes of a list: each line's subject or lesson gets the course with its short name.

    Lines without a short name change nothing. Raises BadFile with every error, and MoodleError if
    Moodle does not answer.
    """
    stored = _stored()
    changed = _changed(_read(data, name), stored)
    _look_up(changed, stored)
    return _as_changes(changed, stored)


def assign_courses(lines: Iterable[tuple[str, str]]) -> list[CourseChange]:
    """Assign the courses of a list that was previewed: codes with short names. All or nothing.

    Returns what has changed. Raises the same errors as the preview.
    """
    stored = _stored()
    changed = _changed(_checked((code, code, shortname) for code, shortname in lines), stored)
    found = _look_up(changed, stored)
    gone = {former for former in _former_ids(changed, stored) if is_gone(former)}
    with transaction.atomic():
        for item, (shortname, _) in changed.items():
            course = found[shortname]
            if item in stored and stored[item].course_id in gone:
                take_over_enrolments(stored[item].course_id, course["id"])
            MoodleCourse.objects.update_or_create(
                **item._asdict(),
                defaults={
                    "shortname": shortname,
                    "course_id": course["id"],
                    "full_name": course["fullname"],
                },
            )
    return _as_changes(changed, stored)


def _stored() -> dict[Item, MoodleCourse]:
    return {Item(row.subject_id, row.lesson_id): row for row in MoodleCourse.objects.all()}


def _changed(wanted: Wanted, stored: Mapping[Item, MoodleCourse]) -> Wanted:
    """The items whose course changes. Raises BadFile if one gets a course that another line names.

    A column that was filled down would give everything one course. What shares one already stays.
    """
    changed = {
        item: value
        for item, value in wanted.items()
        if item not in stored or stored[item].shortname != value[0]
    }
    lines = Counter(shortname.casefold() for shortname, _ in wanted.values())
    errors = FileErrors()
    for shortname, place in changed.values():
        if lines[shortname.casefold()] > 1:
            errors.add(
                f"El nombre corto {quoted(shortname)} está en varias líneas. Si de verdad "
                "comparten curso, asígnalo en la ficha de cada una.",
                place=place,
                column=SHORTNAME,
            )
    errors.check()
    return changed


def _former_ids(changed: Wanted, stored: Mapping[Item, MoodleCourse]) -> set[int]:
    return {stored[item].course_id for item in changed if item in stored}


def _as_changes(changed: Wanted, stored: Mapping[Item, MoodleCourse]) -> list[CourseChange]:
    return [
        CourseChange(
            code=course_idnumber(item),
            before=stored[item].shortname if item in stored else "",
            after=shortname,
        )
        for item, (shortname, _) in changed.items()
    ]


def _read(data: bytes, name: str) -> Wanted:
    """The course that each line of a file asks for. Raises BadFile."""
    rows, unit = read_table(data, name, Reading(BOUNDS))
    numbered = iter(rows)
    titles = [title.strip().lower() for title in next(numbered, (0, []))[1]]
    errors = FileErrors()
    for title in (CODE, SHORTNAME):
        if title not in titles:
            errors.add(f"Falta la columna «{title}».")
    errors.check()

    def lines() -> Iterator[tuple[str, str, str]]:
        for number, row in numbered:
            cells = dict(zip(titles, row, strict=False))
            yield f"{unit} {number}", cells.get(CODE, "").strip(), cells.get(SHORTNAME, "").strip()

    return _checked(lines())


def _checked(lines: Iterable[tuple[str, str, str]]) -> Wanted:
    """The short names of lines (place, code, short name) by item. Raises BadFile."""
    items = _items_by_code()
    errors = FileErrors()
    wanted: Wanted = {}
    for place, code, shortname in lines:
        if not shortname:
            continue
        if code not in items:
            errors.add(f"No hay asignatura ni lección {quoted(code)}.", place=place, column=CODE)
        elif items[code] in wanted:
            errors.add(f"{quoted(code)} está dos veces.", place=place, column=CODE)
        elif len(shortname) > 255:
            errors.add("Escribe como mucho 255 caracteres.", place=place, column=SHORTNAME)
        else:
            wanted[items[code]] = shortname, place
    errors.check()
    return wanted


def _items_by_code() -> dict[str, Item]:
    subjects = (Item(pk, None) for pk in Subject.objects.values_list("pk", flat=True))
    lessons = (Item(*pair) for pair in Lesson.objects.values_list("subject_id", "pk"))
    return {course_idnumber(item): item for items in (subjects, lessons) for item in items}


def _look_up(changed: Wanted, stored: Mapping[Item, MoodleCourse]) -> dict[str, dict[str, Any]]:
    """Moodle's course for each short name. Raises BadFile for those that Moodle does not have.

    Also raised for more courses than Moodle is asked about at once, the former ones included.
    """
    places = dict(changed.values())
    count = len(places) + len(_former_ids(changed, stored))
    if count > MOST_ASKED:
        raise BadFile(
            FileError(
                f"Habría que preguntar a Moodle por {count} cursos, entre nuevos y anteriores, y "
                f"con cada archivo se pregunta como mucho por {MOST_ASKED}: súbelo por partes."
            )
        )
    errors = FileErrors()
    found = {}
    for shortname, place in places.items():
        course = find_course("shortname", shortname)
        if course is None:
            errors.add(
                f"Moodle no tiene ningún curso con el nombre corto {quoted(shortname)}.",
                place=place,
                column=SHORTNAME,
            )
        else:
            found[shortname] = course
    errors.check()
    return found
