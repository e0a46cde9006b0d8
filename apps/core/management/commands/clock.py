import logging
import signal
import threading
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError, close_old_connections

from apps.core.jobs import run_due_jobs
from apps.core.workers.heartbeats import beat, beating

PAUSE_S = 60.0
logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = (
        "Ejecuta una vez por minuto las tareas programadas que tocan: pagos, plazos, avisos, "
        "limpieza. Puede haber varios relojes a la vez: cada tarea la hace uno solo."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="Una sola vuelta, para cron.")

    def handle(self, *args: Any, **options: Any) -> None:
        stopped = threading.Event()

        def stop(signum: int, frame: FrameType | None) -> None:
            stopped.set()

        if options["once"]:
            beat(["clock"])
            ran = run_due_jobs()
            self.stdout.write(f"Tareas ejecutadas: {', '.join(ran) or 'ninguna'}.")
            return
        # A running job is finished before the process stops.
        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        with beating(["clock"]):
            self._run_until(stopped)

    @staticmethod
    def _run_until(stopped: threading.Event) -> None:
        while not stopped.is_set():
            # The database may have closed the connection between rounds.
            close_old_connections()
            try:
                run_due_jobs(stop=stopped.is_set)
            except DatabaseError:
                # The database may be restarting; the next round reconnects.
                logger.exception("the clock lost a round")
            stopped.wait(PAUSE_S)
