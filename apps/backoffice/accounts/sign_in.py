"""Passwords of staff, limited by user and address together, and by address."""

import logging
from typing import Any

from django import forms
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import authenticate
from django.http import HttpRequest

from apps.core.errors import TooManyRequests
from apps.core.throttle import Limit, client_network, visitor_in_log

logger = logging.getLogger(__name__)
# Counted by user and address together, so that guesses from another address lock nobody out.
OF_USER = Limit("staff-password", times=10, seconds=900)
OF_USER_IN_A_DAY = Limit("staff-password-day", times=40, seconds=86_400)
OF_ADDRESS = Limit("staff-password-address", times=50, seconds=900)


def count_attempt(request: HttpRequest, username: str) -> None:
    """Count a password before it is checked. Raises ValidationError above the limit."""
    try:
        for limit, key in _limits(request, username):
            limit.count_key(key)
    except TooManyRequests as refusal:
        logger.warning(
            "Staff password not checked: too many attempts from %s", visitor_in_log(request)
        )
        raise forms.ValidationError(refusal.message, code="too_many") from refusal


def take_attempt_back(request: HttpRequest, username: str) -> None:
    """Undo `count_attempt` after a right password, so that only wrong ones use the limits up."""
    for limit, key in _limits(request, username):
        limit.take_back(key)


def _limits(request: HttpRequest, username: str) -> list[tuple[Limit, str]]:
    """The limits of a password, each with the key that it counts."""
    visitor = client_network(request)
    key = f"{username.casefold()}|{visitor}"
    return [(OF_ADDRESS, visitor), (OF_USER_IN_A_DAY, key), (OF_USER, key)]


def check_own_password(request: HttpRequest, password: str) -> None:
    """Raise ValidationError unless this is the signed-in user's password.

    Wrong attempts count, and `authenticate` logs them.
    """
    name = request.user.get_username()
    count_attempt(request, name)
    if authenticate(request, username=name, password=password) is None:
        raise forms.ValidationError("Esta no es tu contraseña.")
    take_attempt_back(request, name)


class StaffSignInForm(AdminAuthenticationForm):
    """Django's form of the admin, with a limit of attempts."""

    error_messages = {
        **AdminAuthenticationForm.error_messages,
        "invalid_login": (
            "El usuario o la contraseña no son correctos, o la cuenta no es del equipo. "
            "Las mayúsculas cuentan."
        ),
    }

    def clean(self) -> dict[str, Any]:
        username = self.cleaned_data.get("username")
        if username and self.request is not None:
            count_attempt(self.request, username)
        cleaned: dict[str, Any] = super().clean()
        if username and self.request is not None:
            take_attempt_back(self.request, username)
        return cleaned
