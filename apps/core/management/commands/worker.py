import logging
import time
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections
from django_tasks_db.management.commands import db_worker
from django_tasks_db.models import DBTaskResult

from apps.core.heartbeats import beating
from apps.core.tracing import traced

logger = logging.getLogger(__name__)
# How long the worker waits after a database error, in seconds.
PAUSE_S = 1.0


class PersistentWorker(db_worker.Worker):
    """A worker of django-tasks-db that outlives errors of the database.

    The package's own worker ends when the database is restarted, or when SQLite's write lock is
    held for longer than its time-out.
    """

    def run(self) -> None:
        while self.running:
            try:
                super().run()
            except (DatabaseError, InterfaceError):
                if self.batch:
                    raise
                logger.exception("the worker lost its database and tries again")
                connections.close_all()
                time.sleep(PAUSE_S)
            else:
                # The package's loop ends by itself in batch mode or at its limit of tasks.
                return

    def run_task(self, db_task_result: DBTaskResult[..., Any]) -> None:
        with traced(db_task_result):
            super().run_task(db_task_result)


class Command(db_worker.Command):
    help = (
        "Ejecuta las tareas de las colas indicadas. Sigue en marcha aunque la base de datos se "
        "reinicie."
    )

    def handle(self, **options: Any) -> None:
        # The package's command builds the worker itself and offers no other way to replace it.
        db_worker.Worker = PersistentWorker  # type: ignore[misc]
        if options["batch"]:
            super().handle(**options)
            return
        with beating(_queues(options["queue_name"])):
            super().handle(**options)


def _queues(names: str) -> list[str]:
    """The queues that the command line names, as the package reads them."""
    known = settings.TASKS["default"]["QUEUES"]
    return list(known) if names == "*" else names.split(",")
