"""Sending rights again after Moodle was restored from a backup of its own."""

import copy

import pytest
from django.test import Client
from django_tasks_db.models import DBTaskResult

from apps.classroom import send_again
from apps.classroom.access import withdraw_access
from apps.classroom.models import AccessChange, Account, MoodleCourse, MoodleEnrolment, Provisioning
from apps.classroom.provisioning import grant_access, provision
from apps.classroom.send_again import send_batch_again
from apps.classroom.sync import sync_classroom
from apps.classroom.tests.moodle_server import STUDENT, TEACHER
from apps.core.dates import today
from apps.core.models import Mail, StaffAction
from apps.students.services import find_or_create_student
from tests.helpers.admin import make_staff
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db
ALL_PAGE = "/admin/classroom/moodlecourse/enviar/"


@pytest.fixture
def micro(moodle):
    """A subject and its course in Moodle."""
    return with_course(moodle, "Microeconomía")


def with_course(moodle, name):
    subject = make_subject(name)
    return subject, moodle.add_course(name, f"asignatura-{subject.pk}")


def buy(name, *subjects, order_id):
    student = find_or_create_student(email=f"{name}@example.com", phone="+34600111111")
    items = [(subject.pk, None) for subject in subjects]
    grant_access(student=student, items=items, order_id=order_id)
    provision.func(order_id=order_id)
    return student


def restore(moodle, backup):
    moodle.users, moodle.enrolments, moodle.roles = copy.deepcopy(backup)


def backup_of(moodle):
    return copy.deepcopy((moodle.users, moodle.enrolments, moodle.roles))


def client_with(*codenames):
    staff = make_staff("carla", *codenames)
    client = Client()
    client.force_login(staff)
    return client


def work_off():
    """Do what is in the queue, in the order in which a worker takes it; the names of the tasks."""
    done = []
    while row := DBTaskResult.objects.ready().first():
        DBTaskResult.objects.filter(pk=row.pk).delete()
        done.append(row.task_path.rpartition(".")[2])
        for task in (sync_classroom, send_batch_again):
            if row.task_path == task.module_path:
                task.func(**row.args_kwargs["kwargs"])
    return done


def press(client, page=ALL_PAGE):
    answer = client.post(page, follow=True)
    assert answer.status_code == 200
    [message] = [str(message) for message in answer.context["messages"]][-1:]
    return message


def user_of(student):
    return int(Account.objects.get(student=student).external_id)


def test_all_students_are_sent_again_in_batches_and_without_mail(moodle, micro, monkeypatch):
    monkeypatch.setattr(send_again, "BATCH", 2)
    subject, course = micro
    students = [buy(f"n{number}", subject, order_id=number) for number in range(1, 6)]
    work_off()
    before = backup_of(moodle)
    mails = Mail.objects.count()
    moodle.enrolments.clear()
    moodle.roles.clear()
    client = client_with("send_all_access", "view_moodlecourse")

    assert "Alumnos: 5." in client.get(ALL_PAGE).text
    assert not AccessChange.objects.exists()
    assert press(client).endswith("poco a poco: 5.")
    done = work_off()

    assert backup_of(moodle) == before
    assert {course for _, course in moodle.enrolments} == {course}
    assert Mail.objects.count() == mails
    # The next batch begins after the changes of the one before.
    assert done.index("sync_classroom") < len(done) - 1 - done[::-1].index("send_batch_again")
    assert done.count("sync_classroom") == len(students)
    assert StaffAction.objects.filter(text__contains="poco a poco: 5.").exists()


def test_a_second_click_sends_nothing_twice(moodle, micro):
    buy("ana", micro[0], order_id=1)
    buy("eva", micro[0], order_id=2)
    work_off()
    client = client_with("send_all_access", "view_moodlecourse")
    moodle.calls.clear()
    press(client)
    assert press(client) == "Ya se están enviando otra vez."
    assert work_off().count("sync_classroom") == 2
    assert moodle.calls.count("enrol_manual_enrol_users") == 2


def test_a_change_that_a_worker_holds_does_not_replace_the_new_one(moodle, micro):
    ana = buy("ana", micro[0], order_id=1)
    assert send_again.send_again([ana]) == 1
    assert send_again.send_again([ana]) == 0
    AccessChange.claim(pk=AccessChange.objects.get().pk)
    assert send_again.send_again([ana]) == 1


def test_only_the_students_of_a_course_are_sent_again(moodle, micro):
    subject, course = micro
    other, _ = with_course(moodle, "Estadística")
    ana = buy("ana", subject, other, order_id=1)
    eva = buy("eva", other, order_id=2)
    work_off()
    moodle.enrolments.clear()
    moodle.roles.clear()
    row = MoodleCourse.objects.get(subject=subject)
    page = f"/admin/classroom/moodlecourse/{row.pk}/enviar/"
    client = client_with("send_course_access", "view_moodlecourse")

    assert "Alumnos: 1." in client.get(page).text
    press(client, page)
    work_off()

    assert set(moodle.enrolments) == {(user_of(ana), course)}
    assert client.post(ALL_PAGE).status_code == 403
    assert not AccessChange.objects.filter(student=eva).exists()


def test_button_of_a_student_sends_what_is_open_or_paused_and_nothing_else(moodle, micro):
    subject, course = micro
    ended, _ = with_course(moodle, "Estadística")
    refunded, _ = with_course(moodle, "Derecho")
    ana = buy("ana", ended, order_id=1)
    Provisioning.objects.update(ends_on=today().replace(year=today().year - 1, day=1))
    buy("ana", refunded, order_id=2)
    withdraw_access(order_id=2)
    buy("ana", subject, order_id=3)
    work_off()
    moodle.enrolments.clear()
    moodle.roles.clear()
    client = client_with("send_student_access", "view_student")
    button = f"/admin/classroom/account/alumno/{ana.pk}/accesos/"

    assert button in client.get(f"/admin/students/student/{ana.pk}/change/").text
    assert client.get(button)["Location"] == f"/admin/students/student/{ana.pk}/change/"
    assert press(client, button).startswith("Su acceso se envía otra vez")
    assert press(client, button) == "Su acceso ya está en cola para enviarse a Moodle."
    work_off()

    assert set(moodle.enrolments) == {(user_of(ana), course)}
    bea = find_or_create_student(email="bea@example.com", phone="+34600111111")
    assert "no tiene ahora acceso" in press(client, button.replace(str(ana.pk), str(bea.pk)))


def test_enrolments_that_the_shop_did_not_make_stay_untouched(moodle, micro):
    subject, course = micro
    other, other_course = with_course(moodle, "Estadística")
    teacher = moodle.add_user(username="ana", email="ana@example.com", password="x")
    moodle.enrol(teacher, course, STUDENT, timeend=4_000_000_000)
    ana = buy("ana", subject, other, order_id=1)
    stranger = moodle.add_user(username="luis", email="luis@example.com", password="x")
    moodle.enrol(stranger, course)
    work_off()
    # After the restore somebody has made the student a teacher of the other course by hand.
    del moodle.enrolments[teacher, other_course]
    moodle.roles.discard((teacher, other_course, STUDENT))
    moodle.enrol(teacher, other_course, TEACHER, timeend=4_000_000_000)
    before = backup_of(moodle)

    assert send_again.send_again([ana]) == 1
    work_off()

    assert backup_of(moodle) == before
    assert AccessChange.objects.get().status == "done"


def test_a_user_id_that_moodle_hands_out_again_takes_access_from_nobody(moodle, micro):
    subject, course = micro
    backup, last = backup_of(moodle), moodle._last_user
    ana = buy("ana", subject, order_id=1)
    work_off()
    first = user_of(ana)
    restore(moodle, backup)
    moodle._last_user = last
    eva = buy("eva", subject, order_id=2)
    assert user_of(eva) == first

    send_again.send_again([ana])
    work_off()

    assert set(moodle.enrolments) == {(user_of(eva), course), (user_of(ana), course)}
    assert user_of(ana) != first
    assert not MoodleEnrolment.objects.filter(student=ana, external_id=str(first)).exists()
    withdraw_access(order_id=2)
    work_off()
    assert set(moodle.enrolments) == {(user_of(ana), course)}


def test_a_refund_reaches_a_user_whose_id_another_student_had_before(moodle, micro):
    subject, _ = micro
    backup, last = backup_of(moodle), moodle._last_user
    buy("ana", subject, order_id=1)
    restore(moodle, backup)
    moodle._last_user = last
    buy("eva", subject, order_id=2)
    withdraw_access(order_id=2)
    work_off()
    assert moodle.enrolments == {}


def test_another_classroom_refuses_the_pages(db, settings, ana):
    settings.CLASSROOM = "local"
    pages = ("view_moodlecourse", "view_student")
    client = client_with("send_all_access", "send_student_access", *pages)
    assert "no es un Moodle" in press(client)
    button = f"/admin/classroom/account/alumno/{ana.pk}/accesos/"
    assert "no es un Moodle" in press(client, button)
    assert not AccessChange.objects.exists()
