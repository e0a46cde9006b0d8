"""The Moodle course of each subject or lesson."""

import re
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.catalogue.models import Lesson, Subject
from apps.catalogue.text import search_form
from apps.classroom.backends.base import Item, Problem
from apps.classroom.backends.moodle.client import call
from apps.classroom.backends.moodle.menus import SHOW_COURSE
from apps.classroom.models import MoodleCourse, MoodleEnrolment
from apps.core.normal_form import normal_form


def course_id_for(item: Item) -> int | None:
    """The id of the course that staff entered in the admin, or of the one with a matching idnumber.

    Courses whose Moodle field "Número ID del curso" is "asignatura-7" or "leccion-31" need no entry
    in the admin. Once found, such a course is stored as an entry.
    """
    course_id = _rows(item).values_list("course_id", flat=True).first()
    if course_id is not None:
        return course_id
    course = find_course("idnumber", course_idnumber(item))
    if course is None:
        return None
    MoodleCourse.objects.bulk_create(
        [
            MoodleCourse(
                subject_id=item.subject_id,
                lesson_id=item.lesson_id,
                course_id=course["id"],
                shortname=course["shortname"],
                full_name=course["fullname"],
            )
        ],
        # A concurrent worker may have stored the same course.
        ignore_conflicts=True,
    )
    return int(course["id"])


def stored_courses(items: Sequence[Item]) -> dict[Item, int]:
    """The course ids of the items that have an entry in the admin. One query."""
    subjects = {item.subject_id for item in items}
    entries = {
        Item(row.subject_id, row.lesson_id): row.course_id
        for row in MoodleCourse.objects.filter(subject__in=subjects)
    }
    return {item: entries[item] for item in items if item in entries}


def look_up_again(item: Item) -> int | None:
    """The id of the item's course as Moodle has it now, after it refused the stored id.

    A course that was restored has the same short name or ID number, and another id.
    """
    row = _rows(item).first()
    found = find_course("shortname", row.shortname) if row else None
    found = found or find_course("idnumber", course_idnumber(item))
    if found is None:
        return None
    if row and row.course_id != found["id"]:
        replaced = is_gone(row.course_id)
        with transaction.atomic():
            _rows(item).update(
                course_id=found["id"], shortname=found["shortname"], full_name=found["fullname"]
            )
            if replaced:
                take_over_enrolments(row.course_id, found["id"])
    return int(found["id"])


def replacement_of(course_id: int) -> int | None:
    """The id of the course that an entry has now instead of a deleted one; None if none has."""
    for row in MoodleCourse.objects.filter(course_id=course_id):
        found = look_up_again(Item(row.subject_id, row.lesson_id))
        if found not in (None, course_id):
            return found
    return None


def is_gone(course_id: int) -> bool:
    return find_course("id", str(course_id)) is None


def take_over_enrolments(gone: int, course_id: int) -> None:
    """Count the shop's enrolments in a deleted course as those in the course that replaces it.

    Moodle restores a course with its enrolments. They are sent again with the next change.
    """
    same = MoodleEnrolment.objects.filter(
        course_id=course_id, student=OuterRef("student"), external_id=OuterRef("external_id")
    )
    rows = MoodleEnrolment.objects.filter(course_id=gone)
    rows.filter(Exists(same)).delete()
    rows.update(course_id=course_id, state="", group="")


def hidden_courses(items: Sequence[Item]) -> list[Problem]:
    """The items whose course is hidden: its students are enrolled, and Moodle lets none in."""
    problems = []
    for item in items:
        course_id = _rows(item).values_list("course_id", flat=True).first()
        course = find_course("id", str(course_id)) if course_id is not None else None
        if course is not None and course.get("visible") == 0:
            message = (
                f"El curso de «{item_name(item)}» está oculto en Moodle, y sus alumnos no pueden "
                f"entrar: {SHOW_COURSE}."
            )
            problems.append(Problem(message, [item]))
    return problems


def find_course(field: str, value: str) -> dict[str, Any] | None:
    """The course with that "idnumber", "shortname" or "id"; None if there is none."""
    answer = call("core_course_get_courses_by_field", field=field, value=value)
    courses = answer.get("courses", []) if isinstance(answer, dict) else []
    return courses[0] if courses else None


def _rows(item: Item) -> QuerySet[MoodleCourse]:
    if item.lesson_id is None:
        return MoodleCourse.objects.filter(subject_id=item.subject_id, lesson=None)
    return MoodleCourse.objects.filter(lesson_id=item.lesson_id)


def course_idnumber(item: Item) -> str:
    return f"leccion-{item.lesson_id}" if item.lesson_id else f"asignatura-{item.subject_id}"


def named_item(idnumber: str) -> str:
    """The `course_idnumber` that a course's "Número ID del curso" stands for, or an empty text.

    Many of Moodle's databases find a course whatever its capitals, accents and forms of digits.
    """
    plain = search_form(normal_form("NFKC", idnumber))
    return plain if re.fullmatch(r"(?:asignatura|leccion)-\d+", plain, re.ASCII) else ""


def item_name(item: Item) -> str:
    """The name of a subject or lesson: "Microeconomía" or "Microeconomía: PEC 3"."""
    subject = Subject.objects.get(pk=item.subject_id).name
    if item.lesson_id is None:
        return subject
    return f"{subject}: {Lesson.objects.get(pk=item.lesson_id).title}"


def without_course() -> Q:
    """The filter of subjects that have no course entered in the admin, if Moodle is used."""
    if settings.CLASSROOM != "moodle":
        return Q(pk__in=())
    return Q(~Exists(MoodleCourse.objects.filter(subject=OuterRef("pk"), lesson=None)))


def count_subjects_without_course() -> int:
    """How many subjects on sale have no course entered in the admin."""
    return Subject.objects.on_sale().filter(without_course()).count()
