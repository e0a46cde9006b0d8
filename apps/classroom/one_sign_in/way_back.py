"""The request for which a visitor was asked to sign in. The session keeps it until then."""

import time

from django.http import HttpRequest
from django.urls import reverse

_WAITING = "classroom_entry"
# The student has pressed "Mi aula" in the shop: no need to ask again whether to enter.
_PRESSED = "classroom_entry_pressed"
# A code was issued in this session, so Moodle may be open, too.
_ENTERED = "classroom_entered"
WAITS_S = 30 * 60
PRESSED_S = 5 * 60
# Stands for the classroom's first page, where there is no request of Moodle's.
FIRST_PAGE = ""


def remember_entry(request: HttpRequest, query: str = FIRST_PAGE) -> None:
    """Keep the query of Moodle's request, which has been checked, for after the sign-in."""
    request.session[_WAITING] = [query, int(time.time())]


def is_entering(request: HttpRequest) -> bool:
    """Whether the visitor is signing in to enter the classroom."""
    return _waiting(request) is not None


def resume_entry(request: HttpRequest) -> str:
    """Where the visitor goes on after the sign-in, once; empty if nothing waits.

    The address is one of this site's own two, so that no other can be smuggled in.
    """
    query = _waiting(request)
    request.session.pop(_WAITING, None)
    if query is None:
        return ""
    if query == FIRST_PAGE:
        return reverse("aula_entrar")
    note_press(request)
    return f"{reverse('oidc_autorizar')}?{query}"


def note_press(request: HttpRequest) -> None:
    """Note that the student has just asked for the classroom by a button of the shop."""
    request.session[_PRESSED] = int(time.time())


def take_press(request: HttpRequest) -> bool:
    """Whether the student has just asked for the classroom. It counts once."""
    pressed_at = request.session.pop(_PRESSED, None)
    return isinstance(pressed_at, int) and time.time() - pressed_at < PRESSED_S


def note_entry(request: HttpRequest) -> None:
    request.session[_ENTERED] = True


def has_entered(request: HttpRequest) -> bool:
    """Whether the student has entered Moodle from this session."""
    return bool(request.session.get(_ENTERED))


def _waiting(request: HttpRequest) -> str | None:
    kept = request.session.get(_WAITING)
    if not isinstance(kept, list) or time.time() - int(kept[1]) > WAITS_S:
        return None
    return str(kept[0])
