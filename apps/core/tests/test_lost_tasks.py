"""Tasks and rows that a killed worker or a wrong clock has left behind."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import transaction
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks.signals import task_started
from django_tasks_db.models import DBTaskResult

from apps.classroom.provisioning import provision
from apps.core import jobs
from apps.core.mail.outbox import deliver_mail, queue_mail
from apps.core.models import Mail
from apps.core.retries import LEASE
from apps.core.workers.lost_tasks import KILLED, MOST_STARTS, TASK_LASTS_AT_MOST
from apps.payments.models import ProviderEvent
from apps.payments.webhooks import process_event
from tests.helpers.commands import run_worker

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
pytestmark = pytest.mark.django_db


def a_mail() -> Mail:
    with transaction.atomic():
        mail = queue_mail(
            key="k",
            template="job_failed",
            to="ana@example.com",
            context={"title": "t", "name": "n"},
        )
    assert mail is not None
    return mail


def kill_its_worker(task: DBTaskResult) -> None:
    """Leave the task as a worker leaves it that is killed in the middle."""
    task.claim("killed")


def test_a_task_whose_worker_was_killed_is_taken_up_again():
    mail = a_mail()
    with time_machine.travel(timezone.now(), tick=False) as clock:
        kill_its_worker(DBTaskResult.objects.get())
        assert jobs.lost_tasks() == ""
        clock.shift(TASK_LASTS_AT_MOST + timedelta(seconds=1))

        assert jobs.lost_tasks() == "Tareas interrumpidas: 1"
        run_worker()

    mail.refresh_from_db()
    assert mail.status == Mail.Status.SENT
    assert set(DBTaskResult.objects.values_list("status", flat=True)) == {"SUCCESSFUL"}


def test_a_task_that_kills_every_worker_is_reported_as_failed():
    deliver_mail.enqueue(mail_id=7)
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for _ in range(MOST_STARTS):
            kill_its_worker(DBTaskResult.objects.get(status=TaskResultStatus.READY))
            clock.shift(TASK_LASTS_AT_MOST + timedelta(seconds=1))
            assert jobs.lost_tasks() == "Tareas interrumpidas: 1"

        task = DBTaskResult.objects.get()
        assert (task.status, task.exception_class_path) == (TaskResultStatus.FAILED, KILLED)
        assert jobs.lost_tasks() == ""


def test_lease_and_task_of_a_process_whose_clock_is_a_minute_ahead_are_respected():
    mail = a_mail()
    task = DBTaskResult.objects.get(status=TaskResultStatus.READY)
    kill_its_worker(task)
    ahead = timezone.now() + timedelta(minutes=1)
    DBTaskResult.objects.update(started_at=ahead)
    Mail.objects.update(leased_until=ahead + LEASE)

    assert jobs.lost_tasks() == ""
    assert Mail.claim(pk=mail.pk) is None


def test_rows_and_tasks_of_a_clock_that_was_a_day_ahead_do_not_wait_for_a_day(smtp_is_down):
    with time_machine.travel(NOON + timedelta(days=1), tick=False) as clock:
        mail = a_mail()
        run_worker()
        kill_its_worker(DBTaskResult.objects.get(status=TaskResultStatus.READY))
        Mail.objects.update(leased_until=timezone.now() + timedelta(minutes=5))

        clock.move_to(NOON)
        smtp_is_down()
        jobs.lost_tasks()
        # First the old task of the mail finds that it is not due. Then the job sees it without one.
        run_worker()
        jobs.send_due_mails()
        run_worker()

    mail.refresh_from_db()
    assert mail.status == Mail.Status.SENT


@pytest.fixture
def smtp_is_down(settings):
    """No mail server answers until the returned function is called."""
    sends = settings.EMAIL_BACKEND
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9

    def end() -> None:
        settings.EMAIL_BACKEND = sends

    return end


def test_one_worker_of_all_queues_takes_access_first_and_mails_last():
    started: list[str] = []

    def note(sender, task_result, **kwargs):
        started.append(task_result.task.name)

    deliver_mail.enqueue(mail_id=1)
    event = ProviderEvent.objects.create(event_id="evt_1", kind="ping", payload={})
    process_event.enqueue(event_row_id=event.pk)
    provision.enqueue(order_id=1)
    task_started.connect(note)
    try:
        run_worker()
    finally:
        task_started.disconnect(note)

    assert started == ["provision", "process_event", "deliver_mail"]
