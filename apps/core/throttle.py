"""Rate limits, counted in the database so that all processes share them.

See docs/rules.md, "Rate limits".
"""

import hashlib
import ipaddress
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.request import Request

from apps.core.errors import TooManyRequests
from apps.core.models import RateCount


def client_network(request: HttpRequest | Request) -> str:
    """What counts as one visitor: an IPv4 address, or the /64 of an IPv6 address.

    A provider gives each IPv6 customer at least a /64, and every address of it is theirs.
    """
    text = client_address(request)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        # A proxy may add the port, as in "192.0.2.1:4711" or "[2001:db8::1]:4711".
        host = text.rpartition("]")[0].removeprefix("[") or text.rpartition(":")[0]
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return text
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address.packed[:8] + bytes(8), 64)))


def client_address(request: HttpRequest | Request) -> str:
    """The visitor's IP address: REMOTE_ADDR, or TRUSTED_PROXIES hops back in X-Forwarded-For."""
    hops = settings.TRUSTED_PROXIES
    forwarded = [h.strip() for h in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if h]
    if hops and len(forwarded) >= hops:
        return str(forwarded[-hops])
    return str(request.META.get("REMOTE_ADDR", ""))


@dataclass(frozen=True)
class Limit:
    """At most `times` uses in a window of `seconds`, per visitor or per key."""

    name: str
    times: int
    seconds: int

    def count(self, request: HttpRequest | Request) -> None:
        """Count one request of this visitor; raise TooManyRequests above the limit."""
        self.count_key(client_network(request))

    def count_key(self, key: str) -> None:
        """Count one use by `key`, such as an e-mail address; raise TooManyRequests above it."""
        allowed = self.times * settings.RATE_LIMIT_SCALE
        if not allowed:
            return
        now = timezone.now()
        window = int(now.timestamp()) // self.seconds
        # Store a digest only: an IP or e-mail address in the counter table is personal data.
        digest = hashlib.sha256(f"{settings.SECRET_KEY}:{key}".encode()).hexdigest()[:32]
        slot = f"{self.name}:{digest}:{window}"
        expires_at = now + timedelta(seconds=self.seconds)
        # The count is committed even if the request fails later, unless the caller has a
        # transaction open.
        with transaction.atomic():
            RateCount.objects.bulk_create(
                [RateCount(slot=slot, expires_at=expires_at)], ignore_conflicts=True
            )
            RateCount.objects.filter(slot=slot).update(times=F("times") + 1)
            used = RateCount.objects.values_list("times", flat=True).get(slot=slot)
            if used == 1:
                RateCount.objects.filter(expires_at__lt=now).delete()
        if used > allowed:
            raise TooManyRequests((window + 1) * self.seconds - int(now.timestamp()))
