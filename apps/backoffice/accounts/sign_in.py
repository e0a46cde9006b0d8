"""Passwords of staff: limited by user and address together, by address, and by user.

Guesses at one account from many addresses only slow further ones down. A device on which its owner
has signed in before, a code of the second factor, and a mailed link for a new password go on, so
that no stranger can keep staff out (docs/rules.md, "Staff").
"""

import logging
from typing import Any, cast

from django import forms
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django_otp import login as mark_verified

from apps.backoffice.accounts import second_factor
from apps.core.errors import TooManyRequests
from apps.core.mail.outbox import queue_mail
from apps.core.web.known_devices import KnownDevices
from apps.core.web.throttle import Limit, client_network, visitor_in_log

logger = logging.getLogger(__name__)
# Counted by user and address together, so that guesses from another address lock nobody out.
OF_USER = Limit("staff-password", times=10, seconds=900)
OF_USER_IN_A_DAY = Limit("staff-password-day", times=40, seconds=86_400)
OF_ADDRESS = Limit("staff-password-address", times=50, seconds=900)
# Wrong passwords for one user from all unknown devices. Above this limit these devices together
# have one try in five minutes.
OF_STRANGERS = Limit("staff-password-strangers", times=60, seconds=86_400)
SLOWED_MINUTES = 5
SLOWED = Limit("staff-password-slowed", times=1, seconds=SLOWED_MINUTES * 60)
DEVICES = KnownDevices("equipo", salt="apps.backoffice.devices")
# Set on the request of a sign-in with password and code.
_DEVICE_OF_CODE = "device_of_code"
GUESSED = "staff_password_guessed"
SLOWED_TEXT = (
    "Se han probado muchas contraseñas con este usuario en otros dispositivos, así que ahora "
    f"solo se admite un intento cada {SLOWED_MINUTES} minutos. Si tienes segundo factor, escribe "
    "también su código. También puedes entrar desde un dispositivo que ya has usado, o pedir una "
    "contraseña nueva aquí abajo."
)


def remember_device(request: HttpRequest, response: HttpResponse, user: User) -> None:
    DEVICES.remember(request, response, user.get_username().casefold())


def finish_sign_in(request: HttpRequest, response: HttpResponse) -> None:
    """Finish a sign-in: remember the device, and record a code that came with the password."""
    remember_device(request, response, cast(User, request.user))
    device = getattr(request, _DEVICE_OF_CODE, None)
    if device is not None:
        mark_verified(request, device)


def count_attempt(request: HttpRequest, username: str, *, has_code: bool = False) -> None:
    """Count a password before it is checked. Raises ValidationError above the limit.

    `has_code`: it is accepted only together with a right code of the second factor.
    """
    known, key = _counted_as(request, username)
    try:
        if known:
            OF_ADDRESS.count_key(known)
        else:
            OF_ADDRESS.count(request)
        for limit in (OF_USER_IN_A_DAY, OF_USER):
            limit.count_key(key)
    except TooManyRequests as refusal:
        logger.warning(
            "Staff password not checked: too many attempts from %s", visitor_in_log(request)
        )
        raise forms.ValidationError(refusal.message, code="too_many") from refusal
    if not known:
        _count_stranger(request, username.casefold(), has_code=has_code)


def _count_stranger(request: HttpRequest, name: str, *, has_code: bool) -> None:
    used, allowed = OF_STRANGERS.add(name), OF_STRANGERS.allowed()
    if not allowed or used <= allowed:
        return
    _mail_guessed_user(name)
    if has_code:
        return
    try:
        SLOWED.count_key(name)
    except TooManyRequests as refusal:
        logger.warning(
            "Staff password not checked: others guess at its user, request from %s",
            visitor_in_log(request),
        )
        raise forms.ValidationError(SLOWED_TEXT, code="slowed") from refusal


@transaction.atomic
def _mail_guessed_user(name: str) -> None:
    """Mail the member of staff, once a day, that somebody guesses their password."""
    for user in User.objects.filter(username__iexact=name, is_active=True, is_staff=True):
        if user.email:
            queue_mail(
                key=f"{GUESSED}:{user.pk}:{timezone.localdate():%Y-%m-%d}",
                template=GUESSED,
                to=user.email,
                context={"user_id": user.pk},
            )


def is_slowed(username: str) -> bool:
    """Whether unknown devices have to wait between two tries with this user."""
    return bool(OF_STRANGERS.seconds_until_free(username.casefold()))


def uncount_attempt(request: HttpRequest, username: str) -> None:
    """Undo `count_attempt` after a right password, so that only wrong ones use the limits up."""
    known, key = _counted_as(request, username)
    for limit in (OF_USER_IN_A_DAY, OF_USER):
        limit.take_back(key)
    if known:
        OF_ADDRESS.take_back(known)
        return
    OF_ADDRESS.take_back_request(request)
    OF_STRANGERS.take_back(username.casefold())


def _counted_as(request: HttpRequest, username: str) -> tuple[str, str]:
    """The name of the known device, or an empty string, and the key of the user's own limits.

    A known device is counted apart from the others of its address.
    """
    known = DEVICES.known(request, username.casefold()) or ""
    return known, f"{username.casefold()}|{known or client_network(request)}"


def check_own_password(request: HttpRequest, password: str) -> None:
    """Raise ValidationError unless this is the signed-in user's password.

    Wrong attempts count, and `authenticate` logs them.
    """
    name = request.user.get_username()
    count_attempt(request, name)
    if authenticate(request, username=name, password=password) is None:
        raise forms.ValidationError("Esta no es tu contraseña.")
    uncount_attempt(request, name)


class StaffSignInForm(AdminAuthenticationForm):
    """Django's form of the admin, with a limit of attempts."""

    error_messages = {
        **AdminAuthenticationForm.error_messages,
        "invalid_login": (
            "El usuario o la contraseña no son correctos, o la cuenta no es del equipo. "
            "Las mayúsculas cuentan."
        ),
    }
    # Asked only while somebody guesses the user's password elsewhere.
    code = forms.CharField(
        label="Código del segundo factor",
        required=False,
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code"}),
    )

    @property
    def asks_code(self) -> bool:
        return self.is_bound and is_slowed(str(self.data.get("username", ""))[:150])

    def clean(self) -> dict[str, Any]:
        username = self.cleaned_data.get("username")
        if not username or self.request is None:
            without_user: dict[str, Any] = super().clean()
            return without_user
        code = self.cleaned_data.get("code", "").replace(" ", "")
        needs_code = bool(code) and is_slowed(username)
        count_attempt(self.request, username, has_code=needs_code)
        if needs_code and not self._has_both(username, code):
            raise forms.ValidationError(SLOWED_TEXT, code="slowed")
        cleaned: dict[str, Any] = super().clean()
        uncount_attempt(self.request, username)
        return cleaned

    def _has_both(self, username: str, code: str) -> bool:
        """Whether password and code are right. A wrong password is answered like a wrong code.

        The code is checked only after the password: a stranger's codes would delay the owner's.
        """
        user = authenticate(
            self.request, username=username, password=self.cleaned_data.get("password")
        )
        device = second_factor.device_of_code(user, code) if isinstance(user, User) else None
        setattr(self.request, _DEVICE_OF_CODE, device)
        return device is not None
