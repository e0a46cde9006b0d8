"""Workers that meet, or are killed in the middle of an access: one user, one enrolment, one mail.

On PostgreSQL, with real processes and kill -9, against a Moodle that waits where it is told to.
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

from academy.tests.commands import manage, shoot, somebody_waits_for_a_lock
from academy.tests.factories import make_subject
from apps.classroom.jobs import provision_due
from apps.classroom.models import Account, Enrolment, Provisioning
from apps.classroom.services import grant_access, provision
from apps.classroom.tests.moodle_server import TOKEN, FakeMoodle, running_moodle
from apps.core.models import Mail
from apps.core.owed import LEASE
from apps.payments.tests.sandbox_process import wait_until
from apps.students.services import find_or_create_student

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
LOOK, CREATE, COURSE, ENROL = (
    "core_user_get_users_by_field",
    "core_user_create_users",
    "core_course_get_courses_by_field",
    "enrol_manual_enrol_users",
)
ORDER = "pedido-7"


@pytest.fixture
def moodle(settings):
    with running_moodle() as moodle:
        settings.CLASSROOM = "moodle"
        settings.MOODLE_URL, settings.MOODLE_TOKEN = moodle.url, TOKEN
        yield moodle


@pytest.fixture
def ana(db):
    return find_or_create_student(email="ana@example.com", phone="+34600111111", first_name="Ana")


@pytest.fixture
def bought(ana, moodle):
    """Buys a subject for Ana and owes her the access."""

    def buy(reference: str = ORDER) -> None:
        subject = make_subject(f"Asignatura de {reference}")
        moodle.add_course(reference, f"asignatura-{subject.pk}")
        with transaction.atomic():
            grant_access(student=ana, items=[(subject.pk, None)], reference=reference)

    return buy


def a_worker(moodle: FakeMoodle, *options: str):
    return manage(
        "db_worker", "--no-startup-delay", "--no-reload", "--interval", "0.1", *options,
        env={"CLASSROOM": "moodle", "MOODLE_URL": moodle.url, "MOODLE_TOKEN": TOKEN},
    )  # fmt: skip


def stop_at(calls: dict[str, Callable[[], object]], function: str) -> tuple[Event, Event]:
    """Hold the first call of a function there; the events "it is there" and "go on"."""
    there, go_on = Event(), Event()

    def hold() -> None:
        if not there.is_set():
            there.set()
            go_on.wait(30)

    calls[function] = hold
    return there, go_on


def after_the_lease(work: Callable[[], None]) -> None:
    """The dead worker's lease is over: the clock finds what it left, and a new worker does it."""
    Provisioning.objects.filter(leased_until__isnull=False).update(
        leased_until=timezone.now() - timedelta(seconds=1), due_at=timezone.now() - LEASE
    )
    assert provision_due() == "Altas y cambios recuperados: 1"
    work()


def assert_provided_once(moodle: FakeMoodle, *references: str) -> None:
    (user,) = moodle.users.values()
    assert user["email"] == "ana@example.com"
    assert len(moodle.enrolments) == Enrolment.objects.count() == len(references)
    assert Account.objects.get().external_id == str(user["id"])
    rows = Provisioning.objects.order_by("reference")
    assert [(row.reference, row.status, row.leased_until) for row in rows] == [
        (reference, "created", None) for reference in references
    ]
    mails = Mail.objects.filter(template="classroom_access").order_by("key")
    assert [(mail.key, mail.status) for mail in mails] == [
        (f"classroom-access:{reference}:0", "sent") for reference in references
    ]
    assert not DBTaskResult.objects.filter(status=TaskResultStatus.READY).exists()


@pytest.mark.parametrize(
    ("when", "function"),
    [
        ("before", LOOK),
        ("before", CREATE),
        ("after", CREATE),
        ("before", COURSE),
        ("before", ENROL),
        ("after", ENROL),
    ],
)
def test_a_worker_that_is_killed_while_moodle_has_its_call(moodle, bought, work, when, function):
    there, go_on = stop_at(getattr(moodle, when), function)
    bought()
    with a_worker(moodle) as worker:
        assert there.wait(60)
        shoot(worker)
    go_on.set()
    # Still in the dead one's hands, and its task is gone with it.
    assert provision_due() == ""
    assert Provisioning.objects.get().leased_until is not None

    after_the_lease(work)

    assert_provided_once(moodle, ORDER)
    assert [mail.to for mail in django_mail.outbox] == [["ana@example.com"]]


def test_a_worker_that_is_killed_before_it_can_write_the_access_down(moodle, bought, work):
    there, go_on = stop_at(moodle.after, ENROL)
    bought()
    with a_worker(moodle) as worker:
        assert there.wait(60)
        with transaction.atomic():
            # The row is locked when the answer comes: the worker is done, and can't say so.
            Provisioning.objects.select_for_update().get()
            go_on.set()
            wait_until(somebody_waits_for_a_lock, seconds=20)
            shoot(worker)
    assert Provisioning.objects.get().status == "pending"
    assert not Mail.objects.exists()

    after_the_lease(work)

    assert_provided_once(moodle, ORDER)
    assert [mail.to for mail in django_mail.outbox] == [["ana@example.com"]]


def test_two_workers_with_two_orders_of_a_new_student_make_one_user(moodle, bought):
    both_looked = Barrier(2)
    turns = iter(range(2))

    def wait_for_the_other() -> None:
        # Each looks for the mark and for the address before it makes the user.
        if next(turns, None) is not None:
            both_looked.wait(60)

    moodle.before[CREATE] = wait_for_the_other
    bought("pedido-7")
    bought("pedido-8")
    with a_worker(moodle, "--batch") as one, a_worker(moodle, "--batch") as other:
        assert {one.wait(timeout=60), other.wait(timeout=60)} == {0}

    # Both tried; Moodle refused the second a user of the same name.
    assert moodle.calls.count(CREATE) == 2
    assert_provided_once(moodle, "pedido-7", "pedido-8")


def test_two_workers_with_the_same_order_provide_it_once(moodle, bought):
    there, go_on = stop_at(moodle.before, CREATE)
    bought()
    provision.enqueue(reference=ORDER)
    with a_worker(moodle, "--batch") as one, a_worker(moodle, "--batch") as other:
        assert there.wait(60)
        # While one waits for Moodle the other has its own task, and leaves the row alone.
        wait_until(lambda: one.poll() == 0 or other.poll() == 0, seconds=30)
        go_on.set()
        assert {one.wait(timeout=60), other.wait(timeout=60)} == {0}

    assert [moodle.calls.count(name) for name in (CREATE, ENROL)] == [1, 1]
    assert_provided_once(moodle, ORDER)
