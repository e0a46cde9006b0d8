"""Malformed requests, which no browser sends, and the answer to them.

See docs/rules.md, "Malformed requests".
"""

import re
from http import HTTPStatus
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from apps.core.errors import AcademyError, Invalid, TooLarge
from apps.core.monitoring.tracing import support_code
from apps.core.storage.assets import find_asset
from apps.core.web.throttle import Limit

LIMIT = Limit("bad-requests", times=60, seconds=600)
# In bytes. An opinion of 1,500 emoji takes 18 KB. To decode 98 KB of "%" takes 45 ms.
LONGEST_FORM = 24 * 1024
# The forms of staff, and those in which a provider of mails sends its events.
_LONG_FORMS = re.compile("/admin/.*|/avisos-de-correo", re.DOTALL)
_NUL = "Contiene un carácter nulo."


def error_of(request: HttpRequest) -> AcademyError | None:
    """The error of a malformed request; None for all others.

    PostgreSQL refuses NUL in any text, whether it comes in a path, a parameter or a cookie. The
    check of forms reads a form before any view or limit.
    """
    try:
        request.get_host()
        urlsplit(request.META.get("HTTP_ORIGIN", ""))
        length = int(request.META.get("CONTENT_LENGTH") or 0)
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
    is_form = request.content_type == "application/x-www-form-urlencoded"
    if is_form and length > LONGEST_FORM and not _LONG_FORMS.fullmatch(request.path):
        return TooLarge("El formulario es demasiado largo. Vuelve atrás y acorta el texto.")
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
