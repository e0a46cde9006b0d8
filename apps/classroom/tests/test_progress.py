"""A student's progress, as the classroom reports it: fetched, stored, and switched off."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.utils import timezone

from apps.classroom import progress as progress_module
from apps.classroom.backends.moodle.check import needed_capabilities
from apps.classroom.backends.moodle.client import MoodleError, needed_functions
from apps.classroom.jobs import classroom_progress
from apps.classroom.models import Account, Enrolment, Progress, Provisioning
from apps.classroom.privacy import PROGRESS_RETENTION
from apps.classroom.progress import fetch_progress, progress_of, proof_of_use
from apps.classroom.provisioning import grant_access, provision
from apps.core.models import SiteSettings
from apps.core.privacy import erase_all, purge_all
from apps.students.services import find_or_create_student
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db
VISIT = datetime(2026, 11, 12, 9, 30, tzinfo=UTC)


@pytest.fixture
def switched_on(db):
    SiteSettings.current()
    SiteSettings.objects.update(classroom_progress=True)


@pytest.fixture
def micro(db):
    return make_subject("Microeconomía")


def buy(student, *items, order_id=7):
    grant_access(student=student, items=items, order_id=order_id)
    provision.func(order_id=order_id)


def user_of(student):
    return int(Account.objects.get(student=student).external_id)


def figures():
    rows = Progress.objects.order_by("pk")
    return [(row.subject_id, row.lesson_id, row.done, row.total) for row in rows]


def test_activities_and_last_visit_come_from_the_course_of_each_item(
    moodle, ana, micro, switched_on
):
    lesson = make_subject("Estadística").lessons.first()
    whole = moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    part = moodle.add_course("EST", f"leccion-{lesson.pk}")
    buy(ana, (micro.pk, None), (lesson.subject_id, lesson.pk))
    user = user_of(ana)
    for done_by in ((user,), (user,), (), (user + 1,)):
        moodle.add_activity(whole, *done_by)
    moodle.add_activity(whole, user, tracking=0)
    moodle.last_access[user, whole] = int(VISIT.timestamp())

    assert classroom_progress() == "Alumnos consultados: 1"

    assert sorted(figures()) == sorted(
        [(micro.pk, None, 2, 4), (lesson.subject_id, lesson.pk, 0, 0)]
    )
    of_subject, of_lesson = sorted(progress_of(ana), key=lambda row: row.lesson_id or 0)
    assert of_subject.summary == "2 de 4 actividades hechas, última visita el 12/11/2026"
    assert of_lesson.summary == "todavía sin visitas"
    moodle.add_activity(whole, user)
    assert fetch_progress() == 1
    assert (micro.pk, None, 3, 5) in figures()
    assert part not in moodle.activities


def test_proof_of_use_names_only_what_the_order_opened(moodle, ana, micro, switched_on):
    other = make_subject("Estadística")
    for subject in (micro, other):
        moodle.add_course(subject.name, f"asignatura-{subject.pk}")
    buy(ana, (micro.pk, None))
    buy(ana, (other.pk, None), order_id=8)
    fetch_progress()
    [sentence] = proof_of_use(Provisioning.objects.get(order_id=7))
    assert sentence == "Microeconomía: todavía sin visitas."


def test_progress_that_is_switched_off_is_neither_fetched_nor_shown(
    moodle, ana, micro, switched_on
):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    buy(ana, (micro.pk, None))
    fetch_progress()
    function = "core_completion_get_activities_completion_status"
    assert function in needed_functions()
    assert "report/progress:view" in needed_capabilities()
    assert progress_of(ana).count() == 1

    settings = SiteSettings.current()
    settings.classroom_progress = False
    settings.save()
    moodle.calls.clear()

    assert classroom_progress() == ""
    assert moodle.calls == []
    assert not progress_of(ana).exists()
    assert function not in needed_functions()
    assert "report/progress:view" not in needed_capabilities()


@pytest.mark.parametrize("ended", ["last day over", "paused", "erased"])
def test_students_without_open_access_are_not_asked_about(moodle, ana, micro, switched_on, ended):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    buy(ana, (micro.pk, None))
    if ended == "last day over":
        Enrolment.objects.update(ends_on=timezone.localdate() - timedelta(days=1))
    elif ended == "paused":
        Enrolment.objects.update(state=Enrolment.State.PAUSED)
    else:
        fetch_progress()
        erase_all(ana.email)
    assert fetch_progress() == 0
    assert not Progress.objects.exists()


def test_a_refused_student_does_not_hold_up_the_next(moodle, ana, micro, switched_on, monkeypatch):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    eva = find_or_create_student(email="eva@example.com", phone="+34600111112", first_name="Eva")
    buy(ana, (micro.pk, None))
    buy(eva, (micro.pk, None), order_id=8)
    moodle.sees_progress = False
    with pytest.raises(MoodleError) as refusal:
        fetch_progress()
    assert "«Comprobar Moodle» dice cuál" in str(refusal.value)
    moodle.sees_progress = True
    monkeypatch.setattr(progress_module, "MOST_STUDENTS", 1)
    assert fetch_progress() == 1
    assert [row.student for row in Progress.objects.all()] == [eva]


def test_a_deleted_user_and_a_deleted_course_leave_what_was_known(moodle, ana, micro, switched_on):
    course = moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    buy(ana, (micro.pk, None))
    moodle.add_activity(course, user_of(ana))
    fetch_progress()
    moodle.delete_user(user_of(ana))
    assert fetch_progress() == 1
    moodle.delete_course(course)
    assert fetch_progress() == 1
    assert figures() == [(micro.pk, None, 1, 1)]


def test_an_answer_about_an_account_that_was_erased_meanwhile_is_not_stored(
    moodle, ana, micro, switched_on
):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    buy(ana, (micro.pk, None))
    account = Account.objects.get()
    seen = progress_module.current_classroom().progress(account.external_id, [])
    assert seen == {}
    item = progress_module.Item(micro.pk, None)
    erase_all(ana.email)
    progress_module._store(account, {item: progress_module.Seen(1, 2, None)})
    assert not Progress.objects.exists()


def test_progress_is_deleted_a_year_after_it_was_last_fetched(moodle, ana, micro, switched_on):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    buy(ana, (micro.pk, None))
    fetch_progress()
    with time_machine.travel(timezone.now() + PROGRESS_RETENTION - timedelta(minutes=1)):
        purge_all()
        assert Progress.objects.exists()
    with time_machine.travel(timezone.now() + PROGRESS_RETENTION + timedelta(minutes=1)):
        purge_all()
        assert not Progress.objects.exists()
