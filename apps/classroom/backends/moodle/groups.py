"""The group of each course that students are put into, if the setting `MOODLE_GROUP` names one.

The group is that of the semester with which the access ends. Moodle itself takes a user out of the
groups of a course when the enrolment is removed.
"""

from datetime import date
from html import unescape
from typing import Any

from django.conf import settings

from apps.classroom.backends.moodle.client import call
from apps.classroom.backends.moodle.users import plain_name
from apps.classroom.models import MoodleEnrolment, Semester


def group_name(ends_on: date | None) -> str:
    """The name of the group for an access that ends on that day; empty for no group."""
    if not settings.MOODLE_GROUP or ends_on is None:
        return ""
    semesters = (row.name for row in Semester.objects.all() if row.end_from(ends_on) == ends_on)
    # The semester may have another end by now.
    semester = next(semesters, f"{ends_on:%d/%m}")
    return plain_name(settings.MOODLE_GROUP.format(semester=semester, year=ends_on.year))


def move_to_group(row: MoodleEnrolment) -> None:
    """Put the enrolled user into the group of their semester, and out of the former one's.

    Raises MoodleError. A group that the course does not have is created.
    """
    name = group_name(row.ends_on)
    if name == row.group:
        return
    groups = _groups_of(row.course_id)
    if name:
        group_id = groups.get(name) or _create_group(row.course_id, name)
        call("core_group_add_group_members", members=[_member(row, group_id)])
    if row.group in groups:
        call("core_group_delete_group_members", members=[_member(row, groups[row.group])])
    MoodleEnrolment.objects.filter(pk=row.pk).update(group=name)


def _member(row: MoodleEnrolment, group_id: int) -> dict[str, Any]:
    return {"groupid": group_id, "userid": row.external_id}


def _groups_of(course_id: int) -> dict[str, int]:
    groups = call("core_group_get_course_groups", courseid=course_id)
    # Moodle answers with the names as HTML. Of two groups with one name, the older one counts.
    return {unescape(row["name"]): _id(row) for row in sorted(groups, key=_id, reverse=True)}


def _id(group: dict[str, Any]) -> int:
    return int(group["id"])


def _create_group(course_id: int, name: str) -> int:
    group = {"courseid": course_id, "name": name, "description": ""}
    [created] = call("core_group_create_groups", groups=[group])
    return int(created["id"])
