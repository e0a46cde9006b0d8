"""Sends kept answers before anything else of the site runs."""

import io
from collections.abc import Callable
from datetime import date
from threading import Lock
from time import time

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.utils.http import http_date

from apps.core.dates import today
from apps.core.page_cache.answers import LARGEST_BODY, Answer, Key, Store
from apps.core.page_cache.policy import has_limit, normalised_query, parameters_of
from apps.core.page_cache.version import Version
from apps.core.render_memory import Memory, remembering
from apps.core.web import bad_requests
from apps.core.web.throttle import client_address

# An answer, and the reads that it was rendered from, are kept for this long each.
LIFETIME_S = 60
HOUR_S = 3600
# Longer query strings are answered, but not kept.
LONGEST_QUERY = 300
# All that a kept answer may depend on. The rest of the environment is the visitor's.
_ENVIRON = ("SCRIPT_NAME", "PATH_INFO", "SERVER_NAME", "SERVER_PORT", "SERVER_PROTOCOL",
            "HTTP_HOST", "wsgi.url_scheme", "wsgi.errors")  # fmt: skip


class PageCacheMiddleware:
    """Answer from the kept answers, or render and keep. Other requests pass unchanged."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.PAGE_CACHE:
            raise MiddlewareNotUsed
        self._get_response = get_response
        self._store = Store()
        self._version = Version()
        # Of which version and day, until when, and the reads.
        self._memory: tuple[tuple[str, date], float, Memory] | None = None
        # One request renders an answer; others that ask for it meanwhile wait.
        self._rendering = [Lock() for _ in range(64)]

    def __call__(self, request: HttpRequest) -> HttpResponse:
        environ = request.META
        if request.method not in ("GET", "HEAD"):
            return self._get_response(request)
        if not self._is_plain(environ):
            return self._answer_anew(request)
        key = (
            request.scheme or "",
            environ["HTTP_HOST"],
            environ["PATH_INFO"],
            environ.get("QUERY_STRING", ""),
        )
        answer = self._store.get(key)
        if answer is None or not self._is_true(answer, self._version.current()):
            answer = self._find(request, key)
        return self._answer_anew(request) if answer is None else answer.to(request)

    def _answer_anew(self, request: HttpRequest) -> HttpResponse:
        """Render for this visitor alone, from the same reads as the kept answers.

        Otherwise one header or one long parameter would cost the shop a dozen queries.
        """
        if parameters_of(request.path_info) is None:
            return self._get_response(request)
        with remembering(self._shared_reads(self._version.current(), time())):
            return self._get_response(request)

    def _is_plain(self, environ: dict[str, str]) -> bool:
        """Whether nothing in the headers can change the answer."""
        # A prefix of the address is in every link of the page.
        if environ.get("SCRIPT_NAME"):
            return False
        if environ.get("HTTP_ORIGIN") or environ.get("CONTENT_LENGTH", "0") not in ("", "0"):
            return False
        if environ["PATH_INFO"].startswith("/api/") and not _accepts_json(environ):
            return False
        # No other cookie counts: what a signed-in student sees is on pages that are not kept.
        cookies = environ.get("HTTP_COOKIE", "")
        return "HTTP_HOST" in environ and "\\" not in cookies and "\0" not in cookies

    def _is_true(self, answer: Answer, version: str) -> bool:
        return answer.version == version and time() < answer.expires_at

    def _find(self, request: HttpRequest, asked: Key) -> Answer | None:
        """The answer under its normalised key, rendered now if need be; None if not kept."""
        parameters = parameters_of(request.path_info)
        if parameters is None or bad_requests.error_of(request) is not None:
            return None
        query = normalised_query(request.GET, parameters)
        if query is None:
            return None
        key = (*asked[:3], query)
        with self._rendering[hash(key) % len(self._rendering)]:
            version = self._version.current()
            answer = self._store.get(key)
            if answer is None or not self._is_true(answer, version):
                answer = self._store.get_shared(key, version)
            if answer is None or not self._is_true(answer, version):
                answer = self._render(request, key, version)
            if answer is None:
                return None
            self._store.put(key, answer)
        if len(asked[3]) <= LONGEST_QUERY:
            self._store.put(asked, answer)
        return answer

    def _render(self, request: HttpRequest, key: Key, version: str) -> Answer | None:
        now = time()
        # Read before the page is rendered: an answer is never older than its version and its hour.
        lifetime_s = _lifetime_s(now)
        with remembering(self._shared_reads(version, now)):
            response = self._get_response(self._without_visitor(request, key[3]))
        if not _may_be_kept(response):
            return None
        headers = {name: value for name, value in response.items() if name != "Content-Length"}
        before = self._store.get(key)
        is_same = before is not None and before.headers["ETag"] == headers["ETag"]
        headers["Last-Modified"] = (
            before.headers["Last-Modified"] if before and is_same else http_date(now)
        )
        answer = Answer(version, now + lifetime_s, response.content, headers)
        self._store.put_shared(key, answer, lifetime_s)
        return answer

    def _shared_reads(self, version: str, now: float) -> Memory:
        """The memory of reads of this version and day. It is kept no longer than an answer."""
        about = (version, today())
        kept = self._memory
        if kept is None or kept[0] != about or now >= kept[1]:
            kept = self._memory = (about, now + _lifetime_s(now), {})
        return kept[2]

    def _without_visitor(self, request: HttpRequest, query: str) -> HttpRequest:
        environ = {name: request.META[name] for name in _ENVIRON if name in request.META}
        if settings.SECURE_PROXY_SSL_HEADER:
            name = settings.SECURE_PROXY_SSL_HEADER[0]
            environ[name] = request.META.get(name, "")
        environ |= {
            "REQUEST_METHOD": "GET",
            "QUERY_STRING": query,
            # To be counted. No answer has it: a refusal is not kept.
            "REMOTE_ADDR": client_address(request) if has_limit(request.path_info) else "",
            "wsgi.input": io.BytesIO(),
        }
        clean: HttpRequest = type(request)(environ)  # type: ignore[call-arg]
        return clean


def _lifetime_s(now: float) -> float:
    """The seconds for which what is made now is kept: not past a full hour, such as midnight."""
    return min(LIFETIME_S, HOUR_S - now % HOUR_S)


def _accepts_json(environ: dict[str, str]) -> bool:
    """Whether the visitor accepts the API's answer as it is kept. Pages ignore the header."""
    accepted = environ.get("HTTP_ACCEPT")
    if not accepted or "*/*" in accepted:
        return True
    kinds = {kind.strip() for kind in accepted.split(",")}
    return bool(kinds & {"application/json", "application/*"})


def _may_be_kept(response: HttpResponse) -> bool:
    return (
        response.status_code == 200
        and not response.streaming
        and not response.cookies
        and response.get("Vary", "Accept-Encoding") == "Accept-Encoding"
        and response.get("Cache-Control", "").startswith("public")
        and "ETag" in response
        and len(response.content) <= LARGEST_BODY
    )
