"""Concurrent and killed workers create one user, one enrolment and one mail.

These tests run on PostgreSQL with real worker processes and SIGKILL. The fake Moodle blocks at the
call under test.
"""

from collections.abc import Callable
from datetime import timedelta
from threading import Barrier, Event

import pytest
from django.core import mail as django_mail
from django.db import transaction
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from apps.classroom.jobs import provision_due
from apps.classroom.models import Account, Enrolment, Provisioning
from apps.classroom.provisioning import grant_access, provision
from apps.classroom.tests.moodle_server import TOKEN, FakeMoodle
from apps.core.models import Mail
from apps.core.retries import LEASE
from tests.helpers.commands import manage, shoot, somebody_waits_for_a_lock
from tests.helpers.factories import make_subject
from tools.stripe_sandbox.testing import wait_until

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
GET_USERS, CREATE, COURSE, ENROL = (
    "core_user_get_users_by_field",
    "core_user_create_users",
    "core_course_get_courses_by_field",
    "enrol_manual_enrol_users",
)
ORDER = 7


@pytest.fixture
def buy_access(ana, moodle):
    """A function that grants Ana access to a new subject."""

    def buy(order_id: int = ORDER) -> None:
        subject = make_subject(f"Asignatura de {order_id}")
        moodle.add_course(order_id, f"asignatura-{subject.pk}")
        with transaction.atomic():
            grant_access(student=ana, items=[(subject.pk, None)], order_id=order_id)

    return buy


def start_worker(moodle: FakeMoodle, *options: str):
    return manage(
        "worker", "--no-startup-delay", "--no-reload", "--interval", "0.1", "--queue-name", "*",
        *options,
        env={"CLASSROOM": "moodle", "MOODLE_URL": moodle.url, "MOODLE_TOKEN": TOKEN},
    )  # fmt: skip


def block_at(calls: dict[str, Callable[[], object]], function: str) -> tuple[Event, Event]:
    """Block the first call of a function; return the events "reached" and "resume"."""
    reached, resume = Event(), Event()

    def hold() -> None:
        if not reached.is_set():
            reached.set()
            resume.wait(30)

    calls[function] = hold
    return reached, resume


def recover_after_lease(work: Callable[[], None]) -> None:
    """Expire the dead worker's lease, run the clock's job, and let another worker finish."""
    Provisioning.objects.filter(leased_until__isnull=False).update(
        leased_until=timezone.now() - timedelta(seconds=1), due_at=timezone.now() - LEASE
    )
    assert provision_due() == "Altas y cambios recuperados: 1"
    work()


def assert_provided_once(moodle: FakeMoodle, *order_ids: int) -> None:
    (user,) = moodle.users.values()
    assert user["email"] == "ana@example.com"
    assert len(moodle.enrolments) == Enrolment.objects.count() == len(order_ids)
    assert Account.objects.get().external_id == str(user["id"])
    rows = Provisioning.objects.order_by("order_id")
    assert [(row.order_id, row.status, row.leased_until) for row in rows] == [
        (order_id, "created", None) for order_id in order_ids
    ]
    mails = Mail.objects.filter(template="classroom_access").order_by("key")
    assert [(mail.key, mail.status) for mail in mails] == [
        (f"classroom-access:{order_id}:0", "sent") for order_id in order_ids
    ]
    assert not DBTaskResult.objects.filter(status=TaskResultStatus.READY).exists()


@pytest.mark.parametrize(
    ("when", "function"),
    [
        ("before", GET_USERS),
        ("before", CREATE),
        ("after", CREATE),
        ("before", COURSE),
        ("before", ENROL),
        ("after", ENROL),
    ],
)
def test_a_worker_killed_during_a_moodle_call_is_recovered(
    moodle, buy_access, work, when, function
):
    reached, resume = block_at(getattr(moodle, when), function)
    buy_access()
    with start_worker(moodle) as worker:
        assert reached.wait(60)
        shoot(worker)
    resume.set()
    # The dead worker still holds the lease, and its task is lost.
    assert provision_due() == ""
    assert Provisioning.objects.get().leased_until is not None

    recover_after_lease(work)

    assert_provided_once(moodle, ORDER)
    assert [mail.to for mail in django_mail.outbox] == [["ana@example.com"]]


def test_a_worker_killed_before_it_stores_the_access_is_recovered(moodle, buy_access, work):
    reached, resume = block_at(moodle.after, ENROL)
    buy_access()
    with start_worker(moodle) as worker:
        assert reached.wait(60)
        with transaction.atomic():
            # The row is locked when Moodle answers, so the worker can't store the result.
            Provisioning.objects.select_for_update().get()
            resume.set()
            wait_until(somebody_waits_for_a_lock, seconds=60)
            shoot(worker)
    assert Provisioning.objects.get().status == "pending"
    assert not Mail.objects.exists()

    recover_after_lease(work)

    assert_provided_once(moodle, ORDER)
    assert [mail.to for mail in django_mail.outbox] == [["ana@example.com"]]


def test_two_workers_with_two_orders_of_a_new_student_create_one_user(moodle, buy_access):
    both_searched = Barrier(2)
    first_two_calls = iter(range(2))

    def wait_for_the_other() -> None:
        # Both workers have searched for the user when one of them creates it.
        if next(first_two_calls, None) is not None:
            both_searched.wait(60)

    moodle.before[CREATE] = wait_for_the_other
    buy_access(7)
    buy_access(8)
    with start_worker(moodle, "--batch") as one, start_worker(moodle, "--batch") as other:
        assert {one.wait(timeout=60), other.wait(timeout=60)} == {0}

    # Moodle refused the second attempt, because the username was taken.
    assert moodle.calls.count(CREATE) == 2
    assert_provided_once(moodle, 7, 8)


def test_two_workers_with_the_same_order_provide_it_once(moodle, buy_access):
    reached, resume = block_at(moodle.before, CREATE)
    buy_access()
    provision.enqueue(order_id=ORDER)
    with start_worker(moodle, "--batch") as one, start_worker(moodle, "--batch") as other:
        assert reached.wait(60)
        # While one worker waits for Moodle, the other skips the leased row.
        wait_until(lambda: one.poll() == 0 or other.poll() == 0, seconds=60)
        resume.set()
        assert {one.wait(timeout=60), other.wait(timeout=60)} == {0}

    assert [moodle.calls.count(name) for name in (CREATE, ENROL)] == [1, 1]
    assert_provided_once(moodle, ORDER)
