"""Dumps the database into a file, and loads a dump into an empty database.

PostgreSQL's own tools do it for PostgreSQL. SQLite's backup copies the pages of one moment, also
while others write.
"""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from django.core.management import CommandError
from django.db import connection, connections

# Options of the connection that PostgreSQL's tools take from the environment.
_OF_OPTIONS = {"sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT"}
_OF_SETTINGS = {"HOST": "PGHOST", "PORT": "PGPORT", "USER": "PGUSER", "PASSWORD": "PGPASSWORD"}


def member_name() -> str:
    """The name of the database's file in an archive. It tells the kind of database."""
    return "database.pgdump" if connection.vendor == "postgresql" else "database.sqlite3"


def dump(target: IO[bytes], folder: Path) -> None:
    """Write a consistent dump to `target`. `folder` may hold a temporary file. Raises CommandError.

    The dump of PostgreSQL has the custom format of pg_dump, which is compressed.
    """
    if connection.vendor == "postgresql":
        _run(["pg_dump", "--format=custom", "--no-owner", "--no-privileges"], stdout=target)
        return
    connection.ensure_connection()
    with TemporaryDirectory(dir=folder) as temporary:
        path = Path(temporary, "copy.sqlite3")
        with closing(sqlite3.connect(path)) as copy:
            connection.connection.backup(copy)
        with path.open("rb") as source:
            shutil.copyfileobj(source, target)


def has_tables() -> bool:
    return bool(connection.introspection.table_names())


def empty() -> None:
    """Drop everything in the database."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA public CASCADE")
            cursor.execute("CREATE SCHEMA public")
    # SQLite's copy replaces all pages.


def load(source: IO[bytes], folder: Path) -> None:
    """Load a dump into the empty database, in one transaction. Raises CommandError."""
    if connection.vendor == "postgresql":
        connections.close_all()
        command = ["pg_restore", "--no-owner", "--no-privileges", "--exit-on-error"]
        _run([*command, "--single-transaction", f"--dbname={_name()}"], source=source)
        return
    connection.ensure_connection()
    with TemporaryDirectory(dir=folder) as temporary:
        path = Path(temporary, "copy.sqlite3")
        with path.open("wb") as target:
            shutil.copyfileobj(source, target)
        with closing(sqlite3.connect(path)) as copy:
            copy.backup(connection.connection)


def _name() -> str:
    return str(connection.settings_dict["NAME"])


def _environment() -> Mapping[str, str]:
    """The connection's settings as PostgreSQL's tools read them. No secret is an argument."""
    values: dict[str, Any] = connection.settings_dict
    options = values.get("OPTIONS", {})
    named = {_OF_SETTINGS[name]: values.get(name) for name in _OF_SETTINGS}
    named |= {_OF_OPTIONS[name]: options.get(name) for name in _OF_OPTIONS}
    named["PGDATABASE"] = _name()
    return {**os.environ, **{name: str(value) for name, value in named.items() if value}}


def _run(
    command: list[str], *, source: IO[bytes] | None = None, stdout: IO[bytes] | None = None
) -> None:
    try:
        process = subprocess.Popen(
            command,
            env=_environment(),
            stdin=subprocess.PIPE if source else subprocess.DEVNULL,
            stdout=stdout or subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
    except FileNotFoundError as error:
        raise CommandError(
            f"Falta {command[0]}: instala el cliente de PostgreSQL (postgresql-client)."
        ) from error
    if source is not None and process.stdin is not None:
        try:
            shutil.copyfileobj(source, process.stdin)
        except BrokenPipeError:
            pass  # It has ended, and says why below.
        except BaseException:
            process.kill()
            process.wait()
            raise
    message = process.communicate()[1].decode(errors="replace").strip()
    if process.returncode:
        raise CommandError(f"{command[0]} ha fallado: {message[-800:]}")
