"""Rate limits, counted in the database so that all processes share them.

See docs/rules.md, "Rate limits".
"""

import hashlib
import ipaddress
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from django.db import connection
from django.db.models import F, Sum
from django.db.models.functions import Greatest
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from apps.core.database import in_transaction
from apps.core.errors import TooManyRequests
from apps.core.models import RateCount

# Providers give a customer a /64, a /56 or a /48 of IPv6. Each has so many times the uses of a /64.
IPV6_NETWORKS = {64: 1, 56: 4, 48: 16}
# The networks of a visitor's address, narrowest first, each with its share of uses.
Networks = Mapping[str, int]


def client_network(request: HttpRequest | Request) -> str:
    """The network that counts as one visitor: an IPv4 address, or the /64 of an IPv6 address.

    Internet providers give each IPv6 customer at least a /64, so one person has all its addresses.
    """
    return next(iter(client_networks(request)))


def client_networks(request: HttpRequest | Request) -> dict[str, int]:
    """The networks of the visitor's address, narrowest first, each with its share of uses.

    An IPv4 address is alone. An IPv6 address is in the networks of IPV6_NETWORKS.
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
            return {text: 1}
    if isinstance(address, ipaddress.IPv4Address):
        return {str(address): 1}
    if address.ipv4_mapped is not None:
        return {str(address.ipv4_mapped): 1}
    return {
        str(ipaddress.IPv6Network((address.packed, bits), strict=False)): share
        for bits, share in IPV6_NETWORKS.items()
    }


def widest_network(request: HttpRequest | Request) -> str:
    """The widest network of the visitor's address: an IPv4 address, or the /48 of an IPv6 address.

    A /48 has 65,536 of the /64 that count as one visitor.
    """
    return next(reversed(client_networks(request)))


def client_address(request: HttpRequest | Request) -> str:
    """The visitor's IP address: REMOTE_ADDR, or TRUSTED_PROXIES hops back in X-Forwarded-For."""
    hops = settings.TRUSTED_PROXIES
    forwarded = [h.strip() for h in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if h]
    if hops and len(forwarded) >= hops:
        return str(forwarded[-hops])
    return str(request.META.get("REMOTE_ADDR", ""))


def digest_of(key: str) -> str:
    """The digest that is stored instead of a key, because IP and e-mail addresses are personal."""
    return hashlib.sha256(f"{settings.SECRET_KEY}:{key}".encode()).hexdigest()[:32]


def pseudonym(text: str) -> str:
    """Twelve characters that stand for an address in the log: the same for the same address."""
    return digest_of(text)[:12]


def visitor_in_log(request: HttpRequest | None) -> str:
    """The visitor's network as a pseudonym. The proxy's log has the address of the request id."""
    return f"visitor {pseudonym(client_network(request))}" if request else "a command"


def plain_refusal(refusal: TooManyRequests) -> HttpResponse:
    """The rate limit's message as a page of text, with Retry-After in seconds."""
    answer = HttpResponse(
        refusal.message, status=refusal.status, content_type="text/plain; charset=utf-8"
    )
    answer["Retry-After"] = str(refusal.retry_after)
    return answer


# PostgreSQL and SQLite both understand it.
_ADD = (
    "INSERT INTO core_ratecount (slot, times, expires_at) VALUES {rows} "
    "ON CONFLICT (slot) DO UPDATE SET times = core_ratecount.times + excluded.times "
    "RETURNING slot, times"
)
_FORGET = "DELETE FROM core_ratecount WHERE expires_at < %s"
_MARK = (
    "INSERT INTO core_ratecount (slot, times, expires_at) VALUES (%s, 0, %s) "
    "ON CONFLICT (slot) DO UPDATE SET expires_at = excluded.expires_at"
)


@dataclass(frozen=True)
class Limit:
    """At most `times` uses in a window of `seconds`, per visitor or per key."""

    name: str
    times: int
    seconds: int
    # The first sentence of a refusal.
    reason: str = TooManyRequests.message
    # The moment from which windows are counted, in seconds since 1970. Tests begin a window each.
    begins_at: ClassVar[int] = 0

    def count(self, request: HttpRequest | Request) -> None:
        """Count one request of this visitor; raise TooManyRequests above the limit.

        The wider networks of an IPv6 address have more uses, but are counted, too.
        """
        if not self.allowed():
            return
        networks = client_networks(request)
        used = self._add_to([self._slot(network) for network in networks], by=1)
        for network, share in networks.items():
            times = used[self._slot(network)]
            if times > self.most(network, share=share, used=times):
                raise self._refusal()

    def count_key(self, key: str, *, by: int = 1) -> None:
        """Count uses by `key`, such as an e-mail address; raise TooManyRequests above the limit."""
        if not self.allowed():
            return
        if self.add(key, by=by) > self.allowed():
            raise self._refusal()

    def _refusal(self) -> TooManyRequests:
        seconds = self._window_end() - int(timezone.now().timestamp())
        return TooManyRequests(seconds, reason=self.reason)

    def most(self, network: str, *, share: int, used: int) -> float:
        """The uses that a network has in this window. It has had `used`."""
        return self.allowed() * share

    def used(self, key: str) -> int:
        """The uses by `key` in this window."""
        return RateCount.objects.filter(slot=self._slot(key)).aggregate(n=Sum("times"))["n"] or 0

    def allowed(self) -> float:
        """The number of uses in one window. 0 if rate limits are switched off."""
        return float(self.times * settings.RATE_LIMIT_SCALE)

    def add(self, key: str, *, by: int = 1, is_digest: bool = False) -> int:
        """Count `by` uses; return the number in this window. Never refuses.

        The count is committed even if the request fails later, unless the caller has a transaction
        open.
        """
        slot = self._slot(key, is_digest=is_digest)
        return self._add_to([slot], by=by)[slot]

    def _add_to(self, slots: list[str], *, by: int) -> dict[str, int]:
        now = timezone.now()
        expires_at = connection.ops.adapt_datetimefield_value(
            now + timedelta(seconds=2 * self.seconds)
        )
        # Sorted, so that two statements lock the rows in the same order.
        values = [value for slot in sorted(slots) for value in (slot, by, expires_at)]
        with connection.cursor() as cursor:
            # One statement: with three, each in a lock, this took a tenth of a checkout's time.
            cursor.execute(_ADD.format(rows=", ".join(["(%s, %s, %s)"] * len(slots))), values)
            used = {slot: int(times) for slot, times in cursor.fetchall()}
            # In a transaction, the rows that another one is deleting could cause a deadlock.
            if by in used.values() and not in_transaction():
                cursor.execute(_FORGET, [connection.ops.adapt_datetimefield_value(now)])
        return used

    def take_back(self, key: str, *, by: int = 1, is_digest: bool = False) -> None:
        """Undo uses of this window, for attempts that turned out to be harmless."""
        counted = RateCount.objects.filter(slot=self._slot(key, is_digest=is_digest))
        counted.update(times=Greatest(F("times") - by, 0))

    def forget(self, key: str) -> None:
        """Undo all uses of this window, refused ones too."""
        RateCount.objects.filter(slot=self._slot(key)).update(times=0)

    def take_back_request(self, request: HttpRequest | Request) -> None:
        """Undo one `count` of this window."""
        for network in client_networks(request):
            self.take_back(network)

    def seconds_until_free(self, key: str, *, windows: int = 1, is_digest: bool = False) -> int:
        """Seconds that `key` has to wait; 0 if its uses are below the limit.

        With two windows, the uses of the window before this one count too.
        """
        [seconds] = seconds_until_free(Wait(self, key, windows=windows, is_digest=is_digest))
        return seconds

    def slots(self, key: str, *, windows: int = 1, is_digest: bool = False) -> list[str]:
        """The names of the rows that count the uses of `key` in this window and those before."""
        return [self._slot(key, back=back, is_digest=is_digest) for back in range(windows)]

    def seconds_after(self, used: int) -> int:
        """Seconds that a key with so many uses has to wait; 0 if they are below the limit."""
        if not self.allowed() or used < self.allowed():
            return 0
        return self._window_end() - int(timezone.now().timestamp())

    def _slot(self, key: str, *, back: int = 0, is_digest: bool = False) -> str:
        digest = key if is_digest else digest_of(key)
        return f"{self.name}:{digest}:{self._window() - back}"

    def _window(self) -> int:
        return (int(timezone.now().timestamp()) - self.begins_at) // self.seconds

    def _window_end(self) -> int:
        return self.begins_at + (self._window() + 1) * self.seconds


@contextmanager
def counted_once_done(*uses: tuple[Limit, str]) -> Iterator[None]:
    """Count each key of a limit, and take the uses back if the block raises an error.

    Counted before the block, so that simultaneous requests do not exceed a limit. Raises
    TooManyRequests above one; then nothing is counted.
    """
    counted: list[tuple[Limit, str]] = []
    try:
        for limit, key in uses:
            limit.count_key(key)
            counted.append((limit, key))
        yield
    except Exception:
        for limit, key in counted:
            limit.take_back(key)
        raise


@dataclass(frozen=True)
class Wait:
    """The question how long `key` has to wait for a free use of the limit."""

    limit: Limit
    key: str
    windows: int = 1
    is_digest: bool = False


def seconds_until_free(*waits: Wait) -> list[int]:
    """The answer to each question, read by one query. See `Limit.seconds_until_free`."""
    slots = [
        wait.limit.slots(wait.key, windows=wait.windows, is_digest=wait.is_digest) for wait in waits
    ]
    used = dict(
        RateCount.objects.filter(slot__in=[slot for group in slots for slot in group]).values_list(
            "slot", "times"
        )
    )
    return [
        wait.limit.seconds_after(sum(used.get(slot, 0) for slot in group))
        for wait, group in zip(waits, slots, strict=True)
    ]


@dataclass(frozen=True)
class Mark:
    """Stores for some time, as digests, which keys were seen with a subject."""

    name: str
    seconds: int

    def add(self, subject: str, key: str) -> None:
        slot = f"{self.name}:{subject}:{digest_of(key)}"
        expires_at = timezone.now() + timedelta(seconds=self.seconds)
        with connection.cursor() as cursor:
            cursor.execute(_MARK, [slot, connection.ops.adapt_datetimefield_value(expires_at)])

    def seconds_left(self, subject: str, key: str) -> int:
        """Seconds for which this key is still stored with the subject; 0 if it is not."""
        stored = RateCount.objects.filter(slot=f"{self.name}:{subject}:{digest_of(key)}")
        expires_at = stored.values_list("expires_at", flat=True).first()
        left = expires_at - timezone.now() if expires_at else timedelta(0)
        return max(0, -(-left // timedelta(seconds=1)))

    def digests(self, subject: str) -> list[str]:
        rows = RateCount.objects.filter(slot__startswith=f"{self.name}:{subject}:")
        slots = rows.filter(expires_at__gt=timezone.now()).values_list("slot", flat=True)
        return [slot.rpartition(":")[2] for slot in slots]
