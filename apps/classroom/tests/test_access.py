"""What a student may study, after pauses, refunds and semesters."""

from datetime import date, timedelta

import pytest
import time_machine
from django.utils import timezone

from academy.tests.factories import make_subject
from academy.tests.parallel import in_parallel
from apps.classroom import access
from apps.classroom.access import (
    Cause,
    access_end,
    pause_access,
    resume_access,
    rights_of,
    tell_classroom,
    withdraw_access,
)
from apps.classroom.backends.base import Item, Right
from apps.classroom.backends.local import LocalClassroom
from apps.classroom.models import AccessChange, Enrolment, Provisioning, Semester
from apps.classroom.reads import subjects_of
from apps.classroom.services import grant_access, provision
from apps.core.owed import PAUSES
from apps.students.services import find_or_create_student

pytestmark = pytest.mark.django_db
ORDER, OTHER = "pedido-7", "pedido-8"


@pytest.fixture
def ana(db):
    return find_or_create_student(email="ana@example.com", phone="+34600111111")


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
    grant_access(student=ana, items=items, reference=ORDER)
    provision.func(reference=ORDER)
    return items


@pytest.fixture
def told(monkeypatch):
    """A classroom that writes down what it is told."""
    heard = []

    class ListeningClassroom(LocalClassroom):
        def apply_rights(self, external_id, rights):
            heard.append((external_id, [(right.item, right.state) for right in rights]))

    monkeypatch.setattr(access, "current_classroom", ListeningClassroom)
    return heard


def states(student):
    return {(row.subject.name, row.state) for row in Enrolment.objects.filter(student=student)}


def tell_all():
    for change in AccessChange.objects.order_by("pk"):
        tell_classroom.func(change_id=change.pk)


@pytest.mark.usefixtures("granted")
def test_a_pause_rests_everything_of_the_order_and_its_end_opens_it(ana):
    pause_access(reference=ORDER, cause=Cause.OVERDUE)
    assert states(ana) == {("Microeconomía", "paused"), ("Estadística", "paused")}
    assert [studied.paused for studied in subjects_of(ana)] == [True, True]
    resume_access(reference=ORDER, cause=Cause.OVERDUE)
    assert states(ana) == {("Microeconomía", "open"), ("Estadística", "open")}


@pytest.mark.usefixtures("granted")
def test_it_stays_paused_while_another_cause_holds(ana):
    pause_access(reference=ORDER, cause=Cause.OVERDUE)
    pause_access(reference=ORDER, cause=Cause.DISPUTE)
    resume_access(reference=ORDER, cause=Cause.OVERDUE)
    assert states(ana) == {("Microeconomía", "paused"), ("Estadística", "paused")}
    resume_access(reference=ORDER, cause=Cause.DISPUTE)
    assert {state for _, state in states(ana)} == {"open"}


@pytest.mark.usefixtures("granted")
def test_what_is_repeated_changes_and_tells_nothing():
    for _ in range(3):
        pause_access(reference=ORDER, cause=Cause.OVERDUE)
    resume_access(reference=ORDER, cause=Cause.DISPUTE)
    pause_access(reference="pedido-99", cause=Cause.OVERDUE)
    assert Provisioning.objects.get().paused_for == ["overdue"]
    assert AccessChange.objects.count() == 1


def test_what_another_order_opens_stays_open(ana, micro, granted):
    grant_access(student=ana, items=[(micro.pk, None)], reference=OTHER)
    provision.func(reference=OTHER)
    withdraw_access(reference=ORDER)
    assert states(ana) == {("Microeconomía", "open")}
    pause_access(reference=OTHER, cause=Cause.DISPUTE)
    assert states(ana) == {("Microeconomía", "paused")}
    withdraw_access(reference=OTHER)
    assert states(ana) == set()


def test_a_refund_in_part_takes_back_its_items_alone(ana, micro, granted):
    withdraw_access(reference=ORDER, items=[granted[1]])
    withdraw_access(reference=ORDER, items=[granted[1]])
    assert states(ana) == {("Microeconomía", "open")}
    assert AccessChange.objects.count() == 1


@pytest.mark.usefixtures("granted")
def test_a_student_who_has_left_is_not_counted_any_more(micro):
    micro.refresh_from_db()
    assert micro.enrolled_students_count == 1
    withdraw_access(reference=ORDER)
    micro.refresh_from_db()
    assert micro.enrolled_students_count == 0


def test_the_classroom_is_told_what_holds_when_it_is_told(ana, micro, stats, granted, told):
    pause_access(reference=ORDER, cause=Cause.OVERDUE)
    withdraw_access(reference=ORDER, items=[granted[1]])
    tell_all()
    now = [(Item(micro.pk, None), "paused"), (Item(*granted[1]), "gone")]
    assert told == [(str(ana.pk), now)] * 2
    assert {change.status for change in AccessChange.objects.all()} == {"done"}


@pytest.mark.usefixtures("granted")
def test_a_classroom_that_is_away_is_told_later(monkeypatch):
    class AwayClassroom(LocalClassroom):
        def apply_rights(self, external_id, rights):
            raise ConnectionError("the classroom is away")

    with time_machine.travel(timezone.now(), tick=False) as clock:
        pause_access(reference=ORDER, cause=Cause.OVERDUE)
        with monkeypatch.context() as patch:
            patch.setattr(access, "current_classroom", AwayClassroom)
            tell_all()
        change = AccessChange.objects.get()
        assert (change.status, change.last_error) == (
            "pending",
            "ConnectionError: the classroom is away",
        )
        clock.shift(PAUSES[0])
        tell_all()
    assert AccessChange.objects.get().status == "done"


def test_what_is_paused_before_it_was_provided_is_provided_paused(ana, micro, told):
    grant_access(student=ana, items=[(micro.pk, None)], reference=ORDER)
    pause_access(reference=ORDER, cause=Cause.DISPUTE)
    provision.func(reference=ORDER)
    assert states(ana) == {("Microeconomía", "paused")}
    assert told == [(str(ana.pk), [(Item(micro.pk, None), "paused")])]


@pytest.mark.parametrize(
    ("bought_on", "ends_on"),
    [
        (date(2026, 10, 1), date(2027, 2, 28)),
        (date(2027, 1, 29), date(2027, 2, 28)),
        # Less than 30 days are sold to nobody: the next semester's end counts.
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


@pytest.mark.usefixtures("granted")
def test_on_the_day_after_its_end_a_subject_is_listed_no_more(ana):
    last = Provisioning.objects.get().ends_on
    assert last is not None
    assert Enrolment.objects.first().ends_on == last
    noon = timezone.make_aware(timezone.datetime(last.year, last.month, last.day, 12))
    with time_machine.travel(noon, tick=False) as clock:
        assert len(subjects_of(ana)) == 2
        clock.shift(timedelta(hours=13))
        assert subjects_of(ana) == []


def test_the_latest_end_of_several_orders_counts(ana, micro):
    for reference, ends_on in ((ORDER, date(2027, 2, 28)), (OTHER, date(2027, 9, 30))):
        grant_access(student=ana, items=[(micro.pk, None)], reference=reference)
        Provisioning.objects.filter(reference=reference).update(ends_on=ends_on)
        provision.func(reference=reference)
    assert rights_of(ana) == [Right(Item(micro.pk, None), "open", date(2027, 9, 30))]
    withdraw_access(reference=OTHER)
    assert Enrolment.objects.get().ends_on == date(2027, 2, 28)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_pauses_and_ends_of_pauses_at_once_leave_what_the_rows_say(ana, micro, stats):
    for reference in (ORDER, OTHER):
        grant_access(student=ana, items=[(micro.pk, None)], reference=reference)
        provision.func(reference=reference)
    todo = [
        lambda: pause_access(reference=ORDER, cause=Cause.OVERDUE),
        lambda: pause_access(reference=OTHER, cause=Cause.OVERDUE),
        lambda: pause_access(reference=ORDER, cause=Cause.DISPUTE),
        lambda: resume_access(reference=ORDER, cause=Cause.DISPUTE),
    ]
    assert in_parallel(lambda: todo.pop()(), 4) == [None] * 4
    assert Enrolment.objects.get().state == "paused"
    todo += [
        lambda: resume_access(reference=ORDER, cause=Cause.OVERDUE),
        lambda: resume_access(reference=ORDER, cause=Cause.DISPUTE),
        lambda: withdraw_access(reference=OTHER),
    ]
    assert in_parallel(lambda: todo.pop()(), 3) == [None] * 3
    assert Enrolment.objects.get().state == "open"
