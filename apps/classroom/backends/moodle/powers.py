"""Whether a user of Moodle may do more than a student.

Moodle has no function that answers this. Its functions name site administrators, users with rights
in the whole site, and users with another role than student in a course of theirs. A role in a
category is seen in the courses of that category in which the user is enrolled.
"""

from django.conf import settings

from apps.classroom.backends.moodle.client import call

# The front page is a course, in which everybody counts as enrolled.
FRONT_PAGE = 1
# A user with one of these capabilities is no student.
POWERS = (
    "moodle/course:create",
    "moodle/course:manageactivities",
    "moodle/course:update",
    "moodle/course:viewhiddencourses",
    "moodle/grade:edit",
    "moodle/role:assign",
    "moodle/site:accessallgroups",
    "moodle/site:config",
    "moodle/user:create",
    "moodle/user:update",
)


def has_powers(user_id: int | str) -> bool:
    """Whether the user is an administrator, or has a role above student. Raises MoodleError."""
    if _is_site_administrator(user_id):
        return True
    courses = call("core_enrol_get_users_courses", userid=user_id, returnusercount=0)
    course_ids = [int(course["id"]) for course in courses]
    if _has_capability(user_id, [FRONT_PAGE, *course_ids]):
        return True
    student = {settings.MOODLE_STUDENT_ROLE}
    return any(roles_in(user_id, course_id) - student for course_id in course_ids)


def roles_in(user_id: int | str, course_id: int) -> set[int]:
    """The ids of the roles that the user has in the course itself, also while suspended there."""
    profiles = call(
        "core_user_get_course_user_profiles", userlist=[{"userid": user_id, "courseid": course_id}]
    )
    return {int(role["roleid"]) for profile in profiles for role in profile.get("roles", [])}


def _is_site_administrator(user_id: int | str) -> bool:
    """Moodle refuses to update an administrator, before it looks at what is to change: nothing."""
    answer = call("core_user_update_users", users=[{"id": user_id}])
    warnings = answer.get("warnings") or [] if isinstance(answer, dict) else []
    return any(warning.get("warningcode") == "usernotupdatedadmin" for warning in warnings)


def _has_capability(user_id: int | str, course_ids: list[int]) -> bool:
    answer = call(
        "core_enrol_get_enrolled_users_with_capability",
        coursecapabilities=[
            {"courseid": course_id, "capabilities": list(POWERS)} for course_id in course_ids
        ],
        options=[{"name": "userfields", "value": "id"}],
    )
    return any(
        str(user["id"]) == str(user_id) for group in answer for user in group.get("users", [])
    )
