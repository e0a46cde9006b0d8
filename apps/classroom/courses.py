"""Which Moodle course is which subject or lesson."""

from collections.abc import Callable
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from apps.catalogue.models import Subject
from apps.classroom.backends.base import Item
from apps.classroom.models import MoodleCourse

# (field, value) → Moodle's course, None where there is none.
FindCourse = Callable[[str, str], dict[str, Any] | None]


def course_id_for(item: Item, *, find: FindCourse) -> int | None:
    """The course that staff named in the admin, else the one with the agreed ID number.

    "asignatura-7" and "leccion-31" in Moodle's field "Número ID del curso" need no entry here; what
    is found that way is kept as one.
    """
    course_id = _row(item).values_list("course_id", flat=True).first()
    if course_id is not None:
        return course_id
    course = find("idnumber", agreed_id_number(item))
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
        # Another worker may have found it at the same moment.
        ignore_conflicts=True,
    )
    return int(course["id"])


def _row(item: Item) -> QuerySet[MoodleCourse]:
    if item.lesson_id is None:
        return MoodleCourse.objects.filter(subject_id=item.subject_id, lesson=None)
    return MoodleCourse.objects.filter(lesson_id=item.lesson_id)


def agreed_id_number(item: Item) -> str:
    return f"leccion-{item.lesson_id}" if item.lesson_id else f"asignatura-{item.subject_id}"


def without_course() -> int:
    """How many subjects on sale have no course of their own named here."""
    named = MoodleCourse.objects.filter(subject=OuterRef("pk"), lesson=None)
    return Subject.objects.on_sale().filter(~Exists(named)).count()
