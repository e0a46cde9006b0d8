"""Whether the shop signs students in to Moodle, and the addresses of that Moodle."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast
from urllib.parse import urlsplit

from csp.decorators import csp_update
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from apps.core.models import SiteSettings

# Moodle's login page follows the shop's button at once if its address ends so. Browsers keep the
# end when Moodle redirects to the login page.
AT_ONCE = "#academia"


def is_on() -> bool:
    return bool(settings.CLASSROOM_SIGN_IN)


def redirect_uri() -> str:
    """Where codes go."""
    return f"{settings.MOODLE_URL}/admin/oauth2callback.php"


def after_sign_out() -> str:
    """Where a visitor goes who has signed out of Moodle and of the shop."""
    return f"{settings.MOODLE_URL}/"


def moodle_sign_out() -> str:
    """Moodle's page that signs out, after asking."""
    return f"{settings.MOODLE_URL}/login/logout.php"


def moodle_origin() -> str:
    address = urlsplit(str(settings.MOODLE_URL))
    return f"{address.scheme}://{address.netloc}"


def way_in() -> str:
    """Where a student finds their classes: through the shop if it signs them in."""
    return reverse("aula_entrar") if is_on() else SiteSettings.current().portal


def moodle_entry() -> str:
    """Moodle's page for students, which leads a stranger to the shop and back."""
    return f"{settings.MOODLE_URL}/my/{AT_ONCE}"


def leads_to_moodle(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Let forms of the page be answered by a redirect to Moodle (CSP form-action), if it is on."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        if is_on():
            # A page with sources of its own gets no others (`BrowserHeadersMiddleware`).
            allowed: Any = csp_update(
                {"form-action": [moodle_origin()], "require-trusted-types-for": ["'script'"]}
            )
            response = cast(HttpResponse, allowed(lambda _: response)(request))
        return response

    return wrapped
