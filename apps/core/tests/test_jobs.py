"""Scheduled jobs: when they are due, which clock runs them, and what is stored about them."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, time, timedelta
from threading import Event, Thread
from threading import enumerate as enumerate_threads
from time import sleep

import pytest
import time_machine
from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError, connection
from django.urls import reverse
from django.utils import timezone

from apps.core import jobs
from apps.core.mail.registry import render_for_staff
from apps.core.management.commands import clock as clock_command
from apps.core.models import Mail, ScheduledJob
from tests.helpers.admin import make_staff
from tests.helpers.migrated_database import copy_migrated_file
from tests.helpers.parallel import in_parallel

NOON = datetime(2026, 11, 21, 11, 0, tzinfo=UTC)


@pytest.fixture
def registered(monkeypatch):
    """An empty job registry for the test."""
    table: dict[str, jobs.Job] = {}
    monkeypatch.setattr(jobs, "_jobs", table)
    return table


def every_five_minutes(function: Callable[[], str], name: str = "count") -> None:
    jobs.job(name, "Contar", when=timedelta(minutes=5))(function)


@pytest.mark.django_db
def test_a_new_job_runs_at_once_and_then_at_its_interval(registered):
    runs: list[datetime] = []
    every_five_minutes(lambda: runs.append(timezone.now()) or "Hecho")
    with time_machine.travel(NOON, tick=False) as clock:
        assert jobs.run_due_jobs() == ["count"]
        clock.shift(timedelta(minutes=4, seconds=59))
        assert jobs.run_due_jobs() == []
        clock.shift(timedelta(seconds=1))
        assert jobs.run_due_jobs() == ["count"]
    assert runs == [NOON, NOON + timedelta(minutes=5)]


@pytest.mark.django_db
def test_a_daily_job_runs_at_its_time_in_madrid(registered):
    runs: list[datetime] = []
    jobs.job("nightly", "Cada noche", when=time(3, 30))(lambda: runs.append(timezone.now()) or "")
    with time_machine.travel(NOON, tick=False) as clock:
        assert jobs.run_due_jobs() == []
        # 03:30 in Madrid is 02:30 UTC in winter.
        clock.move_to(datetime(2026, 11, 22, 2, 29, tzinfo=UTC))
        assert jobs.run_due_jobs() == []
        clock.move_to(datetime(2026, 11, 22, 2, 30, tzinfo=UTC))
        assert jobs.run_due_jobs() == ["nightly"]
        assert jobs.run_due_jobs() == []
        assert ScheduledJob.objects.get().due_at == datetime(2026, 11, 23, 2, 30, tzinfo=UTC)


@pytest.mark.django_db
def test_a_failure_is_stored_mailed_once_a_day_and_stops_no_other_job(registered):
    def fail() -> str:
        raise RuntimeError("sin conexión")

    every_five_minutes(fail, "broken")
    every_five_minutes(lambda: "Hecho", "working")
    with time_machine.travel(NOON, tick=False) as clock:
        assert jobs.run_due_jobs() == ["broken", "working"]
        clock.shift(timedelta(minutes=5))
        jobs.run_due_jobs()
        broken = ScheduledJob.objects.get(name="broken")
        assert (broken.failures, broken.last_error) == (2, "RuntimeError: sin conexión")
        assert jobs.failing_jobs().count() == 1
        mail = Mail.objects.get()
        assert (mail.template, mail.to) == ("job_failed", settings.STAFF_EMAIL)
        assert "Ha fallado una tarea: Contar" in render_for_staff(mail).subject

        registered["broken"] = jobs.Job("broken", "Contar", lambda: "", when=timedelta(minutes=5))
        clock.shift(timedelta(minutes=5))
        jobs.run_due_jobs()
    broken.refresh_from_db()
    assert (broken.failures, broken.last_error) == (0, "")


@pytest.mark.django_db
def test_a_run_without_a_result_keeps_the_last_result(registered):
    results = iter(["Correos recuperados: 2", ""])
    every_five_minutes(lambda: next(results))
    with time_machine.travel(NOON, tick=False) as clock:
        jobs.run_due_jobs()
        clock.shift(timedelta(minutes=5))
        jobs.run_due_jobs()
    assert ScheduledJob.objects.get().last_result == "Correos recuperados: 2"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_clocks_run_a_job_once(registered):
    runs: list[int] = []
    every_five_minutes(lambda: runs.append(1) or "")
    ran = in_parallel(jobs.run_due_jobs, 10)
    assert runs == [1]
    assert sorted(map(len, ran)) == [0] * 9 + [1]


@pytest.mark.django_db(transaction=True)
def test_the_lease_of_a_long_job_is_renewed(registered, monkeypatch):
    monkeypatch.setattr(jobs, "HEARTBEAT_S", 0.05)
    started, finish, runs = Event(), Event(), []

    def long() -> str:
        runs.append(1)
        started.set()
        assert finish.wait(60)
        return "Hecho"

    def run() -> None:
        try:
            jobs.run_due_jobs()
        finally:
            connection.close()

    every_five_minutes(long)
    clock = Thread(target=run)
    clock.start()
    assert started.wait(60)
    first = ScheduledJob.objects.get().leased_until
    while ScheduledJob.objects.get().leased_until == first:
        assert clock.is_alive()
        sleep(0.02)
    with time_machine.travel(first + timedelta(milliseconds=1), tick=False):
        assert jobs.run_due_jobs() == []
    finish.set()
    clock.join(60)
    row = ScheduledJob.objects.get()
    assert (runs, row.leased_until, row.last_result) == ([1], None, "Hecho")


@pytest.mark.django_db(transaction=True)
def test_a_clock_that_lost_its_lease_keeps_the_other_clock_s_lease(registered, monkeypatch):
    monkeypatch.setattr(jobs, "HEARTBEAT_S", 0.05)
    other = timezone.now() + timedelta(hours=1)

    def take_over() -> str:
        ScheduledJob.objects.update(leased_until=other)
        while any(thread.name == "lease-count" for thread in enumerate_threads()):
            sleep(0.02)
        return "Hecho"

    every_five_minutes(take_over)
    jobs.run_due_jobs()
    row = ScheduledJob.objects.get()
    assert (row.leased_until, row.last_result) == (other, "Hecho")


def test_the_clock_survives_a_database_outage(monkeypatch):
    rounds: list[int] = []

    def fail_at_first(*, stop: Callable[[], bool]) -> None:
        rounds.append(1)
        if len(rounds) == 1:
            raise OperationalError("connection refused")
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(clock_command, "run_due_jobs", fail_at_first)
    monkeypatch.setattr(clock_command, "close_old_connections", lambda: None)
    monkeypatch.setattr(clock_command, "PAUSE_S", 0.01)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        call_command("clock")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert len(rounds) == 2


@pytest.mark.django_db
def test_a_job_whose_clock_died_is_taken_over_after_its_lease(registered):
    runs: list[int] = []
    every_five_minutes(lambda: runs.append(1) or "")
    with time_machine.travel(NOON, tick=False) as clock:
        ScheduledJob.objects.create(name="count", due_at=NOON, leased_until=NOON + jobs.LEASE)
        assert jobs.run_due_jobs() == []
        clock.shift(jobs.LEASE)
        assert jobs.run_due_jobs() == ["count"]
    assert runs == [1]


@pytest.mark.django_db
def test_a_stopped_clock_starts_no_further_job(registered):
    runs: list[str] = []
    every_five_minutes(lambda: runs.append("a") or "", "a")
    every_five_minutes(lambda: runs.append("b") or "", "b")
    assert jobs.run_due_jobs(stop=lambda: bool(runs)) == ["a"]


@pytest.mark.django_db
def test_staff_can_list_jobs_and_run_one_now(registered, admin_client):
    every_five_minutes(lambda: "Correos recuperados: 2")
    url = reverse("admin:core_scheduledjob_changelist")
    assert "El reloj no está en marcha" in admin_client.get(url).content.decode()
    jobs.run_due_jobs()
    page = admin_client.get(url).content.decode()
    assert "El reloj no está en marcha" not in page
    assert all(text in page for text in ("Contar", "cada 5 min", "Correos recuperados: 2"))
    row = ScheduledJob.objects.get()
    assert jobs.run_due_jobs() == []
    admin_client.post(url, {"action": "run_now", "_selected_action": [row.pk]})
    assert jobs.run_due_jobs() == ["count"]


@pytest.mark.django_db
def test_running_a_job_needs_the_change_permission(registered, client):
    make_staff("clerk", "view_scheduledjob", client=client)
    every_five_minutes(lambda: "")
    jobs.run_due_jobs()
    before = ScheduledJob.objects.get().due_at
    url = reverse("admin:core_scheduledjob_changelist")
    client.post(url, {"action": "run_now", "_selected_action": [ScheduledJob.objects.get().pk]})
    assert ScheduledJob.objects.get().due_at == before


@pytest.mark.django_db
def test_all_jobs_of_the_shop_run_without_failures():
    assert {"reconcile_payments", "send_due_mails", "provision_due"} <= set(jobs.all_jobs())
    call_command("clock", "--once")
    assert {row.failures for row in ScheduledJob.objects.all()} == {0}


def test_the_clock_exits_with_status_0_on_sigterm(tmp_path):
    env = os.environ | {
        "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}",
        "VAR_DIR": str(tmp_path),
        "DEBUG": "true",
    }
    with closing(sqlite3.connect(tmp_path / "db.sqlite3")) as empty:
        copy_migrated_file(empty)
    clock = subprocess.Popen([sys.executable, "manage.py", "clock"], env=env)
    try:
        jobs_run = "select count(*) from core_scheduledjob where finished_at is not null"
        with sqlite3.connect(tmp_path / "db.sqlite3", timeout=60) as database:
            while not database.execute(jobs_run).fetchone()[0]:
                assert clock.poll() is None
                sleep(0.1)
        clock.send_signal(signal.SIGTERM)
        assert clock.wait(timeout=60) == 0
    finally:
        clock.kill()


@pytest.mark.django_db
def test_a_clock_that_was_a_day_ahead_stops_no_job_for_a_day(registered):
    runs: list[datetime] = []
    every_five_minutes(lambda: runs.append(timezone.now()) or "")
    jobs.job("nightly", "Cada noche", when=time(3, 30))(lambda: runs.append(timezone.now()) or "")
    with time_machine.travel(NOON, tick=False) as clock:
        jobs.run_due_jobs()
        clock.shift(timedelta(days=1))
        assert sorted(jobs.run_due_jobs()) == ["count", "nightly"]
        # The clock died with its lease.
        ScheduledJob.objects.filter(name="count").update(leased_until=timezone.now() + jobs.LEASE)

        clock.shift(timedelta(days=-1, minutes=1))
        assert jobs.run_due_jobs() == []
        clock.shift(timedelta(minutes=5))
        assert jobs.run_due_jobs() == ["count"]
        assert ScheduledJob.objects.get(name="nightly").due_at < NOON + timedelta(days=1)


@pytest.mark.django_db
def test_a_job_whose_clock_was_killed_runs_after_the_others(registered):
    """Otherwise one that takes too long would keep all others from running for ever."""
    ran: list[str] = []
    for name in ("a", "b"):
        every_five_minutes(lambda name=name: ran.append(name) or "", name)
    with time_machine.travel(NOON, tick=False) as clock:
        jobs.run_due_jobs()
        clock.shift(timedelta(hours=2))
        killed = ScheduledJob.objects.filter(name="a")
        killed.update(due_at=NOON, started_at=NOON + timedelta(minutes=5))
        ran.clear()
        jobs.run_due_jobs()
    assert ran == ["b", "a"]
