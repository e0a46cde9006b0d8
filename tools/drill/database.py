"""A PostgreSQL server of the drill, which writes through to the disk and can be restarted."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from tools.dev.postgres import NewServer
from tools.dev.processes import SetupError

_SETTINGS = "max_connections = 200\n"


class Database:
    """The server, with one database at a time for the shop."""

    def __init__(self) -> None:
        self._server = NewServer(settings=_SETTINGS)
        self._server.start()
        self.name = "postgres"

    @property
    def url(self) -> str:
        return self._server.url(self.name)

    @property
    def socket(self) -> str:
        return self._server.socket

    @property
    def pid(self) -> int:
        return self._server.get_postmaster_info().pid

    def create(self, name: str) -> None:
        """Create an empty database; from now on it is the shop's."""
        with psycopg.connect(self._conninfo("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        self.name = name

    @contextmanager
    def beside(self, name: str) -> Iterator[str]:
        """Another empty database on the server, for as long as the block lasts; yields its URL."""
        with psycopg.connect(self._conninfo("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
            try:
                yield self._server.url(name)
            finally:
                connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """The answer of the shop's database to a query of ours."""
        with psycopg.connect(self._conninfo(self.name), autocommit=True) as connection:
            return connection.execute(query.encode()).fetchall()

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
        self._server.ensure_postgres_running()

    def remove(self) -> None:
        self._server.remove()

    def _conninfo(self, name: str) -> str:
        return f"host={self.socket} user=postgres dbname={name} connect_timeout=5"
