"""Pausing, resuming and withdrawing access, and the end of a semester."""

from datetime import date, timedelta
from unittest.mock import Mock

import pytest
import time_machine
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from apps.catalogue.models import Lesson
from apps.catalogue.services import refresh_noted_counts
from apps.classroom import provisioning, sync
from apps.classroom.access import Cause, open_without, pause_access, resume_access, withdraw_access
from apps.classroom.accounts import allow_held_account
from apps.classroom.backends.base import ClassroomError, Item, Right, Seen
from apps.classroom.backends.local import LocalClassroom
from apps.classroom.models import (
    AccessChange,
    Account,
    Enrolment,
    Progress,
    Provisioning,
    Semester,
)
from apps.classroom.move_access import _move_enrolments
from apps.classroom.progress import _store
from apps.classroom.provisioning import grant_access, provision, retry_now
from apps.classroom.reads import subjects_of
from apps.classroom.rights import access_end, rights_of
from apps.classroom.sync import sync_classroom
from apps.classroom.tests.moodle_server import moodle_error
from apps.classroom.transfer import transfer_access
from apps.core.models import Mail
from apps.core.retries import RETRY_DELAYS
from apps.students.models import Student
from apps.students.services import block_student, find_or_create_student, unblock_student
from apps.students.signals import student_blocked, student_unblocked
from tests.helpers.factories import make_subject
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db
ORDER, OTHER = 7, 8


@pytest.fixture
def micro(db):
    return make_subject("Microeconomía")


@pytest.fixture
def stats(db):
    return make_subject("Estadística")


@pytest.fixture
def granted(ana, micro, stats):
    """Ana's order of Microeconomía whole and one lesson of Estadística, provided."""
    lesson = stats.lessons.first()
    items = [(micro.pk, None), (stats.pk, lesson.pk)]
    grant_access(student=ana, items=items, order_id=ORDER)
    provision.func(order_id=ORDER)
    return items


@pytest.fixture
def received(monkeypatch):
    """The rights that a recording classroom received."""
    calls = []

    class RecordingClassroom(LocalClassroom):
        def apply_rights(self, student, external_id, rights):
            calls.append((external_id, [(right.item, right.state) for right in rights]))
            return []

    monkeypatch.setattr(sync, "current_classroom", RecordingClassroom)
    return calls


def states(student):
    return {(row.subject.name, row.state) for row in Enrolment.objects.filter(student=student)}


def sync_all():
    for change in AccessChange.objects.order_by("pk"):
        sync_classroom.func(change_id=change.pk)


@pytest.mark.usefixtures("granted")
def test_pause_and_resume_change_every_item_of_the_order(ana):
    pause_access(order_id=ORDER, cause=Cause.OVERDUE)
    assert states(ana) == {("Microeconomía", "paused"), ("Estadística", "paused")}
    assert [studied.paused for studied in subjects_of(ana)] == [True, True]
    resume_access(order_id=ORDER, cause=Cause.OVERDUE)
    assert states(ana) == {("Microeconomía", "open"), ("Estadística", "open")}


@pytest.mark.usefixtures("granted")
def test_access_stays_paused_until_every_cause_is_removed(ana):
    pause_access(order_id=ORDER, cause=Cause.OVERDUE)
    pause_access(order_id=ORDER, cause=Cause.DISPUTE)
    resume_access(order_id=ORDER, cause=Cause.OVERDUE)
    assert states(ana) == {("Microeconomía", "paused"), ("Estadística", "paused")}
    resume_access(order_id=ORDER, cause=Cause.DISPUTE)
    assert {state for _, state in states(ana)} == {"open"}


@pytest.mark.usefixtures("granted")
def test_repeated_pauses_change_nothing_and_queue_one_sync():
    for _ in range(3):
        pause_access(order_id=ORDER, cause=Cause.OVERDUE)
    resume_access(order_id=ORDER, cause=Cause.DISPUTE)
    pause_access(order_id=99, cause=Cause.OVERDUE)
    assert Provisioning.objects.get().paused_for == ["overdue"]
    assert AccessChange.objects.count() == 1


def test_an_item_stays_open_if_another_order_opens_it(ana, micro, granted):
    grant_access(student=ana, items=[(micro.pk, None)], order_id=OTHER)
    provision.func(order_id=OTHER)
    withdraw_access(order_id=ORDER)
    assert states(ana) == {("Microeconomía", "open")}
    pause_access(order_id=OTHER, cause=Cause.DISPUTE)
    assert states(ana) == {("Microeconomía", "paused")}
    withdraw_access(order_id=OTHER)
    assert states(ana) == set()


def test_partial_withdrawal_removes_only_its_items(ana, micro, granted):
    withdraw_access(order_id=ORDER, items=[granted[1]])
    withdraw_access(order_id=ORDER, items=[granted[1]])
    assert states(ana) == {("Microeconomía", "open")}
    assert AccessChange.objects.count() == 1


@pytest.mark.usefixtures("granted")
def test_withdrawal_lowers_the_subject_s_student_count(micro):
    refresh_noted_counts()
    micro.refresh_from_db()
    assert micro.enrolled_students_count == 1
    withdraw_access(order_id=ORDER)
    refresh_noted_counts()
    micro.refresh_from_db()
    assert micro.enrolled_students_count == 0


def test_each_sync_sends_the_rights_as_they_are_at_that_time(ana, micro, stats, granted, received):
    pause_access(order_id=ORDER, cause=Cause.OVERDUE)
    withdraw_access(order_id=ORDER, items=[granted[1]])
    sync_all()
    now = [(Item(micro.pk, None), "paused"), (Item(*granted[1]), "withdrawn")]
    assert received == [(str(ana.pk), now)] * 2
    assert {change.status for change in AccessChange.objects.all()} == {"done"}


@pytest.mark.usefixtures("granted")
def test_a_failed_sync_is_retried(monkeypatch):
    class FailingClassroom(LocalClassroom):
        def apply_rights(self, student, external_id, rights):
            raise ConnectionError("the classroom is away")

    with time_machine.travel(timezone.now(), tick=False) as clock:
        pause_access(order_id=ORDER, cause=Cause.OVERDUE)
        with monkeypatch.context() as patch:
            patch.setattr(sync, "current_classroom", FailingClassroom)
            sync_all()
        change = AccessChange.objects.get()
        assert (change.status, change.last_error) == (
            "pending",
            "ConnectionError: the classroom is away",
        )
        clock.shift(RETRY_DELAYS[0])
        sync_all()
    assert AccessChange.objects.get().status == "done"


def test_access_that_is_paused_before_provisioning_is_provided_as_paused(ana, micro, received):
    grant_access(student=ana, items=[(micro.pk, None)], order_id=ORDER)
    pause_access(order_id=ORDER, cause=Cause.DISPUTE)
    provision.func(order_id=ORDER)
    assert states(ana) == {("Microeconomía", "paused")}
    assert received == [(str(ana.pk), [(Item(micro.pk, None), "paused")])]


@pytest.mark.parametrize(
    ("bought_on", "ends_on"),
    [
        (date(2026, 10, 1), date(2027, 2, 28)),
        (date(2027, 1, 29), date(2027, 2, 28)),
        # Less than 30 days are left: access lasts until the end of the next semester.
        (date(2027, 1, 30), date(2027, 9, 30)),
        (date(2027, 9, 15), date(2028, 2, 29)),
    ],
)
def test_access_ends_with_the_semester(bought_on, ends_on):
    Semester.objects.all().delete()
    assert access_end(bought_on) is None
    Semester.objects.create(name="Primero", last_month=2, last_day=31)
    Semester.objects.create(name="Segundo", last_month=9, last_day=30)
    assert access_end(bought_on) == ends_on


@pytest.fixture
def semester(db):
    """The migration's semesters are gone after a test that empties the database."""
    Semester.objects.get_or_create(name="Primer semestre", last_month=2, last_day=31)


@pytest.mark.usefixtures("semester", "granted")
def test_a_subject_is_not_listed_after_its_last_day(ana):
    last = Provisioning.objects.get().ends_on
    assert last is not None
    assert Enrolment.objects.first().ends_on == last
    noon = timezone.make_aware(timezone.datetime(last.year, last.month, last.day, 12))
    with time_machine.travel(noon, tick=False) as clock:
        assert len(subjects_of(ana)) == 2
        clock.shift(timedelta(hours=13))
        assert subjects_of(ana) == []


def test_the_latest_end_of_several_orders_applies(ana, micro):
    for order_id, ends_on in ((ORDER, date(2027, 2, 28)), (OTHER, date(2027, 9, 30))):
        grant_access(student=ana, items=[(micro.pk, None)], order_id=order_id)
        Provisioning.objects.filter(order_id=order_id).update(ends_on=ends_on)
        provision.func(order_id=order_id)
    assert rights_of(ana) == [Right(Item(micro.pk, None), "open", date(2027, 9, 30))]
    withdraw_access(order_id=OTHER)
    assert Enrolment.objects.get().ends_on == date(2027, 2, 28)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_pauses_and_resumes_leave_a_consistent_state(ana, micro, stats):
    for order_id in (ORDER, OTHER):
        grant_access(student=ana, items=[(micro.pk, None)], order_id=order_id)
        provision.func(order_id=order_id)
    calls = [
        lambda: pause_access(order_id=ORDER, cause=Cause.OVERDUE),
        lambda: pause_access(order_id=OTHER, cause=Cause.OVERDUE),
        lambda: pause_access(order_id=ORDER, cause=Cause.DISPUTE),
        lambda: resume_access(order_id=ORDER, cause=Cause.DISPUTE),
    ]
    assert in_parallel(lambda: calls.pop()(), 4) == [None] * 4
    assert Enrolment.objects.get().state == "paused"
    calls += [
        lambda: resume_access(order_id=ORDER, cause=Cause.OVERDUE),
        lambda: resume_access(order_id=ORDER, cause=Cause.DISPUTE),
        lambda: withdraw_access(order_id=OTHER),
    ]
    assert in_parallel(lambda: calls.pop()(), 3) == [None] * 3
    assert Enrolment.objects.get().state == "open"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_block_waits_for_a_purchase_and_then_pauses_its_access(ana):
    subject = make_subject()

    def block_without_waiting_long():
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '100ms'")
        return block_student(student_id=ana.pk, reason="Comparte su cuenta")

    with transaction.atomic():
        grant_access(student=ana, items=[(subject.pk, None)], order_id=7)
        [early] = in_parallel(block_without_waiting_long, 1)
    assert isinstance(early, OperationalError)
    block_student(student_id=ana.pk, reason="Comparte su cuenta")
    assert Provisioning.objects.get().paused_for == ["blocked"]


@pytest.mark.django_db
def test_access_follows_the_last_decision_whichever_signal_comes_last(ana):
    grant_access(student=ana, items=[(make_subject().pk, None)], order_id=7)
    block_student(student_id=ana.pk, reason="Comparte su cuenta")
    student_unblocked.send(Student, student=ana)
    assert Provisioning.objects.get().paused_for == ["blocked"]

    unblock_student(student_id=ana.pk)
    student_blocked.send(Student, student=ana)
    assert Provisioning.objects.get().paused_for == []


def test_lesson_that_staff_have_moved_is_opened_for_who_buys_it_again(ana, granted, micro, stats):
    """An enrolment is of a lesson, whichever subject it was bought in."""
    lesson = stats.lessons.first()
    Lesson.objects.filter(pk=lesson.pk).update(subject=micro, title="Repaso")
    history = make_subject("Historia")
    items = [(micro.pk, lesson.pk), (history.pk, None)]

    grant_access(student=ana, items=items, order_id=OTHER)
    provision.func(order_id=OTHER)

    assert Provisioning.objects.get(order_id=OTHER).status == "created"
    rows = Enrolment.objects.filter(student=ana).values_list("subject", "lesson", "state")
    assert set(rows) == {
        (micro.pk, None, "open"), (micro.pk, lesson.pk, "open"), (history.pk, None, "open"),
    }  # fmt: skip


def test_moved_lesson_keeps_one_progress_and_one_enrolment_in_a_merge(ana, granted, micro, stats):
    lesson = stats.lessons.first()
    other = find_or_create_student(email="ana.gil@example.com", phone="+34600111112")
    moved = Enrolment.objects.get(student=ana, lesson=lesson)
    Enrolment.objects.create(
        student=other, subject=micro, lesson=lesson, provisioning=moved.provisioning
    )
    for student, subject in ((ana, stats), (other, micro)):
        Progress.objects.create(
            student=student, subject=subject, lesson=lesson, measured_at=timezone.now()
        )
    account = Account.objects.get(student=ana)

    _store(account, {Item(micro.pk, lesson.pk): Seen(1, 2, None)})
    _move_enrolments(other, ana)

    assert Enrolment.objects.get(lesson=lesson).student == ana
    row = Progress.objects.get(lesson=lesson)
    assert (row.student, row.subject, row.done) == (ana, micro, 1)


def buy_hidden(moodle, ana, micro):
    """A course that Moodle hides: the seat is given, and the access fails after a day."""
    course = moodle.add_course("MICRO", f"asignatura-{micro.pk}", visible=False)
    grant_access(student=ana, items=[(micro.pk, None)], order_id=ORDER)
    provision.func(order_id=ORDER)
    return course


def seats(moodle):
    """The address and course of each enrolment in Moodle, with whether it is suspended."""
    return {
        (moodle.users[user]["email"], course): bool(row["suspended"])
        for (user, course), row in moodle.enrolments.items()
    }


def refuse_pause(moodle, monkeypatch):
    """Pause the access while Moodle stores nothing."""
    with monkeypatch.context() as patch:
        error = moodle_error("dmlwriteexception", "Error writing to database")
        patch.setattr(moodle, "enrol_manual_enrol_users", Mock(side_effect=error))
        pause_access(order_id=ORDER, cause=Cause.DISPUTE)
        sync_all()


def test_failed_access_to_a_hidden_course_is_paused_resumed_and_withdrawn(
    moodle, ana, micro, stats
):
    course = buy_hidden(moodle, ana, micro)
    Provisioning.objects.update(status=Provisioning.Status.FAILED)
    # A purchase after it takes nothing away.
    moodle.add_course("STATS", f"asignatura-{stats.pk}")
    grant_access(student=ana, items=[(stats.pk, None)], order_id=OTHER)
    provision.func(order_id=OTHER)
    assert seats(moodle)[ana.email, course] is False
    assert not Enrolment.objects.filter(subject=micro).exists()

    for change, state in ((pause_access, True), (resume_access, False)):
        change(order_id=ORDER, cause=Cause.DISPUTE)
        sync_all()
        assert seats(moodle)[ana.email, course] is state
    withdraw_access(order_id=ORDER)
    sync_all()
    assert (ana.email, course) not in seats(moodle)


def test_access_that_moves_while_it_is_tried_again_leaves_no_seat_behind(moodle, ana, micro):
    course = buy_hidden(moodle, ana, micro)
    right = find_or_create_student(email="ana@correct.example", phone="")
    assert seats(moodle) == {(ana.email, course): False}

    transfer_access(order_id=ORDER, to=right, reason="Correo corregido")
    moodle.courses[course]["visible"] = 1
    provision.func(order_id=ORDER)
    sync_all()

    assert seats(moodle) == {(right.email, course): False}


@pytest.mark.parametrize("error", [None, ClassroomError("No contesta.")])
def test_access_that_moves_while_a_slow_worker_provides_it_is_provided_again(
    monkeypatch, ana, micro, error
):
    """The lease of the worker ends after five minutes."""
    right = find_or_create_student(email="ana@correct.example", phone="")
    grant_access(student=ana, items=[(micro.pk, None)], order_id=ORDER)
    found = provisioning.send_rights

    def slow(*args):
        monkeypatch.setattr(provisioning, "send_rights", found)
        Provisioning.objects.update(leased_until=timezone.now())
        transfer_access(order_id=ORDER, to=right, reason="Correo corregido")
        if error is not None:
            raise error
        return found(*args)

    monkeypatch.setattr(provisioning, "send_rights", slow)
    provision.func(order_id=ORDER)

    row = Provisioning.objects.get()
    assert (row.status, row.problem, row.student) == ("pending", "", right)
    assert not Mail.objects.exists()
    assert AccessChange.objects.filter(student=ana, reason="Cambio durante el alta").exists()
    provision.func(order_id=ORDER)
    assert (states(ana), states(right)) == (set(), {("Microeconomía", "open")})


def test_withdrawal_during_the_attempt_that_fails_reaches_the_classroom(
    moodle, ana, micro, monkeypatch
):
    moodle.add_user(email=ana.email, username="ana", auth="oauth2")
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    grant_access(student=ana, items=[(micro.pk, None)], order_id=ORDER)
    found = provisioning.send_rights

    def slow(*args):
        sent = found(*args)
        withdraw_access(order_id=ORDER)
        return sent

    monkeypatch.setattr(provisioning, "send_rights", slow)
    provision.func(order_id=ORDER)
    assert len(seats(moodle)) == 1
    sync_all()

    assert seats(moodle) == {}


def test_access_of_an_account_that_waits_for_staff_is_paused_without_the_classroom(
    moodle, ana, micro
):
    """Each change would fail, and be mailed to staff, until they have decided."""
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    moodle.administrators.add(moodle.add_user(email=ana.email, username="ana"))
    grant_access(student=ana, items=[(micro.pk, None)], order_id=ORDER)
    provision.func(order_id=ORDER)

    pause_access(order_id=ORDER, cause=Cause.DISPUTE)
    assert not AccessChange.objects.exists()
    assert allow_held_account(student_id=ana.pk)
    provision.func(order_id=ORDER)

    assert list(seats(moodle).values()) == [True]


def test_pause_of_a_failed_access_that_moodle_refuses_is_sent_again(
    moodle, ana, micro, monkeypatch
):
    course = buy_hidden(moodle, ana, micro)
    Provisioning.objects.update(status=Provisioning.Status.FAILED)
    refuse_pause(moodle, monkeypatch)
    AccessChange.objects.update(due_at=timezone.now())
    sync_all()

    assert seats(moodle) == {(ana.email, course): True}
    assert AccessChange.objects.get().status == "done"


def test_pause_that_moodle_refuses_is_sent_again_beside_a_failed_access_to_the_same_course(
    moodle, ana, micro, monkeypatch
):
    course = buy_hidden(moodle, ana, micro)
    grant_access(student=ana, items=[(micro.pk, None)], order_id=OTHER)
    Provisioning.objects.filter(order_id=ORDER).update(status=Provisioning.Status.CREATED)
    Provisioning.objects.filter(order_id=OTHER).update(
        status=Provisioning.Status.FAILED, withdrawn=[[micro.pk, None]]
    )
    refuse_pause(moodle, monkeypatch)
    assert AccessChange.objects.get().status == "pending"
    AccessChange.objects.update(due_at=timezone.now())
    sync_all()

    assert seats(moodle) == {(ana.email, course): True}


def test_pause_is_sent_again_beside_a_waiting_access_whose_same_course_is_refunded(
    moodle, ana, micro, monkeypatch
):
    course = buy_hidden(moodle, ana, micro)
    grant_access(student=ana, items=[(micro.pk, None)], order_id=OTHER)
    Provisioning.objects.filter(order_id=ORDER).update(status=Provisioning.Status.CREATED)
    withdraw_access(order_id=OTHER)
    refuse_pause(moodle, monkeypatch)
    AccessChange.objects.update(due_at=timezone.now())
    sync_all()

    assert seats(moodle) == {(ana.email, course): True}


@pytest.mark.parametrize("change", ["pause", "withdrawal"])
def test_what_came_between_two_attempts_reaches_the_classroom_after_the_last(
    moodle, ana, micro, monkeypatch, change
):
    """Moodle gave the seat at the first attempt, and answers to none of the later ones."""
    course = buy_hidden(moodle, ana, micro)
    if change == "pause":
        pause_access(order_id=ORDER, cause=Cause.DISPUTE)
    else:
        withdraw_access(order_id=ORDER)
    Provisioning.objects.update(attempts=len(RETRY_DELAYS), due_at=timezone.now())
    with monkeypatch.context() as patch:
        patch.setattr(provisioning, "send_rights", Mock(side_effect=ClassroomError("No contesta.")))
        provision.func(order_id=ORDER)
    assert Provisioning.objects.get().status == "failed"
    sync_all()

    assert seats(moodle) == ({(ana.email, course): True} if change == "pause" else {})


def test_access_that_moves_keeps_no_error_of_its_former_student(moodle, ana, micro, stats):
    """With it the access would count as tried, and as a right before it is provided."""
    buy_hidden(moodle, ana, micro)
    right = find_or_create_student(email="ana@correct.example", phone="")
    transfer_access(order_id=ORDER, to=right, reason="Correo corregido")
    assert rights_of(right) == []


def test_purchase_beside_an_access_that_is_tried_again_keeps_its_seat(moodle, ana, micro, stats):
    course = buy_hidden(moodle, ana, micro)
    moodle.add_course("STATS", f"asignatura-{stats.pk}")
    for other, has_failed in enumerate((False, True), start=OTHER):
        if has_failed:
            Provisioning.objects.filter(order_id=ORDER).update(status=Provisioning.Status.FAILED)
            assert retry_now(ORDER)
        grant_access(student=ana, items=[(stats.pk, None)], order_id=other)
        provision.func(order_id=other)
        assert (ana.email, course) in seats(moodle)
    assert not Enrolment.objects.filter(subject=micro).exists()


def test_access_that_is_refunded_before_it_is_provided_is_not_announced(ana, micro):
    grant_access(student=ana, items=[(micro.pk, None)], order_id=ORDER)
    withdraw_access(order_id=ORDER)
    provision.func(order_id=ORDER)

    assert Provisioning.objects.get().status == "created"
    assert not Mail.objects.exists()


def test_access_that_has_failed_keeps_nothing_open_of_another_order(ana, micro, granted):
    """Staff and the student would read that a refund leaves it open."""
    grant_access(student=ana, items=granted, order_id=OTHER)
    Provisioning.objects.filter(order_id=OTHER).update(status=Provisioning.Status.FAILED)
    assert open_without(student=ana, order_id=ORDER) == set()
    Provisioning.objects.update(status=Provisioning.Status.CREATED)
    assert open_without(student=ana, order_id=ORDER) == set(granted)


def test_course_that_could_not_be_opened_keeps_nothing_open_of_another_order(
    moodle, ana, micro, stats
):
    """The other order opened one of its two courses."""
    for subject, visible in ((micro, False), (stats, True)):
        moodle.add_course(f"C{subject.pk}", f"asignatura-{subject.pk}", visible=visible)
    items = [(micro.pk, None), (stats.pk, None)]
    for order_id in (ORDER, OTHER):
        grant_access(student=ana, items=items, order_id=order_id)
        provision.func(order_id=order_id)
    assert Provisioning.objects.get(order_id=OTHER).missing == [[micro.pk, None]]
    assert open_without(student=ana, order_id=ORDER) == {(stats.pk, None)}

    for change in (pause_access, resume_access):
        change(order_id=OTHER, cause=Cause.DISPUTE)
    assert states(ana) == {("Estadística", "open")}
