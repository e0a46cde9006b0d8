"""Devices that a student has signed in on (docs/rules.md, "Rate limits").

Failed attempts of others never lock a student out on such a device: its attempts are counted apart.
"""

import secrets

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from apps.core.identity import email_identity
from apps.core.keyed_digest import keyed_digest, matches
from apps.students.models import Student
from apps.students.session import current_student

_SALT = "apps.students.devices"
LIFETIME_S = 365 * 24 * 3600


def cookie_name() -> str:
    return f"{settings.COOKIE_PREFIX}dispositivo"


def remember_device(response: HttpResponse, student: Student) -> None:
    """Set a cookie that names the device and, as a digest, its student. It opens nothing."""
    digest = keyed_digest(_SALT, email_identity(student.email))
    value = signing.dumps([secrets.token_urlsafe(12), digest], salt=_SALT)
    response.set_cookie(
        cookie_name(),
        value,
        max_age=LIFETIME_S,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def known_device(request: HttpRequest | Request, email: str) -> str:
    """The name of the device if this student has signed in on it; otherwise empty."""
    try:
        device, digest = signing.loads(
            request.COOKIES.get(cookie_name(), ""), salt=_SALT, max_age=LIFETIME_S
        )
    except signing.BadSignature:
        return ""
    return str(device) if matches(_SALT, email_identity(email), digest) else ""


def is_known_buyer(request: Request, email: str) -> bool:
    """Whether this visitor has shown that the address is theirs: signed in, now or earlier here."""
    student = current_student(request)
    signed_in = student is not None and email_identity(student.email) == email_identity(email)
    return signed_in or bool(known_device(request, email))
