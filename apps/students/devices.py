"""Devices that a student has signed in on (docs/rules.md, "Rate limits")."""

from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from apps.core.identity import email_identity
from apps.core.web.known_devices import KnownDevices
from apps.students.models import Student

DEVICES = KnownDevices("dispositivo", salt="apps.students.devices")


def remember_device(request: HttpRequest, response: HttpResponse, student: Student) -> None:
    DEVICES.remember(request, response, email_identity(student.email))


def known_device(request: HttpRequest | Request, email: str) -> str:
    """The name of the device if this student has signed in on it; otherwise empty."""
    return DEVICES.known(request, email_identity(email))


def forget_devices(email: str) -> None:
    """Make no device known on which the owner of this mailbox has signed in until now."""
    DEVICES.forget(email_identity(email))
