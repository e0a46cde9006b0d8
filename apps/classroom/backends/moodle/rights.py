"""A student's rights as enrolments in Moodle's courses."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from apps.classroom.backends.base import Right
from apps.classroom.backends.moodle.client import MoodleError
from apps.classroom.backends.moodle.courses import course_id_for, item_name


def best_right_by_course(rights: Sequence[Right]) -> dict[int, Right]:
    """Several lessons may share a course: the right with the highest priority applies."""
    best: dict[int, Right] = {}
    for right in rights:
        course_id = course_id_for(right.item)
        if course_id is not None:
            best[course_id] = max(best.get(course_id, right), right, key=Right.priority)
        elif right.state == "open":
            raise MoodleError(f"Falta el curso de Moodle de «{item_name(right.item)}».")
    return best


def enrolments(external_id: str, rights: dict[int, Right]) -> list[dict[str, Any]]:
    return [
        {
            "roleid": settings.MOODLE_STUDENT_ROLE,
            "userid": external_id,
            "courseid": course,
            "timeend": _end_of(right.ends_on),
            "suspend": int(right.state == "paused"),
        }
        for course, right in sorted(rights.items())
    ]


def _end_of(day: date | None) -> int:
    """The end of a day in Madrid as a Unix timestamp; 0 means no end."""
    if day is None:
        return 0
    midnight = datetime.combine(day + timedelta(days=1), time.min)
    return int(timezone.make_aware(midnight).timestamp())
