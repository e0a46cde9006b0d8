"""A kept answer, its compressed forms, and the places where answers are kept."""

import hashlib
import logging
import zlib
from dataclasses import dataclass, field
from functools import cache, lru_cache
from threading import Lock
from typing import Any

import brotli
from django.conf import settings
from django.core.cache import cache as shared
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import parse_http_date

logger = logging.getLogger(__name__)

# (scheme, host, path, query string)
Key = tuple[str, str, str, str]
# Answers in the memory of one process. The largest pages take 70 KB with their compressed forms,
# and a sitemap up to LARGEST_BODY and its forms.
MOST_ANSWERS = 128
LARGEST_BODY = 512 * 1024
# Quality 11 takes a hundred times as long as 5 and saves a tenth.
BROTLI_QUALITY = 5
CONDITIONS = ("HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE", "HTTP_IF_MATCH",
              "HTTP_IF_UNMODIFIED_SINCE")  # fmt: skip


@dataclass(slots=True)
class Answer:
    """A finished answer with status 200. `headers` has no Content-Length."""

    version: str
    expires_at: float
    body: bytes
    headers: dict[str, str]
    # The compressed forms that were asked for, with their headers.
    _forms: dict[str, tuple[bytes, dict[str, str]]] = field(default_factory=dict)

    def __getstate__(self) -> tuple[str, float, bytes, dict[str, str]]:
        return self.version, self.expires_at, self.body, self.headers

    def __setstate__(self, state: tuple[str, float, bytes, dict[str, str]]) -> None:
        self.version, self.expires_at, self.body, self.headers = state
        self._forms = {}

    def to(self, request: HttpRequest) -> HttpResponse:
        """The response to this request: whole, without its body for HEAD, or 304 if it is known."""
        environ = request.META
        body, headers = self._form(environ.get("HTTP_ACCEPT_ENCODING", ""))
        response = HttpResponse(b"" if request.method == "HEAD" else body, headers=headers)
        if any(name in environ for name in CONDITIONS):
            return self._to_condition(request, response)
        return response

    def _to_condition(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        last_modified = parse_http_date(response["Last-Modified"])
        answer = (
            get_conditional_response(request, response["ETag"], last_modified, response) or response
        )
        if answer.status_code == 304:
            for name, value in self.headers.items():
                if not name.startswith("Content-T"):  # Content-Type
                    answer.headers.setdefault(name, value)
        return answer

    def _form(self, accepted: str) -> tuple[bytes, dict[str, str]]:
        encoding = chosen_encoding(accepted) if "Vary" in self.headers else ""
        form = self._forms.get(encoding)
        if form is None:
            form = self._forms[encoding] = self._encoded(encoding)
        return form

    def _encoded(self, encoding: str) -> tuple[bytes, dict[str, str]]:
        headers, body = dict(self.headers), self.body
        if encoding:
            body = _COMPRESS[encoding](body)
            headers["Content-Encoding"] = encoding
            # Byte ranges of the forms differ, so the tag of one is a weak tag of the others.
            headers["ETag"] = "W/" + headers["ETag"]
        headers["Content-Length"] = str(len(body))
        return body, headers


def _gzip(body: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


def _brotli(body: bytes) -> bytes:
    packed: bytes = brotli.compress(body, mode=brotli.MODE_TEXT, quality=BROTLI_QUALITY)
    return packed


_COMPRESS = {"br": _brotli, "gzip": _gzip}


@lru_cache(maxsize=64)
def chosen_encoding(accepted: str) -> str:
    """ "br", "gzip" or "" for none, from the header Accept-Encoding."""
    parts = (part.partition(";q=") for part in accepted.lower().replace(" ", "").split(","))
    # "q=0" and "q=0.0" mean: not this one.
    names = {name for name, _, quality in parts if not quality or quality.strip("0.")}
    return next((name for name in _COMPRESS if name in names), "")


class Store:
    """Answers in this process, and behind them in Django's cache, which processes may share."""

    def __init__(self) -> None:
        self._answers: dict[Key, Answer] = {}
        self._lock = Lock()

    def get(self, key: Key) -> Answer | None:
        return self._answers.get(key)

    def get_shared(self, key: Key, version: str) -> Answer | None:
        try:
            found: Answer | None = shared.get(_name(key, version))
        except Exception:
            # The shared cache may be down. Pages must not be.
            logger.warning("the shared cache does not answer", exc_info=True)
            return None
        return found

    def put(self, key: Key, answer: Answer) -> None:
        with self._lock:
            while len(self._answers) >= MOST_ANSWERS and key not in self._answers:
                del self._answers[next(iter(self._answers))]
            self._answers[key] = answer

    def put_shared(self, key: Key, answer: Answer, seconds: float) -> None:
        try:
            shared.set(_name(key, answer.version), answer, timeout=seconds)
        except Exception:
            logger.warning("the shared cache does not answer", exc_info=True)


def _name(key: Key, version: str) -> str:
    parts = "\0".join((release(), version, *key))
    return f"page-{hashlib.sha256(parts.encode()).hexdigest()}"


@cache
def release() -> str:
    """A digest of code and templates, so that two releases share no answers."""
    digest = hashlib.sha256()
    for folder in ("academy", "apps", "templates"):
        files: Any = (settings.BASE_DIR / folder).rglob("*")
        for path in sorted(file for file in files if file.suffix in (".py", ".html", ".xml")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
