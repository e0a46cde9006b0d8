from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect


class CanonicalPathMiddleware:
    """Redirect `/precios/` to `/precios` permanently (docs/rules.md, "Pages").

    The admin keeps Django's own URLs, with trailing slashes.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path
        if path != "/" and path.endswith("/") and not path.startswith("/admin/"):
            # Keep one leading slash only: "//host" would redirect to another site.
            query = request.META.get("QUERY_STRING", "")
            target = "/" + path.strip("/") + (f"?{query}" if query else "")
            return HttpResponsePermanentRedirect(target)
        return self.get_response(request)
