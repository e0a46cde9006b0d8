"""`manage.py worker` goes on after errors of the database."""

import signal
from threading import Barrier

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection, transaction
from django_tasks_db.models import DBTaskResult

from apps.core.mail.outbox import deliver_mail
from apps.core.management.commands import worker
from apps.core.workers.claim import claim_task
from tests.helpers.commands import manage, run_worker
from tests.helpers.parallel import in_parallel
from tools.stripe_sandbox.testing import wait_until


@pytest.mark.django_db
def test_worker_that_a_test_calls_leaves_the_signals_to_pytest():
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
    before = [signal.getsignal(number) for number in signals]

    run_worker()

    assert [signal.getsignal(number) for number in signals] == before


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

        wait_until(lambda: connections_of_others("*") > 0, seconds=60)

        assert process.poll() is None


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_parallel_claims_take_different_tasks_without_waiting():
    workers = 4
    for number in range(workers):
        deliver_mail.enqueue(mail_id=number)
    all_claimed = Barrier(workers)

    def claim():
        with transaction.atomic():
            task = claim_task(worker_id="w", backend_name="default", queues=None)
            all_claimed.wait(timeout=60)
        return task.pk

    assert len(set(in_parallel(claim, times=workers))) == workers
    assert not DBTaskResult.objects.ready().exists()
