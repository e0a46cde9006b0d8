"""Devices that a student has signed in on (docs/rules.md, "Rate limits")."""

from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from apps.core.identity import email_identity
from apps.core.web.known_devices import KnownDevices
from apps.students.models import Student
from apps.students.session import current_student

DEVICES = KnownDevices("dispositivo", salt="apps.students.devices")


def remember_device(request: HttpRequest, response: HttpResponse, student: Student) -> None:
    DEVICES.remember(request, response, email_identity(student.email))


def known_device(request: HttpRequest | Request, email: str) -> str:
    """The name of the device if this student has signed in on it; otherwise empty."""
    return DEVICES.known(request, email_identity(email))


def is_known_buyer(request: Request, email: str) -> bool:
    """Whether this visitor has shown that the address is theirs: signed in, now or earlier here."""
    student = current_student(request)
    signed_in = student is not None and email_identity(student.email) == email_identity(email)
    return signed_in or bool(known_device(request, email))
