"""The Moodle backend: accounts, enrolments and passwords through Moodle's web services.

The token must be allowed to call the functions used here. Moodle returns errors with status 200:
an answer with the key `exception` is an error.
"""

import re
import secrets
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

import requests
from django.conf import settings
from django.utils import timezone
from django.utils.html import strip_tags

from apps.classroom.backends.base import (
    ClassroomError,
    ExternalAccount,
    PasswordRefused,
    Right,
)
from apps.classroom.backends.moodle_courses import course_id_for, item_name
from apps.students.models import Student

TIMEOUT_S = 20
# The usernames that Moodle accepts by default.
PLAIN_USERNAME = re.compile(r"[a-z0-9_.@-]+")
DEFAULT_POLICY_MESSAGE = (
    "El aula no acepta esta contraseña. Prueba con otra más larga, con mayúsculas, números y algún "
    "símbolo."
)
# An error code is one word. For a refused password Moodle puts the policy's text in its place.
ERROR_CODE = re.compile(r"[a-z0-9_]*")
# Moodle requires names. The student enters theirs later, on the one-time link's page.
UNKNOWN_FIRST_NAME, UNKNOWN_LAST_NAME = "Estudiante", "de la academia"


class MoodleError(ClassroomError):
    """An error from Moodle, or no answer from it.

    `code` is Moodle's error code, `detail` is its own text.
    """

    def __init__(self, message: str, code: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.detail = detail


class MoodleClassroom:
    def ensure_account(self, student: Student, known_id: str) -> ExternalAccount:
        """Find the student's Moodle user by known id, by idnumber or by e-mail; else create it."""
        user = (_get_user("id", known_id) if known_id else None) or _find_user(student)
        if user is None:
            try:
                user = _create_user(student)
            except MoodleError as refusal:
                # A concurrent worker, or an earlier call whose answer was lost, created the user.
                user = _find_user(student)
                if user is None:
                    raise refusal
        # Moodle omits the username if the token's role may not see all details of a user.
        return ExternalAccount(str(user["id"]), user.get("username") or student.email)

    def apply_rights(self, external_id: str, rights: Sequence[Right]) -> None:
        """Enrol, suspend and unenrol the user, with one call each for all courses."""
        best = _best_right_by_course(rights)
        enrolled = {course: right for course, right in best.items() if right.state != "withdrawn"}
        withdrawn = sorted(course for course in best if course not in enrolled)
        if enrolled:
            call("enrol_manual_enrol_users", enrolments=_enrolments(external_id, enrolled))
        if withdrawn:
            # Unenrolling a user who is not enrolled does nothing.
            call(
                "enrol_manual_unenrol_users",
                enrolments=[{"userid": external_id, "courseid": course} for course in withdrawn],
            )

    def move_account(self, external_id: str, student: Student) -> None:
        user = _get_user("id", external_id)
        if user is None:
            return  # `ensure_account` creates another.
        fields = {"email": student.email}
        # A user name that is no address is of Moodle's own choice, or of its owner's, and stays.
        if "@" in user.get("username", "") and PLAIN_USERNAME.fullmatch(student.email):
            fields["username"] = student.email
        _update_user(user["id"], **fields)

    def set_password(self, external_id: str, student: Student, password: str) -> None:
        names = {"firstname": student.first_name, "lastname": student.last_name}
        try:
            _update_user(external_id, password=password, **names)
        except MoodleError as refusal:
            if refusal.code == "invalidresponse":
                # Since 3.10 Moodle's answer about the policy fails Moodle's own validation.
                raise PasswordRefused(DEFAULT_POLICY_MESSAGE) from refusal
            if ERROR_CODE.fullmatch(refusal.code):
                raise
            # The policy's text as configured in Moodle.
            policy = refusal.detail.removeprefix("error/")
            raise PasswordRefused(f"El aula no acepta esta contraseña: {policy}") from refusal


def _best_right_by_course(rights: Sequence[Right]) -> dict[int, Right]:
    """Several lessons may share a course: the right with the highest priority applies."""
    best: dict[int, Right] = {}
    for right in rights:
        course_id = course_id_for(right.item, find=find_course)
        if course_id is not None:
            best[course_id] = max(best.get(course_id, right), right, key=Right.priority)
        elif right.state == "open":
            raise MoodleError(f"Falta el curso de Moodle de «{item_name(right.item)}».")
    return best


def _enrolments(external_id: str, rights: dict[int, Right]) -> list[dict[str, Any]]:
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


def find_course(field: str, value: str) -> dict[str, Any] | None:
    """The course with that "idnumber", "shortname" or "id"; None if there is none."""
    answer = call("core_course_get_courses_by_field", field=field, value=value)
    courses = answer.get("courses", []) if isinstance(answer, dict) else []
    return courses[0] if courses else None


def call(function: str, **params: Any) -> Any:
    """Call a web service function and return its answer. Raises MoodleError.

    The token is sent in the body, because URLs end up in logs.
    """
    if not settings.MOODLE_URL or not settings.MOODLE_TOKEN:
        raise MoodleError("Faltan MOODLE_URL y MOODLE_TOKEN en el entorno.", "unavailable")
    body = {
        "wstoken": settings.MOODLE_TOKEN,
        "wsfunction": function,
        "moodlewsrestformat": "json",
        **dict(_flat(params)),
    }
    try:
        answer = requests.post(
            f"{settings.MOODLE_URL}/webservice/rest/server.php", data=body, timeout=TIMEOUT_S
        )
        answer.raise_for_status()
        content = answer.json()
    except requests.RequestException as error:
        cause = f"{function}: {type(error).__name__}"
        raise MoodleError(f"El aula no contesta ({cause}).", "unavailable") from error
    if isinstance(content, dict) and "exception" in content:
        answered = content.get("debuginfo") or content.get("message") or content["exception"]
        detail = strip_tags(str(answered))
        code = str(content.get("errorcode") or "error")
        raise MoodleError(f"El aula no lo acepta: {detail}", code, detail)
    return content


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Encode lists and objects as PHP form fields: users[0][email]=…"""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}[{key}]" if name else key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _flat(inner, f"{name}[{index}]")
    else:
        yield name, str(value)


def _find_user(student: Student) -> dict[str, Any] | None:
    by_idnumber = _get_user("idnumber", _idnumber(student))
    if by_idnumber is not None:
        return by_idnumber
    by_email = _get_user("email", student.email)
    # Set our idnumber, so that the user is found even after an address has changed.
    if by_email is not None and not by_email.get("idnumber"):
        _update_user(by_email["id"], idnumber=_idnumber(student))
    return by_email


def _get_user(field: str, value: str) -> dict[str, Any] | None:
    users = call("core_user_get_users_by_field", field=field, values=[value])
    return dict(users[0]) if users else None


def _create_user(student: Student) -> dict[str, Any]:
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


def _update_user(user_id: str | int, **fields: str) -> None:
    answer = call("core_user_update_users", users=[{"id": user_id, **fields}])
    # Newer versions of Moodle return an error as a warning instead of an exception.
    warnings = answer.get("warnings") if isinstance(answer, dict) else None
    if warnings:
        code = str(warnings[0].get("warningcode") or "warning")
        raise MoodleError(strip_tags(str(warnings[0].get("message", ""))), code)


def _idnumber(student: Student) -> str:
    return f"academia-{student.pk}"


def _end_of(day: date | None) -> int:
    """The end of a day in Madrid as a Unix timestamp; 0 means no end."""
    if day is None:
        return 0
    midnight = datetime.combine(day + timedelta(days=1), time.min)
    return int(timezone.make_aware(midnight).timestamp())
