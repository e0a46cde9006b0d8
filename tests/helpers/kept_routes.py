"""The routes whose answers are kept, because they are the same for everybody."""

from collections.abc import Iterator
from typing import Any

from django.urls import URLResolver, get_resolver


def kept_routes() -> list[str]:
    """Return the routes of all views with the decorator `public_page`, without the first slash."""
    return list(_routes(get_resolver().url_patterns))


def _routes(patterns: list[Any], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        elif hasattr(pattern.callback, "public_parameters"):
            yield route
