"""A PostgreSQL server of the drill, which writes through to the disk and can be restarted."""

import logging
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from pgserver.postgres_server import PostgresServer

from tools.dev.processes import SetupError

# Each line of the log begins with the name of the process that caused it (PGAPPNAME).
_SETTINGS = "max_connections = 200\nlog_line_prefix = '%a|'\n"
STARTS = 6


class _Server(PostgresServer):
    def ensure_pgdata_inited(self) -> None:
        super().ensure_pgdata_inited()
        with (self.pgdata / "postgresql.conf").open("a", encoding="ascii") as config:
            config.write(_SETTINGS)


class Database:
    """The server, with one database at a time for the shop."""

    def __init__(self) -> None:
        logging.getLogger("pgserver").setLevel(logging.CRITICAL)
        # Not inside the project: as root, pgserver makes every parent folder readable to its user.
        self._folder = Path(tempfile.mkdtemp(prefix="academy-drill-postgres-"))
        data = self._folder / "data"
        data.mkdir()
        self._server = _Server(data, cleanup_mode="stop")
        self.name = "postgres"

    @property
    def url(self) -> str:
        return f"postgres://postgres@{quote(self.socket, safe='')}/{self.name}"

    @property
    def socket(self) -> str:
        return str(self._server.get_postmaster_info().socket_dir)

    @property
    def pid(self) -> int:
        process: Any = self._server.get_postmaster_info().process
        return int(process.pid)

    @property
    def log(self) -> Path:
        return self._folder / "data" / "log"

    def create(self, name: str) -> None:
        """Create an empty database; from now on it is the shop's."""
        with psycopg.connect(self._conninfo("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        self.name = name

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """The answer of the shop's database to a query of ours."""
        with psycopg.connect(self._conninfo(self.name), autocommit=True) as connection:
            return connection.execute(query.encode()).fetchall()

    def set(self, name: str, value: str) -> None:
        """Change a setting of the running server."""
        with psycopg.connect(self._conninfo("postgres"), autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
            connection.execute("SELECT pg_reload_conf()")

    @contextmanager
    def locked(self, table: str) -> Iterator[Callable[[], bool]]:
        """Keep every process from writing to a table; yields whether one waits for it.

        The waiting transaction goes on at the end of the block, or rolls back if its process has
        been killed.
        """
        waits = f"""
            SELECT 1 FROM pg_locks WHERE relation = '{table}'::regclass AND NOT granted
        """  # noqa: S608
        with psycopg.connect(self._conninfo(self.name)) as connection:
            connection.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE".encode())
            yield lambda: bool(self.rows(waits))

    def stop(self, *, crash: bool = False) -> None:
        """Stop the server: open connections are cut. With `crash` it recovers at the next start."""
        process: Any = self._server.get_postmaster_info().process
        os.kill(process.pid, signal.SIGQUIT if crash else signal.SIGINT)
        deadline = time.monotonic() + 30
        while process.is_running():
            if time.monotonic() > deadline:
                raise SetupError("PostgreSQL no se ha parado en 30 s.")
            time.sleep(0.1)

    def start(self) -> None:
        for left in reversed(range(STARTS)):
            try:
                self._server.ensure_postgres_running()
                return
            except subprocess.TimeoutExpired:
                # The package waits for 10 s, which a busy machine exceeds. PostgreSQL starts on.
                if not left:
                    raise

    def remove(self) -> None:
        self._server.cleanup()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _conninfo(self, name: str) -> str:
        return f"host={self.socket} user=postgres dbname={name} connect_timeout=5"
