"""Liveness and readiness checks (docs/rules.md, "Health checks")."""

from collections.abc import Callable
from threading import Lock
from time import monotonic

from django.core.exceptions import ImproperlyConfigured
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django_tasks_db.models import DBTaskResult

from apps.core.models import Heartbeat
from apps.core.storage.assets import find_asset

Probe = Callable[[HttpRequest], HttpResponse]
# A load balancer learns of a failure one second after the look that finds it.
KEPT_S = 1.0


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


class Readyz:
    """200 if every check of `readiness` holds; otherwise 503 with the failed check.

    The checks take ten milliseconds, and anybody may ask. So all who ask within a second get what
    one of them has found.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._checks: dict[str, bool] = {}
        self._until = float("-inf")

    def __call__(self, request: HttpRequest) -> JsonResponse:
        with self._lock:
            if monotonic() >= self._until:
                self._checks = readiness()
                self._until = monotonic() + KEPT_S
            checks = self._checks
        ready = all(checks.values())
        return JsonResponse(
            {"status": "ok" if ready else "unavailable", "checks": checks},
            status=200 if ready else 503,
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


# Without `/readyz`, whose answer each process keeps.
PROBES: dict[str, Probe] = {"/healthz": healthz}


class ProbeMiddleware:
    """Answers the probes before any check of the host: a proxy asks by the machine's address."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self._readyz = Readyz()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        probe = self._readyz if request.path == "/readyz" else PROBES.get(request.path)
        return probe(request) if probe else self.get_response(request)
