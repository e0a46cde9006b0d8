"""Bounds how many pages of one account a web process makes at once.

A download or a list takes seconds. Without a bound one account held all threads, and no buyer was
answered.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition

from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve, reverse

from apps.backoffice.site import OWN_STEPS
from apps.core.errors import TooManyRequests
from apps.core.web.throttle import plain_refusal

REFUSAL = (
    "Tu cuenta ya tiene varias páginas o descargas en marcha. Espera a que acaben y vuelve a "
    "cargar esta."
)


class PlacesOfAccount:
    """At most `most` requests of an account run in this process, and as many wait for a place."""

    def __init__(self, most: int, *, wait_seconds: float) -> None:
        self._most, self._wait_seconds = most, wait_seconds
        self._running: Counter[int] = Counter()
        self._waiting: Counter[int] = Counter()
        self._changed = Condition()

    @contextmanager
    def place(self, account: int) -> Iterator[None]:
        """Hold a place inside this block. Raises TooManyRequests if none becomes free."""
        with self._changed:
            self._wait(account)
            self._running[account] += 1
        try:
            yield
        finally:
            with self._changed:
                self._running[account] -= 1
                # A counter keeps the keys that have come to zero.
                self._running += Counter()
                self._changed.notify_all()

    def _wait(self, account: int) -> None:
        if self._waiting[account] >= self._most:
            raise TooManyRequests(1, REFUSAL)
        self._waiting[account] += 1
        try:
            if not self._changed.wait_for(lambda: self._is_free(account), self._wait_seconds):
                raise TooManyRequests(1, REFUSAL)
        finally:
            self._waiting[account] -= 1
            self._waiting += Counter()

    def _is_free(self, account: int) -> bool:
        return self._running[account] < self._most


# A web process has 16 threads.
PLACES = PlacesOfAccount(4, wait_seconds=5)


class PagesAtOnceMiddleware:
    """Makes a page of the admin in one of its account's places."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_page = request.path_info.startswith(reverse("admin:index"))
        account = request.user.pk if is_page else None
        if account is None or _is_own_step(request):
            return self.get_response(request)
        try:
            with PLACES.place(account):
                return self.get_response(request)
        except TooManyRequests as refusal:
            return plain_refusal(refusal)


def _is_own_step(request: HttpRequest) -> bool:
    try:
        return resolve(request.path_info).url_name in OWN_STEPS
    except Resolver404:
        return False
