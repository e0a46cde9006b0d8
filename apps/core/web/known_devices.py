"""Devices on which somebody has signed in before.

Wrong passwords that others try elsewhere never keep a person out on such a device: its attempts are
counted apart (docs/rules.md, "Rate limits" and "Staff").
"""

import secrets
from dataclasses import dataclass

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from apps.core.keyed_digest import keyed_digest, matches

LIFETIME_S = 365 * 24 * 3600
# Limits count per device name. An owner has four names, so repeated sign-ins without the cookie
# give at most four times the limit.
NAMES_OF_OWNER = 4


@dataclass(frozen=True)
class KnownDevices:
    """A signed cookie that names the device and, as a digest, its owner. It opens nothing."""

    cookie: str
    salt: str

    @property
    def cookie_name(self) -> str:
        return f"{settings.COOKIE_PREFIX}{self.cookie}"

    def remember(self, request: HttpRequest | Request, response: HttpResponse, owner: str) -> None:
        """Give the device a cookie for a year. A device of this owner keeps its name."""
        digest = keyed_digest(self.salt, owner)
        device = self.known(request, owner) or self._new_name(owner)
        response.set_cookie(
            self.cookie_name,
            signing.dumps([device, digest], salt=self.salt),
            max_age=LIFETIME_S,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )

    def known(self, request: HttpRequest | Request, owner: str) -> str:
        """The name of the device if this owner has signed in on it; otherwise empty."""
        device, digest = self._read(request)
        return device if device and matches(self.salt, owner, digest) else ""

    def name(self, request: HttpRequest | Request) -> str:
        """The name of the device, whoever has signed in on it; empty if nobody has."""
        return self._read(request)[0]

    def _new_name(self, owner: str) -> str:
        number = secrets.randbelow(NAMES_OF_OWNER)
        return keyed_digest(f"{self.salt}.name", f"{number} {owner}")[:16]

    def _read(self, request: HttpRequest | Request) -> tuple[str, str]:
        sent = request.COOKIES.get(self.cookie_name, "")
        try:
            device, digest = signing.loads(sent, salt=self.salt, max_age=LIFETIME_S)
        except signing.BadSignature:
            return "", ""
        return str(device), digest
