import logging
import os
import random
import time
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DatabaseError, InterfaceError, close_old_connections, connections
from django.utils.autoreload import DJANGO_AUTORELOAD_ENV, run_with_reloader
from django_tasks_db.management.commands import db_worker
from django_tasks_db.models import DBTaskResult

from apps.core.mail.delivery import keeping_connection
from apps.core.monitoring.tracing import traced
from apps.core.render_memory import piece_of_work
from apps.core.workers.claim import claim_task
from apps.core.workers.heartbeats import beating, watchdog
from apps.core.workers.lost_tasks import TASK_LASTS_AT_MOST

logger = logging.getLogger(__name__)
# How long the worker waits after a database error, in seconds.
PAUSE_S = 1.0


class PersistentWorker(db_worker.Worker):
    """A worker of django-tasks-db that outlives errors of the database.

    The package's own worker ends when the database is restarted, or when SQLite's write lock is
    held for longer than its time-out.
    """

    def run(self) -> None:
        if self.startup_delay and self.interval:
            # Workers that are started together look for tasks at different moments.
            time.sleep(random.random())  # noqa: S311
        while self.running:
            try:
                with keeping_connection():
                    self._run_due_tasks()
            except (DatabaseError, InterfaceError):
                if self.batch:
                    raise
                logger.exception("the worker lost its database and tries again")
                connections.close_all()
                time.sleep(PAUSE_S)
                continue
            if self.batch or self._is_at_its_limit():
                return
            if self.running:
                time.sleep(self.interval)

    def _run_due_tasks(self) -> None:
        """Run tasks until none is due.

        Connections are checked once. A check for each task would cost each one more statement.
        """
        close_old_connections()
        while self.running and not self._is_at_its_limit():
            task = claim_task(
                worker_id=self.worker_id,
                backend_name=self.backend_name,
                queues=None if self.process_all_queues else self.queue_names,
                excluded=self.excluded_queue_names,
            )
            if task is None:
                return
            self.run_task(task)
            if any(connection.errors_occurred for connection in connections.all()):
                close_old_connections()

    def _is_at_its_limit(self) -> bool:
        return self.max_tasks is not None and self._run_tasks >= self.max_tasks

    def run_task(self, db_task_result: DBTaskResult[..., Any]) -> None:
        with (
            watchdog.expecting(at_most=TASK_LASTS_AT_MOST),
            traced(db_task_result),
            piece_of_work(),
        ):
            super().run_task(db_task_result)


class Command(db_worker.Command):
    help = (
        "Ejecuta las tareas de las colas indicadas. Sigue en marcha aunque la base de datos se "
        "reinicie."
    )

    def handle(self, **options: Any) -> None:
        self.configure_logging(options["verbosity"])
        worker = _worker(options)
        if options["batch"]:
            worker.configure_signals()
            worker.run()
            return
        with beating(_queues(options["queue_name"])):
            if not options["reload"]:
                worker.configure_signals()
                worker.run()
                return
            # Only the reloader's child process handles signals.
            if os.environ.get(DJANGO_AUTORELOAD_ENV) == "true":
                worker.configure_signals()
            run_with_reloader(worker.run)


def _worker(options: dict[str, Any]) -> PersistentWorker:
    """The worker that the command line asks for.

    The package's command makes a worker of its own class and offers no hook for another one.
    """
    excluded = options["exclude_queues"].split(",") if options["exclude_queues"] else []
    if excluded and options["queue_name"] != "*":
        raise CommandError("--exclude-queues can only be used with --queue-name=*")
    return PersistentWorker(
        queue_names=options["queue_name"].split(","),
        excluded_queue_names=excluded,
        interval=options["interval"],
        batch=options["batch"],
        backend_name=options["backend_name"],
        startup_delay=options["startup_delay"],
        max_tasks=options["max_tasks"],
        worker_id=options["worker_id"],
    )


def _queues(names: str) -> list[str]:
    """The queues that the command line names, as the package reads them."""
    known = settings.TASKS["default"]["QUEUES"]
    return list(known) if names == "*" else names.split(",")
