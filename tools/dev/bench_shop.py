"""The shop that `make bench` and `make lighthouse` measure: as in production, with sample data."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from django.apps import apps
from django.core.management import call_command
from django.db import connection, connections

from tools.dev.processes import ROOT, SetupError, run_to_end
from tools.dev.stack import Stack

LOG = ROOT / "var" / "bench.log"
WARM_UP = 8
# A shop as in production, which only charges nothing and sends no mail.
PRODUCTION = {
    "DEBUG": "false",
    "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "ALLOWED_HOSTS": "127.0.0.1",
    "ALLOW_LOCAL_SITE": "true",
    "ALLOW_TEST_KEYS": "true",
    "STRIPE_SANDBOX": "0",
    "STRIPE_SECRET_KEY": "sk_test_0123456789",
    "STRIPE_PUBLISHABLE_KEY": "pk_test_0123456789",
    "STRIPE_WEBHOOK_SECRET": "whsec_0123456789",
    "ACCESS_LOG": "false",
    "WEB_CONCURRENCY": "2",
    "GUNICORN_CMD_ARGS": "--log-level warning",
}


@dataclass(frozen=True)
class Server:
    """The gunicorn of a running shop with its workers."""

    url: str
    pid: int

    def cpu_ms(self, ask: Callable[[int], object], times: int) -> float:
        """CPU time of all its processes for one request. `ask` sends the one with this number."""
        return self.cpu_ms_with_database(ask, times)[0]

    def cpu_ms_with_database(self, ask: Callable[[int], object], times: int) -> tuple[float, float]:
        """CPU time of all its processes for one request, and that of PostgreSQL."""
        # What is made once in a process, such as the API's document, is made by either worker.
        for number in range(WARM_UP):
            ask(-number - 1)
        web, database = self._cpu_seconds(), _database_cpu_seconds()
        for number in range(times):
            ask(number)
        web, database = self._cpu_seconds() - web, _database_cpu_seconds() - database
        return web * 1000 / times, database * 1000 / times

    def worker_megabytes(self) -> float:
        """Memory of its largest worker. Pages that processes share count in equal parts (PSS)."""
        return max(map(_proportional_kilobytes, self._workers())) / 1024

    def megabytes(self) -> float:
        """Memory of all its processes together. Shared pages count once."""
        return sum(map(_proportional_kilobytes, self._stats())) / 1024

    def end_workers(self) -> None:
        """Kill all workers. gunicorn starts new ones at once."""
        for pid in self._workers():
            os.kill(pid, signal.SIGKILL)

    def _workers(self) -> set[int]:
        return set(self._stats()) - {self.pid}

    def _cpu_seconds(self) -> float:
        ticks = sum(int(stat[11]) + int(stat[12]) for stat in self._stats().values())
        return ticks / os.sysconf("SC_CLK_TCK")

    def _stats(self) -> dict[int, list[str]]:
        """The fields of /proc/PID/stat after the name, for each process of the group."""
        return {pid: fields for pid, fields in _all_stats().items() if int(fields[2]) == self.pid}


def _all_stats() -> dict[int, list[str]]:
    """The fields of /proc/PID/stat after the name, for each process of the machine."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
            found[int(path.parent.name)] = fields
    return found


def _database_cpu_seconds() -> float:
    """CPU time of PostgreSQL: the server, its processes, and those that have ended."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [[backend]] = cursor.fetchall()
    stats = _all_stats()
    server = int(stats[backend][1])
    ticks = sum(map(int, stats[server][11:15]))
    ticks += sum(int(s[11]) + int(s[12]) for s in stats.values() if int(s[1]) == server)
    return ticks / os.sysconf("SC_CLK_TCK")


def _proportional_kilobytes(pid: int) -> int:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    lines = [line.split() for line in text.splitlines() if line.startswith("Pss:")]
    return int(lines[0][1]) if lines else 0


def fill_shop() -> None:
    """Migrate the database, fill it with sample data, and collect the static files."""
    call_command("migrate", verbosity=0)
    call_command("seed", stdout=StringIO())
    for model in apps.get_models():
        if any(field.name == "is_sample" for field in model._meta.fields):
            # A site in production hides samples.
            model._default_manager.update(is_sample=False)
    collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity=0"]
    if run_to_end(collect, env=PRODUCTION) != 0:
        raise SetupError("No se pueden reunir los archivos estáticos.")
    connections.close_all()


@contextmanager
def running_shop(**env: str) -> Iterator[Server]:
    """The web process of the Procfile, on this process's database. Its log is var/bench.log."""
    with LOG.open("wb") as log:
        stack = Stack({**PRODUCTION, **env}, output=log)
        try:
            stack.start("web")
            stack.wait_ready()
            yield Server(stack.url, stack.pid("web"))
        finally:
            stack.stop()
