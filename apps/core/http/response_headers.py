"""Response headers for private data and private pages, and decorators that set them."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, cast

from csp.decorators import csp_update
from django.conf import settings
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


def _permissions(payment: str) -> str:
    denied = [f"{feature}=()" for feature in _DENIED]
    return ", ".join(
        [*denied, f"autoplay={_PLAYER}", f"fullscreen={_PLAYER}", f"payment={payment}"]
    )


PERMISSIONS = _permissions("()")


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


def paying_page(view: View) -> View:
    """Let the page use Stripe's script, frames and API. No other page may."""
    hosts = " ".join(f'"{host}"' for host in settings.STRIPE_POLICY["script-src"])
    allowed = with_headers(
        {
            "Permissions-Policy": _permissions(f"(self {hosts})"),
            # Google Pay, Link and PayPal open windows that report back to the page.
            "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
        }
    )
    # Any, because the package's types do not accept this kind of view.
    extended_policy: Any = csp_update(settings.STRIPE_POLICY)
    return cast(View, extended_policy(allowed(view)))
