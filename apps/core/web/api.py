"""The base class of public API views and the one shape of error responses.

See docs/rules.md, "HTTP contract" and "Error shape".
"""

import logging
from collections.abc import Iterator
from itertools import islice
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404, HttpRequest
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.core.errors import AcademyError, Busy, CrossSite, StorageFull, TooLarge
from apps.core.web.throttle import Limit

logger = logging.getLogger(__name__)

# The messages in one answer. A body may have hundreds of invalid values.
MAX_ERRORS = 20
NON_FIELD = "non_field_errors"

# DRF's own exceptions mapped to (code, Spanish message).
FRAMEWORK_REFUSALS: dict[type[exceptions.APIException], tuple[str, str]] = {
    exceptions.ParseError: ("invalid", "El contenido de la petición no es JSON válido."),
    exceptions.UnsupportedMediaType: (
        "unsupported_media_type",
        "El tipo de contenido de la petición no se admite.",
    ),
    exceptions.MethodNotAllowed: (
        "method_not_allowed",
        "Este método no se admite en esta dirección.",
    ),
    exceptions.NotAcceptable: ("not_acceptable", "Solo se puede responder en JSON."),
    exceptions.NotFound: ("not_found", "No se ha encontrado lo que buscas."),
    exceptions.PermissionDenied: ("forbidden", "No tienes permiso para hacer esto."),
}


def failure(
    message: str,
    *,
    code: str,
    status: int,
    fields: dict[str, list[str]] | None = None,
    **extra: Any,
) -> Response:
    """An error response: success, error, code, fields and any extra keys."""
    return Response(
        {"success": False, "error": message, "code": code, "fields": fields or {}, **extra},
        status=status,
    )


def _messages(detail: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The messages of DRF's nested error detail as ("items.0.subject_id", "…"), in field order.

    The path of an error of the whole body is empty.
    """
    if isinstance(detail, dict):
        for key, value in detail.items():
            name = path if key == NON_FIELD else (f"{path}.{key}" if path else str(key))
            yield from _messages(value, name)
    elif isinstance(detail, list):
        for index, item in enumerate(detail):
            if isinstance(item, dict | list):
                yield from _messages(item, f"{path}.{index}" if path else str(index))
            else:
                yield path, str(item)
    else:
        yield path, str(detail)


def _validation_failure(error: exceptions.ValidationError) -> Response:
    """The error shape with the first message in field order, and at most MAX_ERRORS in all."""
    messages = list(islice(_messages(error.detail), MAX_ERRORS))
    fields: dict[str, list[str]] = {}
    for path, message in messages:
        # Two validators of a field may say the same.
        if path and message not in fields.setdefault(path, []):
            fields[path].append(message)
    first = messages[0][1] if messages else "Los datos no son válidos."
    return failure(first, code="invalid", status=status.HTTP_400_BAD_REQUEST, fields=fields)


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Convert known exceptions to the error shape. Return None for others: Django handles them."""
    if StorageFull.is_cause(error):
        logger.error("no space left for an upload")
        error = StorageFull()
    elif Busy.is_cause(error):
        logger.error("the database did not answer", exc_info=error)
        error = Busy()
    if isinstance(error, AcademyError):
        response = failure(
            error.message, code=error.code, status=error.status, fields=error.fields, **error.extra
        )
        if error.retry_after is not None:
            response["Retry-After"] = str(error.retry_after)
        return response
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    if isinstance(error, exceptions.ValidationError):
        return _validation_failure(error)
    if isinstance(error, exceptions.APIException):
        code, message = FRAMEWORK_REFUSALS.get(
            type(error), ("invalid", "La petición no se ha aceptado.")
        )
        return failure(message, code=code, status=error.status_code)
    return None


def refuse_cross_site(request: HttpRequest | Request) -> None:
    """Raise CrossSite if the request comes from another site (docs/rules.md, "Cross-site
    protection").

    A request without Origin is allowed: a program sends it, without a visitor's cookie.
    """
    if request.META.get("HTTP_SEC_FETCH_SITE", "") == "cross-site":
        raise CrossSite
    origin = request.META.get("HTTP_ORIGIN", "")
    if not origin:
        return
    own = {urlsplit(settings.SITE_URL).netloc, request.get_host()}
    if urlsplit(origin).netloc not in own:
        raise CrossSite


class PublicAPIView(APIView):
    """A view of the public API: no session needed, same-site POSTs only, rate-limited."""

    limits: ClassVar[tuple[Limit, ...]] = ()
    # The errors of this view beyond those of any request, for the API's document.
    errors: ClassVar[tuple[type[AcademyError], ...]] = ()
    # OpenAPI links by name: the calls that can follow with values of this view's answer.
    links: ClassVar[dict[str, Any]] = {}
    # False for views that other sites' programs call, such as the webhook.
    own_site_only: ClassVar[bool] = True
    # The maximum body size in bytes.
    largest_body: ClassVar[int] = 128 * 1024

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method not in ("GET", "HEAD", "OPTIONS"):
            if self.own_site_only:
                # Not counted: another site must not use up the limits of its visitors.
                refuse_cross_site(request)
            for limit in self.limits:
                limit.count(request)
        # Django enforces its own limit in request.body only, which the JSON parser doesn't use.
        if int(request.META.get("CONTENT_LENGTH") or 0) > self.largest_body:
            raise TooLarge


class UnknownPath(PublicAPIView):
    """Answers unknown paths below /api with the error shape instead of an HTML page."""

    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise exceptions.NotFound
