"""Processes of the shop on the test's database: `manage.py`, to be killed, and the web process.

They need `django_db(transaction=True)` and PostgreSQL.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import requests
from django.core.management import call_command
from django.db import connection

from tools.dev.processes import ROOT, end_with_parent, free_port
from tools.stripe_sandbox.testing import wait_until


@contextmanager
def manage(
    *arguments: str, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A running `manage.py ARGUMENTS`; the process is killed at the end.

    Its output, errors included, is to be read from `stdout`.
    """
    with _running(["manage.py", *arguments], env, subprocess.PIPE) as process:
        yield process


@contextmanager
def web_process(
    *, env: Mapping[str, str] | None = None, log: IO[str] | None = None
) -> Iterator[str]:
    """One web process with 16 threads, as in production. Yields its address.

    Its output goes to `log`, or to that of the tests.
    """
    with gunicorn(env=env, log=log) as (address, _):
        yield address


@contextmanager
def gunicorn(
    *, env: Mapping[str, str] | None = None, log: IO[str] | None = None
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The same with gunicorn's main process, for tests that send it signals."""
    port = free_port()
    address = f"127.0.0.1:{port}"
    command = [
        *("-m", "gunicorn", "academy.wsgi", "--bind", address, "--log-level", "warning"),
        *("--worker-class", "gthread", "--threads", "16", "--no-control-socket"),
        *("--config", "python:academy.gunicorn_conf"),
    ]
    with (
        # gunicorn deletes nothing when it is killed.
        tempfile.TemporaryDirectory() as folder,
        _running(command, {"RUNTIME_DIRECTORY": folder, **(env or {})}, log) as process,
    ):
        wait_until(lambda: _answers(f"http://{address}/healthz") or process.poll() is not None, 90)
        assert process.poll() is None
        yield f"http://{address}", process


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=90).ok
    except requests.ConnectionError:
        return False


@contextmanager
def _running(
    arguments: Sequence[str], env: Mapping[str, str] | None, output: int | IO[str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A Python process on the test's database; it and its children are killed at the end."""
    base = urlsplit(os.environ["DATABASE_URL"])
    database = base._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        preexec_fn=end_with_parent,
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database, **(env or {})},
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)


def shoot(process: subprocess.Popen[str]) -> None:
    """Kill the process with SIGKILL and wait for its end."""
    process.kill()
    process.wait(timeout=60)


def somebody_waits_for_a_lock() -> bool:
    """Whether a connection to the test's database waits for a lock of another one."""
    with connection.cursor() as cursor:
        # Within a transaction PostgreSQL repeats the first snapshot of the statistics.
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return bool(cursor.fetchone()[0])


def run_worker() -> None:
    """Run a task worker for all queues until no task is due."""
    call_command("worker", queue_name="*", batch=True, interval=0, startup_delay=False, verbosity=0)


def make_certificate(folder: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
         "-subj", "/CN=academia.example", "-keyout", folder / "privkey.pem",
         "-out", folder / "fullchain.pem"],
        check=True,
        capture_output=True,
    )  # fmt: skip
