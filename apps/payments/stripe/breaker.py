"""A circuit breaker: after several failures in a row no call is made for a while.

Each process has its own. docs/decisions/0027-a-hanging-provider.md says why it is not a package.
"""

import logging
import math
from threading import Lock
from time import monotonic

logger = logging.getLogger(__name__)


class CallNotMade(Exception):
    """A call was refused before anything was sent. `retry_after` is in whole seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"not called; to be tried again in {retry_after:.1f} s")
        self.retry_after = max(1, math.ceil(retry_after))


class CircuitBreaker:
    """Closed at first. `failures` failed calls in a row open it for `open_seconds`.

    After that time one call, the probe, is let through. If it succeeds the breaker closes; if it
    fails the breaker stays open for another `open_seconds`. Safe for several threads.
    """

    def __init__(self, *, failures: int, open_seconds: float) -> None:
        self._failures_to_open = failures
        self._open_seconds = open_seconds
        self._failures = 0
        self._open_until: float | None = None
        self._probing = False
        self._lock = Lock()

    def admit(self) -> bool:
        """Let a call through, and return whether it is the probe. Raises CallNotMade while open.

        After each admitted call the caller calls `record`.
        """
        with self._lock:
            if self._open_until is None:
                return False
            seconds_left = self._open_until - monotonic()
            if seconds_left > 0 or self._probing:
                raise CallNotMade(retry_after=seconds_left)
            self._probing = True
            return True

    def record(self, *, failed: bool, is_probe: bool) -> None:
        """Record the outcome of an admitted call."""
        with self._lock:
            if is_probe:
                self._probing = False
            elif self._open_until is not None:
                # The call began before the breaker opened: only the probe decides now.
                return
            if not failed:
                self._close()
                return
            self._failures += 1
            if is_probe or self._failures >= self._failures_to_open:
                self._open()

    def _open(self) -> None:
        self._open_until = monotonic() + self._open_seconds
        logger.warning("Stripe does not answer: no calls for %.0f s", self._open_seconds)

    def _close(self) -> None:
        if self._open_until is not None:
            logger.warning("Stripe answers again")
        self._failures = 0
        self._open_until = None
