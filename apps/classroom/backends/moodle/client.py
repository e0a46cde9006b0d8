"""Calls of Moodle's web services over REST.

The token must be allowed to call `needed_functions()`. Moodle returns errors with status 200: an
answer with the key `exception` is an error.
"""

from collections.abc import Iterator
from http import HTTPStatus
from threading import BoundedSemaphore
from typing import Any

import requests
from django.conf import settings
from django.utils.html import strip_tags

from apps.classroom.backends.base import ClassroomError
from apps.classroom.backends.moodle.reasons import SERVICES_ARE_OFF, reason_for
from apps.core.models import SiteSettings

TIMEOUT_S = 20
# The calls of one process that wait for Moodle at once: half of a web process's threads. A worker
# has one. Without a limit, a slow Moodle would hold every page of the shop.
MOST_WAITING = 8
_places = BoundedSemaphore(MOST_WAITING)
# The functions of Moodle's web services that this package calls.
FUNCTIONS = (
    "core_course_get_courses_by_field",
    "core_enrol_get_enrolled_users_with_capability",
    "core_enrol_get_users_courses",
    "core_user_create_users",
    "core_user_get_course_user_profiles",
    "core_user_get_users",
    "core_user_get_users_by_field",
    "core_user_update_users",
    "enrol_manual_enrol_users",
    "enrol_manual_unenrol_users",
)
# Functions that are called only if `MOODLE_GROUP` names a group.
GROUP_FUNCTIONS = (
    "core_group_add_group_members",
    "core_group_create_groups",
    "core_group_delete_group_members",
    "core_group_get_course_groups",
)
# Functions that are called only if the site's settings say so (`classroom_progress`).
PROGRESS_FUNCTIONS = ("core_completion_get_activities_completion_status",)
# No answer, or one that is none of Moodle's. Other calls would fail as well.
UNAVAILABLE = "unavailable"


def needed_functions() -> tuple[str, ...]:
    """The functions that the present settings make the shop call."""
    return (
        *FUNCTIONS,
        *(GROUP_FUNCTIONS if settings.MOODLE_GROUP else ()),
        *(PROGRESS_FUNCTIONS if SiteSettings.current().classroom_progress else ()),
    )


class MoodleError(ClassroomError):
    """An error from Moodle, or no answer from it.

    `code` is Moodle's error code, `detail` is its own text.
    """

    def __init__(self, message: str, code: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.detail = detail


def call(function: str, **params: Any) -> Any:
    """Call a web service function and return its answer. Raises MoodleError.

    The token is sent in the body, because URLs end up in logs. A rehearsal calls only functions
    that read, whose names say so.
    """
    if not settings.MOODLE_URL or not settings.MOODLE_TOKEN:
        raise MoodleError("Faltan MOODLE_URL y MOODLE_TOKEN en el entorno.", UNAVAILABLE)
    if settings.REHEARSAL and "_get_" not in function:
        raise MoodleError("Es un ensayo: en el aula no se cambia nada.", UNAVAILABLE)
    body = {
        "wstoken": settings.MOODLE_TOKEN,
        "wsfunction": function,
        "moodlewsrestformat": "json",
        **dict(_flat(params)),
    }
    if not _places.acquire(blocking=False):
        raise MoodleError("El aula tarda en contestar, y ya se la espera bastante.", UNAVAILABLE)
    try:
        # A redirect would turn the POST into a GET without the token.
        answer = requests.post(
            f"{settings.MOODLE_URL}/webservice/rest/server.php",
            data=body,
            timeout=TIMEOUT_S,
            allow_redirects=False,
        )
        answer.raise_for_status()
        if answer.is_redirect:
            raise MoodleError(_about_redirect(answer.headers["Location"]), UNAVAILABLE)
        content = answer.json()
    except requests.RequestException as error:
        cause = f"{function}: {type(error).__name__}"
        message = f"El aula no contesta ({cause})."
        if error.response is not None and error.response.status_code == HTTPStatus.FORBIDDEN:
            message = SERVICES_ARE_OFF
        raise MoodleError(message, UNAVAILABLE) from error
    finally:
        _places.release()
    if isinstance(content, dict) and "exception" in content:
        answered = content.get("debuginfo") or content.get("message") or content["exception"]
        raise error_of(content.get("errorcode"), str(answered), function)
    return content


def error_of(code: Any, message: str, function: str) -> MoodleError:
    """The error for a code and a text of Moodle's, with a Spanish sentence for staff."""
    code, detail = str(code or "error"), strip_tags(message)
    return MoodleError(reason_for(code, detail, function), code, detail)


def _about_redirect(location: str) -> str:
    return (
        f"MOODLE_URL lleva a otra dirección, {location.partition('/webservice/')[0]}: escribe en "
        "el entorno la dirección exacta del Moodle, la de su «wwwroot»."
    )


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
