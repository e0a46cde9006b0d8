"""Devices on which a student has signed in before."""

from django.http import HttpResponse
from django.test import Client

from apps.students.devices import remember_device
from apps.students.models import Student


def know_device(client: Client, email: str) -> None:
    """Give the client the cookie of a device on which the owner of the address has signed in."""
    response = HttpResponse()
    remember_device(response, Student(email=email))
    client.cookies.update(response.cookies)
