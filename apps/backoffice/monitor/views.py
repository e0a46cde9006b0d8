"""`/monitor` and `/metrics`, for programs that know MONITOR_TOKEN (docs/rules.md, "Monitoring")."""

from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe

from apps.backoffice.monitor.facts import all_checks
from apps.backoffice.monitor.metrics import CONTENT_TYPE, exposition
from apps.core.web.response_headers import NO_STORE

View = Callable[[HttpRequest], HttpResponse]


def for_monitors(view: View) -> View:
    """Ask for `Authorization: Bearer MONITOR_TOKEN`. Without the setting there is no such page."""

    @wraps(view)
    def wrapped(request: HttpRequest) -> HttpResponse:
        if not settings.MONITOR_TOKEN:
            raise Http404
        sent = request.headers.get("Authorization", "")
        if not constant_time_compare(sent.encode(), f"Bearer {settings.MONITOR_TOKEN}".encode()):
            return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
        response = view(request)
        for name, value in NO_STORE.items():
            response[name] = value
        return response

    return wrapped


@for_monitors
@require_safe
def monitor(request: HttpRequest) -> HttpResponse:
    """200 if every check holds, otherwise 503; the body has each check with its figures."""
    checks = all_checks()
    problems = [name for name, check in checks.items() if not check.ok]
    body = {
        "status": "failing" if problems else "ok",
        "problems": problems,
        "checks": {name: {"ok": check.ok, **check.figures} for name, check in checks.items()},
    }
    return JsonResponse(body, status=503 if problems else 200)


@for_monitors
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    return HttpResponse(exposition(), content_type=CONTENT_TYPE)
