"""The test database as a copy: all migrations take seconds, and a copy of their result does not.

SQLite's result is kept in `var` between runs, under a name made of the migrations; the shop of the
browser tests copies it, too. PostgreSQL's is a template database of one run, for the workers of
pytest-xdist. Neither has sent post_migrate, which writes what the code of today says: Django sends
it for each copy.
"""

import fcntl
import hashlib
import inspect
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import django
from django.apps import AppConfig, apps
from django.contrib.auth import management as auth
from django.contrib.auth.management import create_permissions
from django.contrib.contenttypes.management import create_contenttypes
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.models.signals import post_migrate

from apps.core.models import PublicChange
from tools.dev.processes import ROOT

PREFIX = "migrated-"
# post_migrate would write the same rows again.
SAME_AFTER_FLUSH = ("django_content_type", "auth_permission")
# The handlers of post_migrate that write them, by their `dispatch_uid`.
_THEIR_HANDLERS = {
    create_contenttypes: None,
    create_permissions: f"{auth.__name__}.create_permissions",
}
LARGE_BYTES = 128 * 1024
# A database in memory lives as long as a connection to it.
_kept: list[sqlite3.Connection] = []


def copy_migrated_database(folder: Path) -> None:
    """Let Django copy the test database. `folder` is one for all workers of a run."""
    creation = connection.creation
    create = creation._create_test_db

    def create_copy(verbosity: int, autoclobber: bool, keepdb: bool = False) -> Any:
        if keepdb:
            return create(verbosity, autoclobber, keepdb)
        if connection.vendor == "sqlite":
            name = create(verbosity, autoclobber, keepdb)
            _kept.append(sqlite3.connect(name, uri=True))
            copy_migrated_file(_kept[-1])
            return name
        if "PYTEST_XDIST_WORKER" in os.environ:
            with _locked(folder / "template.lock"):
                connection.settings_dict["TEST"]["TEMPLATE"] = _template(folder)
                return create(verbosity, autoclobber, keepdb)
        return create(verbosity, autoclobber, keepdb)

    creation._create_test_db = create_copy


def restore_rows_of_migrations() -> None:
    """Write the rows that migrations have made again after a test has emptied the database.

    A test with transactions of its own ends with Django's `flush`, which sends post_migrate. The
    tests after it, whichever they are, find the rows that production has.
    """
    post_migrate.connect(_restore_semesters)


def _restore_semesters(app_config: AppConfig, **_: Any) -> None:
    if app_config.label != "classroom" or app_config.get_model("Semester").objects.exists():
        return
    migration = import_module("apps.classroom.migrations.0002_first_semesters")
    migration.create_semesters(apps, None)


def delete_few_rows_instead_of_truncating() -> None:
    """Let the flush after a test with transactions of its own delete the rows that it has left.

    On PostgreSQL TRUNCATE makes new files for a hundred tables and their indexes, which takes
    longer than most tests. Large tables are still truncated, so that no dead rows change a plan.
    """
    if connection.vendor == "postgresql":
        type(connection.ops).sql_flush = _sql_flush
        for handler, uid in _THEIR_HANDLERS.items():
            assert post_migrate.disconnect(None if uid else handler, dispatch_uid=uid)
            post_migrate.connect(partial(_after_migrations, handler), weak=False, dispatch_uid=uid)


def _after_migrations(handler: Callable[..., None], **sent: Any) -> None:
    """Call the handler after migrations only: it would look up the rows that a flush has kept.

    For each app in two statements, which takes four fifths of the time of a flush.
    """
    if "plan" in sent:  # The command `flush` sends the signal without one.
        handler(**sent)


def _sql_flush(self: Any, _style: Any, tables: list[str], **_: Any) -> list[str]:
    with self.connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relname = ANY(%s)"
            " AND relnamespace = 'public'::regnamespace",
            [[table for table in tables if table not in SAME_AFTER_FLUSH]],
        )
        # A table without a file has had no row since it was made or truncated.
        used = {name: size for name, size in cursor.fetchall() if size}
    # Triggers add a row to the last one for each deletion.
    few = sorted(used, key=lambda name: name == PublicChange._meta.db_table)
    large = [name for name in few if used[name] > LARGE_BYTES]
    statements = [f'DELETE FROM "{name}"' for name in few if name not in large]
    if large:
        # First, because nothing can be truncated while foreign keys of deleted rows are unchecked.
        statements.insert(0, f"TRUNCATE {_quoted(large)} CASCADE")
    # Like TRUNCATE: wait for the transactions that a test has left behind.
    return [f"LOCK TABLE {_quoted(tables)} IN ACCESS EXCLUSIVE MODE", *statements]


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def copy_migrated_file(to: sqlite3.Connection) -> None:
    """Fill an empty SQLite database with the tables and rows of all migrations."""
    with closing(sqlite3.connect(_migrated_file())) as migrated:
        migrated.backup(to)


def drop_template(folder: Path) -> None:
    """Drop the template database of a run, if there is one."""
    if (folder / "template.lock").exists():
        with connection._nodb_cursor() as cursor:
            cursor.execute(f'DROP DATABASE IF EXISTS "{_name(folder)}"')


def _migrated_file() -> Path:
    """The SQLite file with all migrations applied, made if they have changed."""
    path = ROOT / "var" / f"{PREFIX}{_key()}.sqlite3"
    path.parent.mkdir(exist_ok=True)
    with _locked(path.parent / "migrated.lock"):
        if not path.exists():
            for old in path.parent.glob(f"{PREFIX}*"):
                old.unlink()
            half = path.with_suffix(".half")
            _migrate(f"file:{half}")
            half.rename(path)
    return path


def _template(folder: Path) -> str:
    """The name of the template database on PostgreSQL, made by the first worker that asks."""
    name = _name(folder)
    with connection._nodb_cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
        if cursor.fetchone():
            return name
        cursor.execute(f'CREATE DATABASE "{name}"')
    _migrate(name)
    return name


def _name(folder: Path) -> str:
    return f"test_template_{folder.name}"


def _migrate(name: str) -> None:
    """Apply all migrations to the database of this name."""
    usual = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = name
    try:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
    finally:
        connection.close()
        connection.settings_dict["NAME"] = usual


def _key() -> str:
    """A name for the present migrations of all apps."""
    migrations = MigrationLoader(None).disk_migrations
    found = hashlib.sha256(django.get_version().encode())
    for name in sorted(migrations):
        found.update(Path(inspect.getfile(type(migrations[name]))).read_bytes())
    return found.hexdigest()[:16]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
