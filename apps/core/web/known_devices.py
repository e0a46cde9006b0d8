"""Devices on which somebody has signed in before.

Wrong passwords that others try elsewhere never keep a person out on such a device: its attempts are
counted apart (docs/rules.md, "Rate limits" and "Staff").
"""

import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from apps.core.keyed_digest import keyed_digest, keyed_digests, matches
from apps.core.models import RateCount

LIFETIME_S = 365 * 24 * 3600
# Limits count per device name. An owner has four names, so repeated sign-ins without the cookie
# give at most four times the limit.
NAMES_OF_OWNER = 4


@dataclass(frozen=True)
class KnownDevices:
    """A signed cookie that names the device and, as a digest, its owner. It opens nothing.

    When the devices of an owner were forgotten is stored for a year, with another digest, and
    compared with the second of the signature. The release before reads the same cookie.
    """

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
        device, digest, signed_at = self._read(request)
        if not device or not matches(self.salt, owner, digest):
            return ""
        return device if signed_at >= self._forgotten_at(owner) else ""

    def forget(self, owner: str) -> None:
        """Make no device known on which this owner has signed in until now."""
        expires_at = timezone.now() + timedelta(seconds=LIFETIME_S)
        slot = self._slots(owner)[0]
        RateCount.objects.update_or_create(slot=slot, defaults={"expires_at": expires_at})

    def name(self, request: HttpRequest | Request) -> str:
        """The name of the device, whoever has signed in on it; empty if nobody has."""
        return self._read(request)[0]

    def _new_name(self, owner: str) -> str:
        number = secrets.randbelow(NAMES_OF_OWNER)
        return keyed_digest(f"{self.salt}.name", f"{number} {owner}")[:16]

    def _forgotten_at(self, owner: str) -> int:
        """The second in which the owner's devices were last forgotten, since 1970; 0 if never."""
        rows = RateCount.objects.filter(slot__in=self._slots(owner))
        expires_at = rows.aggregate(latest=Max("expires_at"))["latest"]
        return int(expires_at.timestamp()) - LIFETIME_S if expires_at else 0

    def _slots(self, owner: str) -> list[str]:
        """The names of the row under the current SECRET_KEY, then under former ones."""
        return [
            f"{self.cookie}-forgotten:{digest[:32]}"
            for digest in keyed_digests(f"{self.salt}.forgotten", owner)
        ]

    def _read(self, request: HttpRequest | Request) -> tuple[str, str, int]:
        """The device, the digest of its owner, and the second in which both were signed."""
        sent = request.COOKIES.get(self.cookie_name, "")
        try:
            device, digest = signing.loads(sent, salt=self.salt, max_age=LIFETIME_S)
        except signing.BadSignature:
            return "", "", 0
        # What Django has signed is "content:second:signature".
        return str(device), digest, signing.b62_decode(sent.split(":")[-2])
