"""The page for what somebody may not open: with the navigation for staff, else the site's."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

EXPIRED = (
    "Esta página llevaba demasiado tiempo abierta. Vuelve atrás, recárgala y envíala otra vez."
)


def forbidden(
    request: HttpRequest, exception: Exception | None = None, message: str = ""
) -> HttpResponse:
    context: dict[str, Any] = {"message": message, "title": "No puedes abrir esta página"}
    is_staff = admin.site.has_permission(request)
    if is_staff and request.path.startswith(reverse("admin:index")):
        page = {**admin.site.each_context(request), **context}
        return render(request, "backoffice/forbidden.html", page, status=403)
    return render(request, "403.html", context, status=403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form without a valid token: most often its page was open for too long."""
    return forbidden(request, message=EXPIRED)
