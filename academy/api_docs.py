"""The OpenAPI document and the page that shows it."""

from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from apps.core.errors import AcademyError
from apps.core.page_cache.policy import ANSWER_CACHING
from apps.core.web.bad_requests import refusal
from apps.pricing.reads import current_terms
from apps.pricing.sale_terms import SaleTerms


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
    """The document, made once in each process for each format and terms: it takes 0.1 s of CPU."""

    schema = None

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        renderer: Any = request.accepted_renderer
        return HttpResponse(
            _rendered(renderer.__class__, current_terms()),
            content_type=f"{renderer.media_type}; charset=utf-8",
            headers={
                "Cache-Control": ANSWER_CACHING,
                "Content-Disposition": f'inline; filename="api.{renderer.format}"',
            },
        )


@lru_cache(maxsize=2)
def _document(terms: SaleTerms) -> Any:
    """The document with these terms of sale, which are those of the request."""
    generator: Any = Schema.generator_class()
    return generator.get_schema(request=None, public=True)


@lru_cache(maxsize=4)
def _rendered(renderer: Any, terms: SaleTerms) -> bytes:
    """The document in the format of this class of renderers."""
    document: bytes = renderer().render(_document(terms), renderer.media_type, {})
    return document


class Docs(_ReadOnly, SpectacularSwaggerSplitView):  # type: ignore[misc]
    """Swagger UI. Its template has no inline style, so that the site's own policy holds."""

    schema = None
    template_name = "core/api_docs.html"

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        response: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        del response.headers["Cross-Origin-Opener-Policy"]
        return response
