"""Cleans two headers of every request before Django reads them.

See docs/rules.md, "Malformed requests".
"""

import re
from collections.abc import Callable
from typing import Any

from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponseBase

# "name*=charset'language'value" (RFC 2231): Python's parsers raise errors for odd character sets.
_EXTENDED = re.compile(r"\*[\d*]*\s*=")


class Handler(WSGIHandler):
    """Django's handler, for requests that all are UTF-8.

    Django decodes the query, too, in the character set that the header Content-Type names. Two
    visitors could so send the same query string and mean two pages, some character sets raise
    errors, and Python remembers every unknown one.
    """

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> HttpResponseBase:
        if ";" in environ.get("CONTENT_TYPE", ""):
            environ["CONTENT_TYPE"] = _with_boundary_alone(environ["CONTENT_TYPE"])
        if _EXTENDED.search(environ.get("HTTP_ACCEPT", "")):
            del environ["HTTP_ACCEPT"]
        return super().__call__(environ, start_response)


def _with_boundary_alone(content_type: str) -> str:
    """The type, and of its parameters the boundary of a form with files."""
    kind, *parameters = content_type.split(";")
    kept = [text for text in parameters if text.partition("=")[0].strip().lower() == "boundary"]
    return ";".join([kind, *kept[:1]])
