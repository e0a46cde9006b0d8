"""Liveness and readiness checks (docs/rules.md, "Health checks")."""

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django_tasks_db.models import DBTaskResult


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 if database, migrations and task queue are ready; otherwise 503 with the failed check."""
    checks = {"database": False, "migrations": False, "queue": False}
    try:
        connection.ensure_connection()
        checks["database"] = True
        executor = MigrationExecutor(connection)
        checks["migrations"] = not executor.migration_plan(executor.loader.graph.leaf_nodes())
        DBTaskResult.objects.exists()
        checks["queue"] = True
    except DatabaseError:
        pass
    ready = all(checks.values())
    return JsonResponse(
        {"status": "ok" if ready else "unavailable", "checks": checks}, status=200 if ready else 503
    )
