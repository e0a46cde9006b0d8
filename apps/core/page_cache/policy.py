"""Which views give the same answer to everybody, and on which parameters it depends."""

from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import Resolver404, resolve, reverse

from apps.core.errors import TooManyRequests
from apps.core.web.bad_requests import refusal
from apps.core.web.throttle import Limit

View = Callable[..., HttpResponse]
_ATTRIBUTE, _LIMITED, _PAGE = "public_parameters", "has_limit", "is_page"
# Browsers ask for a page each time. A shared cache, such as a CDN, asks once a second and may send
# the page for one more second while it asks.
PAGE_CACHING = "public, max-age=0, s-maxage=1, stale-while-revalidate=1"
# Browsers may keep the catalogue's answers for a minute (docs/rules.md, "Catalogue reads and
# search"), and crawlers a sitemap.
ANSWER_CACHING = "public, max-age=60, s-maxage=1, stale-while-revalidate=1"
# A longer value of a parameter is answered, but not kept.
LONGEST_VALUE = 100


def public_page(
    *parameters: str, caching: str = PAGE_CACHING, limit: Limit | None = None
) -> Callable[[Callable[..., Any]], View]:
    """Decorator: keep the answers of this view. It must not depend on the visitor.

    `parameters` are the names of the query parameters that the view reads. With `limit`, the
    answers that are rendered count for the visitor, and the kept ones do not.
    """

    def decorate(view: Callable[..., Any]) -> View:
        @wraps(view)
        def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            try:
                if limit is not None:
                    limit.count(request)
            except TooManyRequests as error:
                return refusal(request, error)
            response: HttpResponse = view(request, *args, **kwargs)
            if response.status_code == 200:
                response.headers.setdefault("Cache-Control", caching)
                if caching == PAGE_CACHING:
                    address = reverse("speculation-rules")
                    response.headers.setdefault("Speculation-Rules", f'"{address}"')
            return response

        setattr(wrapped, _ATTRIBUTE, parameters)
        setattr(wrapped, _LIMITED, limit is not None)
        setattr(wrapped, _PAGE, caching == PAGE_CACHING)
        return wrapped

    return decorate


def public_answer(view: Callable[..., Any], *parameters: str, limit: Limit | None = None) -> View:
    """The same for a view of the API, where its URL is defined.

    `format` is a parameter of all of them: Django REST framework refuses other formats than JSON.
    """
    return public_page("format", *parameters, caching=ANSWER_CACHING, limit=limit)(view)


def is_kept(view: Callable[..., Any] | None) -> bool:
    """Whether the answers of this view are kept."""
    return hasattr(view, _ATTRIBUTE)


def is_kept_page(view: Callable[..., Any] | None) -> bool:
    """The same, for what a link may lead to: no answer of the API and no sitemap."""
    return getattr(view, _PAGE, False)


def parameters_of(path: str) -> tuple[str, ...] | None:
    """The parameters that the public view of this path reads; None if its answers are not kept."""
    return getattr(_view_of(path), _ATTRIBUTE, None)


def has_limit(path: str) -> bool:
    """Whether the public view of this path counts its visitors."""
    return getattr(_view_of(path), _LIMITED, False)


@lru_cache(maxsize=256)
def _view_of(path: str) -> Callable[..., Any] | None:
    try:
        return resolve(path).func
    except Resolver404:
        return None


def normalised_query(query: QueryDict, parameters: Iterable[str]) -> str | None:
    """The query string with these parameters alone, by name; None if a value is too long.

    Of a repeated parameter the last value counts, as for the views.
    """
    values = {name: query[name] for name in sorted(parameters) if name in query}
    if any(len(value) > LONGEST_VALUE for value in values.values()):
        return None
    return urlencode(values)
