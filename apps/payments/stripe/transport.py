"""Limits on waiting for Stripe (docs/rules.md, "Card payments").

Three limits keep the site up while Stripe hangs: a time limit for all calls of one request, a limit
on the calls that wait at the same time in one process, and a circuit breaker.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Condition
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import requests
import stripe
import urllib3
from django.conf import settings
from requests.adapters import HTTPAdapter

from apps.payments.stripe.breaker import CallNotMade, CircuitBreaker

# How long a call waits for a free place. If Stripe works normally, one is free within that time.
QUEUE_SECONDS = 0.5
# The Retry-After of the answer if all places are taken.
BUSY_RETRY_AFTER_SECONDS = 5
# The time-out for a connection to each of Stripe's addresses.
CONNECT_SECONDS = 3

# When all calls of this request have to be over, as a time of `monotonic`.
_deadline: ContextVar[float | None] = ContextVar("stripe_deadline", default=None)


@contextmanager
def stripe_time_limit(seconds: float) -> Iterator[None]:
    """Limit all calls to Stripe inside this block to that many seconds together.

    If such blocks are nested, the earlier deadline applies.
    """
    ends_at = monotonic() + seconds
    outer = _deadline.get()
    token = _deadline.set(ends_at if outer is None else min(outer, ends_at))
    try:
        yield
    finally:
        _deadline.reset(token)


def _seconds_left() -> float:
    deadline = _deadline.get()
    return float("inf") if deadline is None else deadline - monotonic()


class NotInRehearsal(CallNotMade):
    """A call that would have changed something at Stripe, refused in a rehearsal."""

    def __init__(self) -> None:
        super().__init__(BUSY_RETRY_AFTER_SECONDS)


class WaitingPlaces:
    """Limits the calls that wait for an answer at the same time to `most`.

    A call without a free place waits half a second for one. If none becomes free, further calls are
    refused at once until a place is freed, so that not every thread is kept waiting.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._taken = 0
        self._stuck = False
        self._freed = Condition()

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold a place inside this block. Raises CallNotMade if none is free."""
        with self._freed:
            wait_seconds = 0 if self._stuck else QUEUE_SECONDS
            if not self._freed.wait_for(lambda: self._taken < self.most, timeout=wait_seconds):
                self._stuck = True
                raise CallNotMade(BUSY_RETRY_AFTER_SECONDS)
            self._taken += 1
        try:
            yield
        finally:
            with self._freed:
                self._taken -= 1
                self._stuck = False
                self._freed.notify()


@cache
def _proxies(scheme_and_host: str) -> dict[str, str]:
    """The proxies that the environment names for a server."""
    return dict(requests.utils.get_environ_proxies(scheme_and_host))


class _Session(requests.Session):
    """Reduces the time-out of each attempt to the time that the request has left.

    It keeps a connection for each of the calls that may wait at once. The proxies of the
    environment are read once: a session that trusts the environment reads them, and the user's
    `.netrc`, again for each call.
    """

    def __init__(self, *, connections: int) -> None:
        super().__init__()
        self.trust_env = False
        self.mount("https://", HTTPAdapter(pool_maxsize=connections))
        self.mount("http://", HTTPAdapter(pool_maxsize=connections))

    def request(self, method: str, url: str, *args: Any, **kwargs: Any) -> requests.Response:  # type: ignore[override]
        parts = urlsplit(url)
        kwargs["proxies"] = kwargs.get("proxies") or _proxies(f"{parts.scheme}://{parts.netloc}")
        seconds = min(kwargs["timeout"], _seconds_left())
        if seconds <= 0:
            raise requests.Timeout("no time is left for this call")
        kwargs["timeout"] = urllib3.Timeout(connect=CONNECT_SECONDS, total=seconds)
        return super().request(method, url, *args, **kwargs)


class LimitedClient(stripe.RequestsClient):
    """The HTTP client of Stripe's library, within the three limits.

    `attempt_seconds` bounds one attempt, `total_seconds` a call with its retries. Raises
    CallNotMade if a call was refused before anything was sent.
    """

    def __init__(
        self,
        *,
        attempt_seconds: float,
        total_seconds: float,
        places: WaitingPlaces,
        breaker: CircuitBreaker,
    ) -> None:
        super().__init__(timeout=attempt_seconds, session=_Session(connections=places.most))
        self._total_seconds = total_seconds
        self._places = places
        self._breaker = breaker

    def request_with_retries(
        self, method: str, *args: Any, **kwargs: Any
    ) -> tuple[str, int, Mapping[str, str]]:
        """One call of the API with all its attempts. The library calls this for every call."""
        if settings.REHEARSAL and method.lower() != "get":
            raise NotInRehearsal
        with stripe_time_limit(self._total_seconds), self._places.place():
            if _seconds_left() <= 0:
                over = "The time for this request's calls is over."
                raise stripe.APIConnectionError(over)  # type: ignore[no-untyped-call]
            is_probe = self._breaker.admit()
            failed = True
            try:
                body, status, headers = super().request_with_retries(method, *args, **kwargs)
                # A stored error of an earlier call shows that Stripe answers.
                failed = status >= 500 and headers.get("Idempotent-Replayed") != "true"
                return body, status, headers
            finally:
                self._breaker.record(failed=failed, is_probe=is_probe)

    def request(self, *args: Any, **kwargs: Any) -> Any:
        """One attempt. The library retries it only if there is time left after the pause."""
        try:
            return super().request(*args, **kwargs)
        except stripe.APIConnectionError as error:
            error.should_retry = error.should_retry and _seconds_left() > self.INITIAL_DELAY
            raise
