"""`manage.py worker` goes on after errors of the database."""

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection

from apps.core.management.commands import worker
from tests.helpers.commands import manage
from tools.stripe_sandbox.testing import wait_until


@pytest.fixture
def no_pause(monkeypatch):
    monkeypatch.setattr(worker, "PAUSE_S", 0)


class FailingDatabase:
    """A database that fails twice. Then no task is due, and the worker is told to end."""

    failures = 2

    def __init__(self):
        self.searches = 0

    def claim_task(self, **options):
        self.searches += 1
        if self.searches <= self.failures:
            raise OperationalError("database is locked")
        raise SystemExit


@pytest.fixture
def database(monkeypatch):
    database = FailingDatabase()
    monkeypatch.setattr(worker, "claim_task", database.claim_task)
    return database


@pytest.mark.usefixtures("no_pause")
def test_worker_tries_again_after_a_database_error(database):
    with pytest.raises(SystemExit):
        call_command("worker", reload=False, startup_delay=False, verbosity=0)

    assert database.searches == 3


@pytest.mark.usefixtures("no_pause")
def test_worker_in_batch_mode_reports_a_database_error(database):
    with pytest.raises(OperationalError):
        call_command("worker", reload=False, startup_delay=False, verbosity=0, batch=True)

    assert database.searches == 1


def connections_of_others(select: str) -> int:
    """Count the connections of other processes to this database; `select` is evaluated for each."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count({select}) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )
        return int(cursor.fetchone()[0])


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_worker_reconnects_after_postgresql_ended_its_connection():
    options = ("--no-startup-delay", "--no-reload", "--interval", "0.1", "--queue-name", "*")
    with manage("worker", *options) as process:
        wait_until(lambda: connections_of_others("pg_terminate_backend(pid)") > 0, seconds=60)

        wait_until(lambda: connections_of_others("*") > 0, seconds=30)

        assert process.poll() is None
