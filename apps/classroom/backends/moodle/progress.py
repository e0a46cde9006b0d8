"""Progress of a Moodle user in the courses of the shop: activities completed, last visit."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from apps.classroom.backends.base import Item, Seen
from apps.classroom.backends.moodle.client import MoodleError, call
from apps.classroom.backends.moodle.courses import stored_courses
from apps.classroom.backends.moodle.rights import COURSE_REFUSED, USER_IS_GONE

# Moodle's states of an activity: complete, and complete with a passing grade.
DONE = (1, 2)


def progress_in(external_id: str, items: Sequence[Item]) -> dict[Item, Seen]:
    """The user's progress in the items' courses that they can enter now. Raises MoodleError.

    One call, and one more for each of these courses in which Moodle tracks completion.
    """
    try:
        answer = call("core_enrol_get_users_courses", userid=external_id, returnusercount=0)
    except MoodleError as refusal:
        if refusal.code not in USER_IS_GONE:
            raise
        return {}
    courses = {int(course["id"]): course for course in answer}
    seen: dict[int, Seen] = {}
    found = {}
    for item, course_id in stored_courses(items).items():
        if course_id not in courses:
            continue
        if course_id not in seen:
            seen[course_id] = _seen(external_id, courses[course_id])
        found[item] = seen[course_id]
    return found


def _seen(external_id: str, course: dict[str, Any]) -> Seen:
    done = total = 0
    if course.get("enablecompletion"):
        done, total = _completed(external_id, int(course["id"]))
    last = course.get("lastaccess")
    return Seen(done, total, datetime.fromtimestamp(last, UTC) if last else None)


def _completed(external_id: str, course_id: int) -> tuple[int, int]:
    """How many of the course's tracked activities the user has completed, and how many it has."""
    try:
        answer = call(
            "core_completion_get_activities_completion_status",
            courseid=course_id,
            userid=external_id,
        )
    except MoodleError as refusal:
        if refusal.code not in (*COURSE_REFUSED, *USER_IS_GONE):
            raise
        # The course or the user was deleted since the first call.
        return 0, 0
    tracked = [status for status in answer["statuses"] if status["tracking"]]
    return sum(status["state"] in DONE for status in tracked), len(tracked)
