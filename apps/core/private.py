from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse

View = Callable[..., HttpResponse]


def private(view: View) -> View:
    """A page for one person: kept by no cache and no search engine, and its address told to nobody.

    `strict-origin` and not `no-referrer`: under the latter browsers send forms with `Origin: null`,
    which Django's CSRF check refuses. Either way no address with a token leaves the page.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        response["Cache-Control"] = "no-store, private"
        response["Referrer-Policy"] = "strict-origin"
        response["X-Robots-Tag"] = "noindex"
        return response

    return wrapped
