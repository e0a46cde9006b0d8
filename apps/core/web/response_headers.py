"""Response headers for private data and private pages, and decorators that set them."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse

View = Callable[..., HttpResponse]

NO_STORE = {"Cache-Control": "no-store"}
# For URLs that contain a token or a payment's id: not cached, not indexed, no Referer header.
PRIVATE = {**NO_STORE, "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex"}
# Pages with a form need `strict-origin`: under `no-referrer` browsers send the form with
# `Origin: null`, which Django's CSRF check refuses. Neither policy sends the path to other sites.
PRIVATE_FORM = {
    "Cache-Control": "no-store, private",
    "Referrer-Policy": "strict-origin",
    "X-Robots-Tag": "noindex",
}
_DENIED = (
    "accelerometer", "browsing-topics", "camera", "display-capture", "geolocation",
    "gyroscope", "hid", "magnetometer", "microphone", "midi", "serial", "usb",
    "xr-spatial-tracking",
)  # fmt: skip
_PLAYER = '(self "https://player.vimeo.com")'


def permissions(payment: str) -> str:
    """The header that denies what pages do not need. `payment` are the origins that may pay."""
    denied = [f"{feature}=()" for feature in _DENIED]
    return ", ".join(
        [*denied, f"autoplay={_PLAYER}", f"fullscreen={_PLAYER}", f"payment={payment}"]
    )


PERMISSIONS = permissions("()")


def is_public(response: HttpResponse) -> bool:
    """Whether caches may store the response for others than this visitor."""
    return "public" in response.get("Cache-Control", "")


def with_headers(headers: Mapping[str, str]) -> Callable[[View], View]:
    """Return a view decorator that sets these headers on every response."""

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            response = view(request, *args, **kwargs)
            for name, value in headers.items():
                response[name] = value
            return response

        return wrapped

    return decorate


private_page = with_headers(PRIVATE)
private_form_page = with_headers(PRIVATE_FORM)
