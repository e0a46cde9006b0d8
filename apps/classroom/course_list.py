"""The Moodle courses of all subjects and lessons as one list: to download, fill in and upload."""

from collections.abc import Iterator, Mapping
from typing import Any

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
# Each new short name is a call to Moodle.
MOST_NEW = 300


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


def read_course_list(data: bytes, name: str) -> int:
    """Give each line's subject or lesson the course with the line's short name.

    Lines without a short name change nothing. Returns how many rows changed. All or nothing:
    raises BadFile with every error, and MoodleError if Moodle does not answer.
    """
    wanted = _read(data, name)
    stored = {Item(row.subject_id, row.lesson_id): row for row in MoodleCourse.objects.all()}
    changed = {
        item: value
        for item, value in wanted.items()
        if item not in stored or stored[item].shortname != value[0]
    }
    found = _look_up(changed)
    replaced = {
        stored[item].course_id: found[shortname]["id"]
        for item, (shortname, _) in changed.items()
        if item in stored and is_gone(stored[item].course_id)
    }
    with transaction.atomic():
        for gone, course_id in replaced.items():
            take_over_enrolments(gone, course_id)
        for item, (shortname, _) in changed.items():
            MoodleCourse.objects.update_or_create(
                **item._asdict(),
                defaults={
                    "shortname": shortname,
                    "course_id": found[shortname]["id"],
                    "full_name": found[shortname]["fullname"],
                },
            )
    return len(changed)


def _read(data: bytes, name: str) -> dict[Item, tuple[str, str]]:
    """The short name and the place in the file of each item. Raises BadFile."""
    rows, unit = read_table(data, name, Reading(BOUNDS))
    numbered = iter(rows)
    titles = [title.strip().lower() for title in next(numbered, (0, []))[1]]
    errors = FileErrors()
    for title in (CODE, SHORTNAME):
        if title not in titles:
            errors.add(f"Falta la columna «{title}».")
    errors.check()
    items = _items_by_code()
    wanted: dict[Item, tuple[str, str]] = {}
    for number, row in numbered:
        cells = dict(zip(titles, row, strict=False))
        code, shortname = (cells.get(title, "").strip() for title in (CODE, SHORTNAME))
        place = f"{unit} {number}"
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


def _look_up(wanted: Mapping[Item, tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """Moodle's course for each short name. Raises BadFile for those that Moodle does not have."""
    places: dict[str, str] = {}
    for shortname, place in wanted.values():
        places.setdefault(shortname, place)
    if len(places) > MOST_NEW:
        raise BadFile(
            FileError(
                f"Hay {len(places)} nombres cortos nuevos, y en cada archivo caben {MOST_NEW}: "
                "súbelo por partes."
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
