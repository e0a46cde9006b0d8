"""The request for which a visitor was asked to sign in. A cookie keeps it until then."""

import time

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from apps.classroom.one_sign_in.switch import is_on

_SALT = "apps.classroom.way-back"
# The student has pressed "Mi aula" in the shop: no need to ask again whether to enter.
_PRESSED = "classroom_entry_pressed"
# A code was issued in this session, so Moodle may be open, too.
_ENTERED = "classroom_entered"
WAITS_S = 30 * 60
PRESSED_S = 5 * 60
# Stands for the classroom's first page, where there is no request of Moodle's.
FIRST_PAGE = ""


def remember_entry(response: HttpResponse, query: str = FIRST_PAGE) -> None:
    """Keep the query of Moodle's request, which has been checked, for after the sign-in.

    In a signed cookie: a stranger can ask for the classroom as often as they like, and the shop
    stores nothing for it.
    """
    response.set_cookie(
        _cookie(),
        signing.dumps(query, salt=_SALT),
        max_age=WAITS_S,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def is_entering(request: HttpRequest) -> bool:
    """Whether the visitor is signing in to enter the classroom."""
    return _waiting(request) is not None


def resume_entry(request: HttpRequest, *, otherwise: str) -> HttpResponse:
    """Lead a visitor who has signed in to where they were going, once; if nothing waits, elsewhere.

    What waits is one of this site's own two addresses, so that no other can be smuggled in.
    """
    query = _waiting(request)
    address = otherwise
    if query == FIRST_PAGE:
        address = reverse("aula_entrar")
    elif query is not None:
        note_press(request)
        address = f"{reverse('oidc_autorizar')}?{query}"
    response = redirect(address)
    if _cookie() in request.COOKIES:
        response.delete_cookie(_cookie(), samesite="Lax")
    return response


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
    if not is_on():
        return None
    try:
        kept = signing.loads(request.COOKIES.get(_cookie(), ""), salt=_SALT, max_age=WAITS_S)
    except signing.BadSignature:
        return None
    return str(kept)


def _cookie() -> str:
    return f"{settings.COOKIE_PREFIX}entrada_aula"
