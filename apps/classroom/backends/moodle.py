"""A real Moodle site through its web services (decisions.md, "Students and the classroom").

Accounts, enrolments and passwords; the site must offer the functions named here to its token.
Moodle answers errors with status 200 as well: what has an `exception` in it has failed.
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
from apps.classroom.courses import course_id_for
from apps.classroom.reads import item_name
from apps.students.models import Student

TIMEOUT_S = 20
# What Moodle takes as a username unless it was told to take more.
PLAIN_USERNAME = re.compile(r"[a-z0-9_.@-]+")
NO_WORDS = (
    "El aula no acepta esta contraseña. Prueba con otra más larga, con mayúsculas, números y algún "
    "símbolo."
)
# Error codes are words; what the password policy says stands itself in the place of one.
CODE = re.compile(r"[a-z0-9_]*")
# Moodle wants names; the student gives theirs on the one-time link.
UNKNOWN_FIRST_NAME, UNKNOWN_LAST_NAME = "Estudiante", "de la academia"


class MoodleError(ClassroomError):
    """What Moodle said, or that it said nothing; `code` is its error code, else empty."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class MoodleClassroom:
    def ensure_account(self, student: Student, known_id: str) -> ExternalAccount:
        """The student's Moodle user: the one it was, the one that we marked as theirs, the one with
        that address, else a new one.
        """
        found = (_user("id", known_id) if known_id else None) or _find_user(student)
        if found is None:
            try:
                found = _create_user(student)
            except MoodleError as refusal:
                # Another worker was faster, or our own call whose answer was lost.
                found = _find_user(student)
                if found is None:
                    raise refusal
        # Moodle tells usernames to those alone whose role may see all details of a user.
        return ExternalAccount(str(found["id"]), found.get("username") or student.email)

    def apply_rights(self, external_id: str, rights: Sequence[Right]) -> None:
        """Enrol, suspend and unenrol, once for each course: the best right to it counts."""
        best: dict[int, Right] = {}
        for right in rights:
            course_id = course_id_for(right.item, find=find_course)
            if course_id is None:
                if right.state == "open":
                    raise MoodleError(f"Falta el curso de Moodle de «{item_name(right.item)}».")
                continue
            best[course_id] = max(best.get(course_id, right), right, key=Right.strength)
        enrolled = {course: right for course, right in best.items() if right.state != "gone"}
        gone = [course for course in best if course not in enrolled]
        if enrolled:
            call(
                "enrol_manual_enrol_users",
                enrolments=[
                    {
                        "roleid": settings.MOODLE_STUDENT_ROLE,
                        "userid": external_id,
                        "courseid": course,
                        "timeend": _end_of(right.ends_on),
                        "suspend": int(right.state == "paused"),
                    }
                    for course, right in sorted(enrolled.items())
                ],
            )
        if gone:
            # Nothing happens to one who is not enrolled.
            call(
                "enrol_manual_unenrol_users",
                enrolments=[{"userid": external_id, "courseid": course} for course in sorted(gone)],
            )

    def set_password(self, external_id: str, student: Student, password: str) -> None:
        names = {"firstname": student.first_name, "lastname": student.last_name}
        try:
            _update_user(external_id, password=password, **names)
        except MoodleError as refusal:
            if refusal.code == "invalidresponse":
                # From 3.10 on Moodle trips over its own answer that tells of the policy.
                raise PasswordRefused(NO_WORDS) from refusal
            if CODE.fullmatch(refusal.code):
                raise
            # Its own policy, in the words that its owner wrote for it.
            policy = str(refusal).removeprefix("error/")
            raise PasswordRefused(f"El aula no acepta esta contraseña: {policy}") from refusal


def find_course(field: str, value: str) -> dict[str, Any] | None:
    """The course with that "idnumber", "shortname" or "id"; None where there is none."""
    answer = call("core_course_get_courses_by_field", field=field, value=value)
    courses = answer.get("courses", []) if isinstance(answer, dict) else []
    return courses[0] if courses else None


def call(function: str, **params: Any) -> Any:
    """Call a web service function; its answer, or MoodleError.

    The token travels in the body, so that it is in no log of addresses.
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
        raise MoodleError(f"{function}: {type(error).__name__}", "unavailable") from error
    if isinstance(content, dict) and "exception" in content:
        detail = content.get("debuginfo") or content.get("message") or content["exception"]
        raise MoodleError(strip_tags(str(detail)), str(content.get("errorcode") or "error"))
    return content


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """PHP's way to write lists and objects in a form: users[0][email]=…"""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}[{key}]" if name else key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _flat(inner, f"{name}[{index}]")
    else:
        yield name, str(value)


def _find_user(student: Student) -> dict[str, Any] | None:
    ours = _user("idnumber", _idnumber(student))
    if ours is not None:
        return ours
    same = _user("email", student.email)
    # Marked as ours, so that it is found again when the address changes on either side.
    if same is not None and not same.get("idnumber"):
        _update_user(same["id"], idnumber=_idnumber(student))
    return same


def _user(field: str, value: str) -> dict[str, Any] | None:
    found = call("core_user_get_users_by_field", field=field, values=[value])
    return dict(found[0]) if found else None


def _create_user(student: Student) -> dict[str, Any]:
    plain = PLAIN_USERNAME.fullmatch(student.email) is not None
    created = call(
        "core_user_create_users",
        users=[
            {
                "username": student.email if plain else f"alumno-{student.pk}",
                # Nobody learns it: the student sets another on the one-time link. The beginning is
                # for the site's password policy.
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
    # Later Moodles answer what went wrong as a warning instead of an exception.
    warnings = answer.get("warnings") if isinstance(answer, dict) else None
    if warnings:
        code = str(warnings[0].get("warningcode") or "warning")
        raise MoodleError(strip_tags(str(warnings[0].get("message", ""))), code)


def _idnumber(student: Student) -> str:
    return f"academia-{student.pk}"


def _end_of(day: date | None) -> int:
    """The end of a day in Madrid as Moodle wants it: seconds since 1970, 0 for no end."""
    if day is None:
        return 0
    midnight = datetime.combine(day + timedelta(days=1), time.min)
    return int(timezone.make_aware(midnight).timestamp())
