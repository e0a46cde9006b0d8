"""The OpenAPI document and the page that shows it."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from apps.core.errors import AcademyError
from apps.core.http.bad_requests import refusal


class MethodNotAllowed(AcademyError):
    status = 405
    code = "method_not_allowed"
    message = "Este método no se admite en esta dirección."


class _ReadOnly:
    """Answers every method but GET and HEAD with the error shape.

    The renderers of these views show documents only, and fail with an error or with OPTIONS.
    """

    http_method_names = ("get", "head")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if (request.method or "").lower() not in self.http_method_names:
            response = refusal(request, MethodNotAllowed())
            response["Allow"] = "GET, HEAD"
            return response
        return super().dispatch(request, *args, **kwargs)  # type: ignore[misc,no-any-return]


class Schema(_ReadOnly, SpectacularAPIView):  # type: ignore[misc]
    schema = None


class Docs(_ReadOnly, SpectacularSwaggerSplitView):  # type: ignore[misc]
    """Swagger UI. Its template has no inline style, so that the site's own policy holds."""

    schema = None
    template_name = "core/api_docs.html"

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        response: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        del response.headers["Cross-Origin-Opener-Policy"]
        return response
