"""Liveness and readiness checks (docs/rules.md, "Health checks")."""

from collections.abc import Callable

from django.core.exceptions import ImproperlyConfigured
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django_tasks_db.models import DBTaskResult

from apps.core.models import Heartbeat
from apps.core.storage.assets import find_asset


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 if every check of `readiness` holds; otherwise 503 with the failed check."""
    checks = readiness()
    ready = all(checks.values())
    return JsonResponse(
        {"status": "ok" if ready else "unavailable", "checks": checks}, status=200 if ready else 503
    )


def readiness() -> dict[str, bool]:
    """Whether the shop can sell: its database, migrations, queue, front end and processes.

    "processes" is false two minutes after the last sign of life of the clock or of a worker.
    """
    checks = {"database": False, "migrations": False, "queue": False, "processes": False}
    try:
        connection.ensure_connection()
        checks["database"] = True
        executor = MigrationExecutor(connection)
        checks["migrations"] = not executor.migration_plan(executor.loader.graph.leaf_nodes())
        DBTaskResult.objects.exists()
        checks["queue"] = True
        checks["processes"] = not Heartbeat.objects.silent().exists()
    except Error:
        pass
    return {**checks, "front_end": _front_end_is_built()}


def _front_end_is_built() -> bool:
    try:
        find_asset("main.js")
        find_asset("site.css")
    except ImproperlyConfigured:
        return False
    return True


PROBES = {"/healthz": healthz, "/readyz": readyz}


class ProbeMiddleware:
    """Answers the probes before any check of the host: a proxy asks by the machine's address."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        probe = PROBES.get(request.path)
        return probe(request) if probe else self.get_response(request)
