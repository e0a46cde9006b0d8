"""Whether the process lives, and whether it can do its work (api.md)."""

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django_tasks_db.models import DBTaskResult


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 when database, migrations and queue answer, otherwise 503 and which of them does not."""
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
