"""The routes whose answers are kept, because they are the same for everybody."""

from collections.abc import Iterator
from typing import Any

from django.urls import URLResolver, get_resolver


def kept_routes() -> list[str]:
    """Return the routes of all views with the decorator `public_page`, without the first slash."""
    return [route for route, _ in _kept(get_resolver().url_patterns)]


def kept_parameters() -> set[str]:
    """Return the query parameters that these views read."""
    return {name for _, names in _kept(get_resolver().url_patterns) for name in names}


def _kept(patterns: list[Any], before: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _kept(pattern.url_patterns, route)
        elif hasattr(pattern.callback, "public_parameters"):
            yield route, pattern.callback.public_parameters
