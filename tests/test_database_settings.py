"""The database's connections: time-outs, health checks, and what a PgBouncer allows."""

import re
import sys

import pytest
from django.db import OperationalError, connection, transaction

from academy import database_settings
from apps.catalogue.models import University
from tools.dev.processes import ROOT

POSTGRES = "postgres://shop@127.0.0.1:9/shop"
# Each outlives its transaction: the next transaction may run on another server connection.
SESSION_STATE = re.compile(
    r"pg_(try_)?advisory_(un)?lock\b|\b(UN)?LISTEN\s|\bSET (SESSION|TIME ZONE)\b|"
    r"""["'](SET|set) (?!LOCAL|local)\w+\s*=|CREATE TEMP|WITH HOLD|\bPREPARE\s"""
)


@pytest.fixture
def database(monkeypatch, tmp_path):
    """DATABASES["default"] of PostgreSQL, as a process that was started with `argv` reads it."""

    def read(*argv, pgbouncer=False):
        monkeypatch.setenv("DATABASE_URL", POSTGRES)
        monkeypatch.setattr(sys, "argv", list(argv))
        monkeypatch.setattr(database_settings, "IS_COMMAND", argv[0] == "manage.py")
        monkeypatch.setattr(database_settings, "PGBOUNCER", pgbouncer)
        monkeypatch.setattr(
            database_settings,
            "TIMEOUTS",
            {
                "statement_timeout": 20,
                "lock_timeout": 10,
                "idle_in_transaction_session_timeout": 60,
            },
        )
        return database_settings.database(tmp_path)

    return read


def timeouts(config):
    return re.findall(r"(\w+)_timeout=(\w+)", config["OPTIONS"]["options"])


def test_requests_have_short_time_outs_and_commands_long_ones(database):
    request, worker = database("gunicorn"), database("manage.py", "worker")
    migration = database("manage.py", "migrate")

    assert request["CONN_HEALTH_CHECKS"] is True
    idle = "idle_in_transaction_session"
    assert timeouts(request) == [("statement", "20s"), ("lock", "10s"), (idle, "60s")]
    assert timeouts(worker) == [("statement", "900s"), ("lock", "60s"), (idle, "900s")]
    assert timeouts(migration) == [("statement", "900s"), ("lock", "10s"), (idle, "900s")]


def test_behind_pgbouncer_no_cursor_or_option_outlives_a_transaction(database):
    config = database("gunicorn", pgbouncer=True)

    assert config["DISABLE_SERVER_SIDE_CURSORS"] is True
    assert config["OPTIONS"] == {"connect_timeout": 5}


def test_no_code_depends_on_the_session_of_a_database_connection():
    folders = ("academy", "apps")
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if "tests" not in path.parts
        for match in [SESSION_STATE.search(path.read_text(encoding="utf-8"))]
        if match
    ]
    assert found == []


@pytest.mark.postgres
@pytest.mark.django_db
def test_postgresql_ends_a_statement_that_takes_too_long():
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() != ("0",)
        cursor.execute("SET LOCAL statement_timeout = '50ms'")
        with pytest.raises(OperationalError), transaction.atomic():
            cursor.execute("SELECT pg_sleep(30)")


@pytest.mark.postgres
@pytest.mark.django_db
def test_without_server_side_cursors_rows_are_read_in_one_statement(settings, monkeypatch):
    University.objects.create(name="UNED")
    monkeypatch.setitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", True)
    used = []
    monkeypatch.setattr(connection, "chunked_cursor", lambda: used.append(1) or connection.cursor())

    assert [row.name for row in University.objects.iterator()] == ["UNED"]
    assert used == []
