from collections.abc import Callable

from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect

from apps.core.errors import TooManyRequests
from apps.core.render_memory import piece_of_work
from apps.core.web import bad_requests
from apps.core.web.response_headers import PERMISSIONS, is_public

# Pages behind a sign-in embed nothing of other sites. Public pages embed Vimeo's player, and pages
# that pay embed Stripe's card form: neither sends the headers that this policy requires.
ISOLATED = ("/admin/", "/aula", "/login", "/mi-cuenta", "/oidc/")

# Their scripts, jQuery and Swagger UI, write HTML as text. So does Stripe's on pages that pay.
WITH_LIBRARIES = ("/admin/", "/api/")

GetResponse = Callable[[HttpRequest], HttpResponse]


class PieceOfWorkMiddleware:
    """Read the terms of sale once for each request (`core.render_memory.read_once`)."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with piece_of_work():
            return self.get_response(request)


class BadRequestMiddleware:
    """Refuse malformed requests, after counting them for the visitor's rate limit.

    See docs/rules.md, "Malformed requests".

    Bodies are left to the parsers, which have limits of their own.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        error = bad_requests.error_of(request)
        if error is None:
            return self.get_response(request)
        try:
            bad_requests.LIMIT.count(request)
        except TooManyRequests as refusal:
            return bad_requests.refusal(request, refusal)
        return bad_requests.refusal(request, error)


class BrowserHeadersMiddleware:
    """Tell browsers what pages may use and who may embed them (docs/rules.md, "Headers").

    A view that has set one of the headers keeps its own.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        headers = response.headers
        # A shared cache would hand the cookie to others. Django replaces stale cookies on any page.
        if is_public(response):
            response.cookies.clear()
        headers.setdefault("Permissions-Policy", PERMISSIONS)
        headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        headers.setdefault("Reporting-Endpoints", 'csp="/csp-report"')
        if request.path.startswith(ISOLATED):
            headers.setdefault("Cross-Origin-Embedder-Policy", "require-corp")
        # A view with sources of its own, such as a page that pays, keeps its policy.
        if not request.path.startswith(WITH_LIBRARIES) and not hasattr(response, "_csp_update"):
            csp_update({"require-trusted-types-for": ["'script'"]})(lambda _: response)(request)
        return response


class CanonicalPathMiddleware:
    """Redirect `/precios/` to `/precios` permanently (docs/rules.md, "Pages").

    The admin keeps Django's own URLs, with trailing slashes.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path
        if path != "/" and path.endswith("/") and not path.startswith("/admin/"):
            # Keep one leading slash only: "//host" would redirect to another site.
            query = request.META.get("QUERY_STRING", "")
            target = "/" + path.strip("/") + (f"?{query}" if query else "")
            return HttpResponsePermanentRedirect(target)
        return self.get_response(request)
