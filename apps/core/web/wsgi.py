"""Cleans headers of every request before Django reads them, and reads its body to the end.

See docs/rules.md, "Malformed requests" and "Body limits".
"""

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse, HttpResponseBase

# "name*=charset'language'value" (RFC 2231): Python's parsers raise errors for odd character sets.
_EXTENDED = re.compile(r"\*\d*\*?\s*=")
# Browsers send at most a third of this. Parsers take 1.3 s for 8 KB of one sign, and gunicorn joins
# repeated headers to one of 57 KB.
_LONGEST_HEADER = 1_000
_LONGEST_COOKIES = 16 * 1024
# Elsewhere no form has files. Reading a thousand parts takes 100 ms, before any view or limit.
_WITH_FILES = re.compile(r"/admin/.*|/api/send-preview-contact|/avisos-de-correo", re.DOTALL)
# The largest body that the proxy passes on, that of the admin, and a little more.
_LARGEST_BODY = 26 * 1024 * 1024
_READ_AT_ONCE = 64 * 1024


class Handler(WSGIHandler):
    """Django's handler, for requests that all are UTF-8.

    Django decodes the query, too, in the character set that the header Content-Type names. Two
    visitors could so send the same query string and mean two pages, some character sets raise
    errors, and Python remembers every unknown one.
    """

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> HttpResponseBase:
        # No address of the shop is longer. To write 8 KB of a path to the log takes 5 ms.
        environ["PATH_INFO"] = environ["PATH_INFO"][:_LONGEST_HEADER]
        if not environ["PATH_INFO"].isascii():
            # Django would take 9 ms for 8 KB that are not UTF-8.
            path = environ["PATH_INFO"].encode("latin-1").decode(errors="replace")
            environ["PATH_INFO"] = path.encode().decode("latin-1")
        if environ["PATH_INFO"].startswith(("/static/", "/imagenes/")):
            # To decode 8 KB of "%" takes longer than to find the file, which has no query.
            environ["QUERY_STRING"] = ""
        _shorten_headers(environ)
        kind = environ.get("CONTENT_TYPE", "").lstrip().lower()
        if kind.startswith("multipart/") and not _WITH_FILES.fullmatch(environ["PATH_INFO"]):
            environ["CONTENT_TYPE"] = "application/octet-stream"
        if ";" in environ.get("CONTENT_TYPE", ""):
            environ["CONTENT_TYPE"] = _with_boundary_alone(environ["CONTENT_TYPE"])
        if _EXTENDED.search(environ.get("HTTP_ACCEPT", "")):
            del environ["HTTP_ACCEPT"]
        response = super().__call__(environ, start_response)
        if environ.get("CONTENT_LENGTH", "") not in ("", "0"):
            _read_to_end(environ)
        if environ["REQUEST_METHOD"] == "HEAD" and isinstance(response, HttpResponse):
            # gunicorn would drop the body, and log a warning for each request.
            response.content = b""
        return response


def _shorten_headers(environ: dict[str, Any]) -> None:
    r"""Leave out headers longer than any browser's, and cookies with a backslash.

    No cookie of the shop has one, and Python before 3.11.10 and 3.12.6 takes 5 seconds for 57 KB of
    `\"` (CVE-2024-7592). The proxy writes the visitor's address at the end of its header.
    """
    cookies = environ.pop("HTTP_COOKIE", "")
    forwarded = environ.pop("HTTP_X_FORWARDED_FOR", None)
    for name, value in list(environ.items()):
        if name.startswith(("HTTP_", "CONTENT_TYPE")) and len(value) > _LONGEST_HEADER:
            del environ[name]
    if forwarded is not None:
        environ["HTTP_X_FORWARDED_FOR"] = forwarded[-_LONGEST_HEADER:]
    if cookies and len(cookies) <= _LONGEST_COOKIES:
        kept = (cookie for cookie in cookies.split(";") if "\\" not in cookie)
        environ["HTTP_COOKIE"] = ";".join(kept)


def _read_to_end(environ: dict[str, Any]) -> None:
    """Read what no view has read of the body.

    gunicorn closes a connection with an unread body. The proxy, which is still sending it, would
    answer 503 in place of the shop's 413.
    """
    # A client that stops sending has no use for the answer.
    with suppress(OSError):
        for _ in range(0, _LARGEST_BODY, _READ_AT_ONCE):
            if not environ["wsgi.input"].read(_READ_AT_ONCE):
                return


def _with_boundary_alone(content_type: str) -> str:
    """The type, and of its parameters the boundary of a form with files."""
    kind, *parameters = content_type.split(";")
    kept = [text for text in parameters if text.partition("=")[0].strip().lower() == "boundary"]
    return ";".join([kind, *kept[:1]])
