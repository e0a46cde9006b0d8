"""Signs of life of the clock and the workers (docs/rules.md, "Hoy")."""

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

from django.apps import apps as current_apps
from django.apps.registry import Apps
from django.conf import settings
from django.db import close_old_connections, connection
from django.utils import timezone
from gunicorn.systemd import sd_notify

from apps.core.models import PROCESSES, Heartbeat

logger = logging.getLogger(__name__)
EVERY_S = 30.0


class Watchdog:
    """Tells systemd or a container's health check that the process works, and not if it hangs.

    systemd restarts one that hangs (WatchdogSec).
    """

    def __init__(self) -> None:
        self._until: float | None = None

    @contextmanager
    def expecting(self, *, at_most: timedelta) -> Iterator[None]:
        """A piece of work. The process counts as hanging if it takes longer."""
        self._until = time.monotonic() + at_most.total_seconds()
        try:
            yield
        finally:
            self._until = None

    def notify(self) -> None:
        """Send a sign of life to whoever runs this, unless work takes too long."""
        if self._until is None or time.monotonic() < self._until:
            sd_notify("READY=1\nWATCHDOG=1", logger)
            if settings.HEARTBEAT_FILE:
                Path(settings.HEARTBEAT_FILE).touch()


watchdog = Watchdog()


def beat(names: Iterable[str]) -> None:
    """Record a sign of life of these processes. Unknown names are ignored."""
    for name in PROCESSES.keys() & set(names):
        Heartbeat.objects.update_or_create(name=name, defaults={"seen_at": timezone.now()})


@contextmanager
def beating(names: Iterable[str]) -> Iterator[None]:
    """Record signs of life while the block runs, in a thread with its own connection.

    A thread, because one task or job may take longer than two minutes.
    """
    done = Event()
    thread = Thread(target=_beat_until, args=(list(names), done), name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _beat_until(names: list[str], done: Event) -> None:
    try:
        while True:
            close_old_connections()
            try:
                beat(names)
            except Exception:
                # The database may be restarting. The thread must outlive it.
                logger.exception("a heartbeat could not be stored")
                connection.close()
            watchdog.notify()
            if done.wait(EVERY_S):
                return
    finally:
        connection.close()


def create_missing_rows(apps: Apps = current_apps, **kwargs: Any) -> None:
    """Create the rows of processes that have never run, which are silent (post_migrate handler)."""
    try:
        rows = apps.get_model("core", "Heartbeat")._default_manager
    except LookupError:  # Migrating backwards: the model is gone.
        return
    rows.bulk_create([rows.model(name=name) for name in PROCESSES], ignore_conflicts=True)
