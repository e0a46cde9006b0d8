"""`manage.py` as processes of their own on the test's database, for tests that kill them.

They need `django_db(transaction=True)` and PostgreSQL.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from django.db import connection

from academy.dev.processes import ended_with_us
from apps.payments.tests.sandbox_process import ROOT


@contextmanager
def manage(
    *arguments: str, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A running `manage.py ARGUMENTS`; what is left of it is killed in the end.

    Its output, errors included, is to be read from `stdout`.
    """
    base = urlsplit(os.environ["DATABASE_URL"])
    database = base._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    process = subprocess.Popen(
        ended_with_us([sys.executable, "manage.py", *arguments]),
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=10)


def shoot(process: subprocess.Popen[str]) -> None:
    """kill -9, and no word more."""
    process.kill()
    process.wait(timeout=10)


def somebody_waits_for_a_lock() -> bool:
    """Whether any connection to the test's database is held up by another's lock."""
    with connection.cursor() as cursor:
        # Within a transaction PostgreSQL would show what it showed at the first look.
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return bool(cursor.fetchone()[0])
