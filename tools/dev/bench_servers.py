"""The servers that `make bench` sends requests to, their CPU time and their memory."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from tools.dev.processes import ROOT, SetupError, end, free_port, signals_held, start

# As in the Procfile.
GUNICORN = "--worker-class gthread --workers 2 --threads 16 --no-control-socket --log-level warning"
CONNECTIONS = 16
LOG = ROOT / "var" / "bench.log"
READY_WITHIN_S = 60
# A shop as in production, which only charges nothing and sends no mail.
PRODUCTION = {
    "DEBUG": "false",
    "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "ALLOWED_HOSTS": "127.0.0.1",
    "ALLOW_LOCAL_SITE": "true",
    "ALLOW_TEST_KEYS": "true",
    "STRIPE_SECRET_KEY": "sk_test_0123456789",
    "STRIPE_PUBLISHABLE_KEY": "pk_test_0123456789",
    "STRIPE_WEBHOOK_SECRET": "whsec_0123456789",
    # The bare view logs no requests either.
    "ACCESS_LOG": "false",
}


@dataclass(frozen=True)
class Server:
    """A running gunicorn with its workers."""

    port: int
    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        """CPU time of all its processes so far."""
        ticks = sum(int(stat[11]) + int(stat[12]) for stat in self._stats().values())
        return ticks / os.sysconf("SC_CLK_TCK")

    def worker_megabytes(self) -> float:
        """Memory of its largest worker. Pages that processes share count in equal parts (PSS)."""
        sizes = [_proportional_kilobytes(pid) for pid in self._workers()]
        return max(sizes, default=0) / 1024

    def megabytes(self) -> float:
        """Memory of all its processes together. Shared pages count once."""
        return sum(_proportional_kilobytes(pid) for pid in self._stats()) / 1024

    def end_workers(self) -> None:
        """Kill all workers. gunicorn starts new ones at once."""
        for pid in self._workers():
            os.kill(pid, signal.SIGKILL)

    def _workers(self) -> set[int]:
        return set(self._stats()) - {self.process.pid}

    def _stats(self) -> dict[int, list[str]]:
        """The fields of /proc/PID/stat after the name, for each process of the group."""
        found = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[2]) == self.process.pid:
                found[int(path.parent.name)] = fields
        return found

    def is_ready(self, path: str) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
                return bool(answer.status < 500)
        except URLError as error:
            return getattr(error, "code", 500) < 500
        except OSError:
            return False


def _proportional_kilobytes(pid: int) -> int:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    lines = [line.split() for line in text.splitlines() if line.startswith("Pss:")]
    return int(lines[0][1]) if lines else 0


@contextmanager
def gunicorn(
    application: str,
    env: Mapping[str, str],
    *,
    python: str = sys.executable,
    ready: str = "/healthz",
    folder: Path = ROOT,
    options: str = "",
    port: int | None = None,
) -> Iterator[Server]:
    """Run gunicorn with this WSGI application until the block ends. Yields when it answers.

    Its log is var/bench.log.
    """
    port = port or free_port()
    command = [python, "-m", "gunicorn", application, *GUNICORN.split()]
    command += ["--bind", f"127.0.0.1:{port}", "--chdir", str(folder), *options.split()]
    with LOG.open("ab") as log, signals_held():
        process = start(command, {**os.environ, **env, "PORT": str(port)}, log)
    try:
        server = Server(port, process)
        deadline = time.monotonic() + READY_WITHIN_S
        while not server.is_ready(ready):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SetupError(f"No responde el servidor que se iba a medir: {application}")
            time.sleep(0.1)
        yield server
    finally:
        end(process)


def body_size(server: Server, path: str, *headers: str) -> int:
    """The bytes of the answer's body, compressed as these headers ask for."""
    lines = dict(header.split(": ", 1) for header in headers)
    request = Request(f"http://127.0.0.1:{server.port}{path}", headers=lines)
    with urlopen(request, timeout=READY_WITHIN_S) as answer:  # noqa: S310
        return len(answer.read())


@dataclass(frozen=True)
class Answered:
    """What `bench_load` measured, and the server's CPU time for one answer."""

    per_second: float
    p95_ms: float
    cpu_ms: float


def load(server: Server, path: str, seconds: float, *headers: str) -> Answered:
    """Send requests from a process of its own for so many seconds."""
    before = server.cpu_seconds()
    command = [sys.executable, "-m", "tools.dev.bench_load", str(server.port), str(seconds)]
    done = subprocess.run(
        [*command, str(CONNECTIONS), path, *headers], cwd=ROOT, check=True, capture_output=True
    )
    spent = server.cpu_seconds() - before
    found = json.loads(done.stdout)
    if found["refused"]:
        raise SetupError(f"{path} no responde 200 a {found['refused']} peticiones: {LOG}")
    if not found["per_second"]:  # The machine is too busy for one answer in that time.
        return load(server, path, 2 * seconds, *headers)
    return Answered(
        found["per_second"],
        found["p95_ms"],
        spent * 1000 / (found["per_second"] * seconds),
    )
