"""Scheduler processes (`manage.py clock`): two at once, and one that is killed during a job."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from apps.classroom.models import Provisioning
from apps.classroom.provisioning import provision
from apps.core import jobs
from apps.core.models import ScheduledJob
from apps.core.retries import LOST_TASK_AFTER
from apps.students.services import find_or_create_student
from tests.helpers.commands import manage, shoot, somebody_waits_for_a_lock
from tools.stripe_sandbox.testing import wait_until

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
JOB = "provision_due"


@pytest.fixture
def lost():
    """An access whose task is lost. Whoever locks its row holds up the job that looks for it."""
    now = timezone.now()
    for name, job in jobs.all_jobs().items():
        due_at = now if name == JOB else job.next_after(now)
        ScheduledJob.objects.create(name=name, due_at=due_at)
    student = find_or_create_student(email="ana@example.com", phone="+34600111111")
    return Provisioning.objects.create(
        order_id=7, student=student, due_at=now - LOST_TASK_AFTER - timedelta(seconds=1)
    )


def a_clock():
    return manage("clock", "--once")


def tasks() -> int:
    return DBTaskResult.objects.filter(task_path=provision.module_path).count()


def scheduled() -> ScheduledJob:
    return ScheduledJob.objects.get(name=JOB)


def test_each_job_runs_on_one_of_two_clocks(lost):
    with a_clock() as one, a_clock() as other:
        with transaction.atomic():
            Provisioning.objects.select_for_update().get(pk=lost.pk)
            # One runs the job. The other skips it and ends.
            wait_until(lambda: (one.poll(), other.poll()) in ((0, None), (None, 0)), seconds=60)
        said = sorted(clock.communicate(timeout=60)[0].strip() for clock in (one, other))

    assert said == ["Tareas ejecutadas: ninguna.", f"Tareas ejecutadas: {JOB}."]
    assert tasks() == 1
    assert (scheduled().leased_until, scheduled().failures) == (None, 0)


def test_job_of_a_killed_clock_is_taken_over_after_its_lease(lost):
    with a_clock() as clock, transaction.atomic():
        Provisioning.objects.select_for_update().get(pk=lost.pk)
        wait_until(somebody_waits_for_a_lock, seconds=60)
        shoot(clock)
    row = scheduled()
    assert row.leased_until is not None
    assert (row.finished_at, tasks()) == (None, 0)
    # The lease lasts for a minute more, so nobody runs the job.
    assert jobs.run_due_jobs() == []

    ScheduledJob.objects.filter(name=JOB).update(leased_until=timezone.now())
    with a_clock() as clock:
        said = clock.communicate(timeout=60)[0].strip()

    assert said == f"Tareas ejecutadas: {JOB}."
    row = scheduled()
    assert (row.leased_until, row.last_result) == (None, "Altas y cambios recuperados: 1")
    assert tasks() == 1
