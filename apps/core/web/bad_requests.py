"""Malformed requests, which no browser sends, and the answer to them.

See docs/rules.md, "Malformed requests".
"""

from http import HTTPStatus
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from apps.core.errors import AcademyError, Invalid
from apps.core.monitoring.tracing import support_code
from apps.core.storage.assets import find_asset
from apps.core.web.throttle import Limit

LIMIT = Limit("bad-requests", times=60, seconds=600)
_NUL = "Contiene un carácter nulo."


def error_of(request: HttpRequest) -> Invalid | None:
    """The error of a malformed request; None for all others.

    PostgreSQL refuses NUL in any text, whether it comes in a path, a parameter or a cookie.
    """
    try:
        request.get_host()
        urlsplit(request.META.get("HTTP_ORIGIN", ""))
        int(request.META.get("CONTENT_LENGTH") or 0)
        fields = {
            name.replace("\0", ""): [_NUL]
            for name, values in request.GET.lists()
            if "\0" in name or any("\0" in value for value in values)
        }
    except (SuspiciousOperation, ValueError):
        return Invalid("La petición no es válida.")
    fields.pop("", None)
    hidden = "\0" in request.META.get("QUERY_STRING", "") or any(
        "\0" in part for cookie in request.COOKIES.items() for part in cookie
    )
    if fields or hidden or "\0" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
        return Invalid(_NUL, fields=fields)
    return None


def refusal(request: HttpRequest, error: AcademyError) -> HttpResponse:
    """The error shape below /api/, a page elsewhere."""
    if request.path.startswith("/api/"):
        body = {
            "success": False,
            "error": error.message,
            "code": error.code,
            "fields": error.fields,
        }
        response: HttpResponse = JsonResponse(body, status=error.status)
    else:
        response = _page(error)
    if error.retry_after is not None:
        response["Retry-After"] = str(error.retry_after)
    return response


def _page(error: AcademyError) -> HttpResponse:
    """A page without a query and without a context processor."""
    try:
        stylesheet = find_asset("site.css").url
    except ImproperlyConfigured:
        stylesheet = ""
    code = support_code() if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR else ""
    context = {"stylesheet": stylesheet, "message": error.message, "support_code": code}
    return render(None, "400.html", context, status=error.status)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Django's handler for status 400: a foreign host, too many fields, a forged file name."""
    return refusal(request, Invalid("La petición no es válida."))
