"""The users of Moodle that belong to the shop's students."""

import re
import secrets
from typing import Any

from django.utils.html import strip_tags

from apps.classroom.backends.moodle.client import MoodleError, call
from apps.students.models import Student

# The usernames that Moodle accepts by default.
PLAIN_USERNAME = re.compile(r"[a-z0-9_.@-]+")
# Moodle requires names. The student enters theirs later, on the one-time link's page.
UNKNOWN_FIRST_NAME, UNKNOWN_LAST_NAME = "Estudiante", "de la academia"


def find_user(student: Student) -> dict[str, Any] | None:
    by_idnumber = get_user("idnumber", _idnumber(student))
    if by_idnumber is not None:
        return by_idnumber
    by_email = get_user("email", student.email)
    # Set our idnumber, so that the user is found even after an address has changed.
    if by_email is not None and not by_email.get("idnumber"):
        update_user(by_email["id"], idnumber=_idnumber(student))
    return by_email


def get_user(field: str, value: str) -> dict[str, Any] | None:
    users = call("core_user_get_users_by_field", field=field, values=[value])
    return dict(users[0]) if users else None


def create_user(student: Student) -> dict[str, Any]:
    is_username = PLAIN_USERNAME.fullmatch(student.email) is not None
    created = call(
        "core_user_create_users",
        users=[
            {
                "username": student.email if is_username else f"alumno-{student.pk}",
                # Replaced when the student uses the one-time link. The prefix satisfies Moodle's
                # password policy.
                "password": f"Aa1-{secrets.token_urlsafe(24)}",
                "firstname": student.first_name or UNKNOWN_FIRST_NAME,
                "lastname": student.last_name or UNKNOWN_LAST_NAME,
                "email": student.email,
                "idnumber": _idnumber(student),
                "auth": "manual",
            }
        ],
    )
    return dict(created[0])


def update_user(user_id: str | int, **fields: str) -> None:
    answer = call("core_user_update_users", users=[{"id": user_id, **fields}])
    # Newer versions of Moodle return an error as a warning instead of an exception.
    warnings = answer.get("warnings") if isinstance(answer, dict) else None
    if warnings:
        code = str(warnings[0].get("warningcode") or "warning")
        raise MoodleError(strip_tags(str(warnings[0].get("message", ""))), code)


def _idnumber(student: Student) -> str:
    return f"academia-{student.pk}"
