"""Bounds how many pages of one account a web process makes at once.

A download or a list takes seconds. Without a bound one account held all threads, and no buyer was
answered.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
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


class Places:
    """At most `most` requests of one key run in this process, and as many wait for a place."""

    def __init__(self, most: int, *, wait_seconds: float) -> None:
        self._most, self._wait_seconds = most, wait_seconds
        self._running: Counter[Hashable] = Counter()
        self._waiting: Counter[Hashable] = Counter()
        self._changed = Condition()

    @contextmanager
    def place(self, key: Hashable) -> Iterator[None]:
        """Hold a place inside this block. Raises TooManyRequests if none becomes free."""
        with self._changed:
            self._wait(key)
            self._running[key] += 1
        try:
            yield
        finally:
            with self._changed:
                self._running[key] -= 1
                # A counter keeps the keys that have come to zero.
                self._running += Counter()
                self._changed.notify_all()

    def _wait(self, key: Hashable) -> None:
        if self._waiting[key] >= self._most:
            raise TooManyRequests(1, REFUSAL)
        self._waiting[key] += 1
        try:
            if not self._changed.wait_for(lambda: self._is_free(key), self._wait_seconds):
                raise TooManyRequests(1, REFUSAL)
        finally:
            self._waiting[key] -= 1
            self._waiting += Counter()

    def _is_free(self, key: Hashable) -> bool:
        return self._running[key] < self._most


# A web process has 16 threads. The key of a place is the number of an account, or of a session its
# key.
PAGES = Places(4, wait_seconds=5)
# Whoever uses a stolen session up leaves its owner places to end it from another session.
OWN_STEPS_OF_ACCOUNT = Places(4, wait_seconds=0)
OWN_STEPS_OF_SESSION = Places(2, wait_seconds=0)


class PagesAtOnceMiddleware:
    """Makes a page of the admin in one of its account's places."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_page = request.path_info.startswith(reverse("admin:index"))
        account = request.user.pk if is_page else None
        if account is None:
            return self.get_response(request)
        try:
            with ExitStack() as places:
                if _is_own_step(request):
                    session = request.session.session_key
                    places.enter_context(OWN_STEPS_OF_SESSION.place(session))
                    places.enter_context(OWN_STEPS_OF_ACCOUNT.place(account))
                else:
                    places.enter_context(PAGES.place(account))
                return self.get_response(request)
        except TooManyRequests as refusal:
            return plain_refusal(refusal)


def _is_own_step(request: HttpRequest) -> bool:
    try:
        return resolve(request.path_info).url_name in OWN_STEPS
    except Resolver404:
        return False
