"""What the shop expects of a Moodle, at the imitation and, with `make test-moodle`, at a real one.

Each test looks at the result as an administrator of that Moodle sees it, and by signing in there.
"""

from datetime import timedelta
from itertools import count

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from apps.classroom.access import Cause, pause_access, resume_access, withdraw_access
from apps.classroom.access_links import account_to_confirm, confirm_url, make_token
from apps.classroom.accounts import (
    NotOurs,
    allow_held_account,
    send_link_for_staff,
    send_new_link,
)
from apps.classroom.backends.moodle import client
from apps.classroom.jobs import classroom_progress
from apps.classroom.models import (
    STUCK_CHANGE,
    AccessChange,
    Account,
    MoodleCourse,
    MoodleEnrolment,
    Provisioning,
    Semester,
)
from apps.classroom.progress import progress_of
from apps.classroom.provisioning import (
    account_status,
    grant_access,
    provision,
    retry_now,
)
from apps.classroom.send_again import send_again
from apps.classroom.sync import queue_sync, sync_classroom
from apps.classroom.transfer import transfer_access
from apps.core.mail.registry import render_mail
from apps.core.models import Mail, SiteSettings
from apps.students.models import Student
from apps.students.services import change_email, find_or_create_student
from tests.contract.moodle_sites import PASSWORD, STUDENT, TEACHER
from tests.helpers.factories import make_subject

pytestmark = [pytest.mark.django_db, pytest.mark.moodle_site]
NEW_PASSWORD = "Estudiar-de-noche-7"
LONG_AGO = timedelta(days=400)
NUMBERS = count(990_001)


def new_subject(name):
    """A subject that no course of a real Moodle names by its ID number."""
    return make_subject(name, id=next(NUMBERS))


def buyer(email, first_name="Ana"):
    return find_or_create_student(email=email, phone="+34600111111", first_name=first_name)


@pytest.fixture
def micro(site):
    """A subject with its course in Moodle: (subject, course id)."""
    return with_course(site, "Microeconomía")


def with_course(site, name):
    subject, course = new_subject(name), site.add_course(name)
    map_course(subject, course)
    return subject, course["id"]


def map_course(subject, course):
    MoodleCourse.objects.create(
        subject=subject,
        shortname=course["shortname"],
        course_id=course["id"],
        full_name=course["fullname"],
    )


def buy(student, *subjects, order_id=7):
    items = [(subject.pk, None) for subject in subjects]
    grant_access(student=student, items=items, order_id=order_id)
    provision.func(order_id=order_id)
    return Provisioning.objects.get(order_id=order_id)


def again(order_id=7):
    assert retry_now(order_id)
    provision.func(order_id=order_id)
    return Provisioning.objects.get(order_id=order_id)


def sync_all():
    for change in AccessChange.objects.filter(status="pending").order_by("pk"):
        sync_classroom.func(change_id=change.pk)


def user_id_of(student):
    return int(Account.objects.get(student=student).external_id)


def access_mail(order_id=7):
    row = Provisioning.objects.get(order_id=order_id)
    return render_mail("classroom_access", {"provisioning_id": row.pk}, reveal=True).text


def set_password(student, password=NEW_PASSWORD):
    link = f"/aula/acceso?enlace={make_token(Account.objects.get(student=student))}"
    names = {"first_name": "Ana", "last_name": "Gil"}
    return Client().post(link, {**names, "password": password, "password_again": password})


# ------------------------------------------------------------------- a purchase, and its end


def test_a_new_student_gets_a_user_with_a_hidden_address_and_signs_in(site, micro):
    subject, course = micro
    ana = buyer(site.address("ana"))
    assert buy(ana, subject).status == "created"
    user = site.user(user_id_of(ana))
    assert (user["username"], user["email"]) == (ana.email, ana.email)
    assert user["idnumber"] == Student.objects.get().classroom_key
    # The imitation has the stored value. A real Moodle has no function that shows it.
    assert user.get("maildisplay", 0) == 0
    assert site.access(user["id"], course) == (True, {STUDENT})
    assert f"Tu usuario es {ana.email}." in access_mail()
    assert set_password(ana).status_code == 302
    assert site.signs_in(ana.email, NEW_PASSWORD)


def test_pause_resume_withdrawal_and_a_second_order(site, micro):
    subject, course = micro
    other, second = with_course(site, "Estadística")
    ana = buyer(site.address("ana"))
    buy(ana, subject)
    user = user_id_of(ana)
    buy(ana, other, order_id=8)
    assert user_id_of(ana) == user
    pause_access(order_id=7, cause=Cause.OVERDUE)
    sync_all()
    assert site.access(user, course) == (False, {STUDENT})
    assert site.access(user, second)[0]
    resume_access(order_id=7, cause=Cause.OVERDUE)
    sync_all()
    assert site.access(user, course)[0]
    withdraw_access(order_id=7)
    sync_all()
    assert site.access(user, course) == (False, set())
    assert site.access(user, second)[0]
    assert {change.status for change in AccessChange.objects.all()} == {"done"}


def test_a_name_with_the_characters_of_a_tag_and_an_address_that_is_no_user_name(site, micro):
    ana = buyer(site.address("ana+uned"), first_name="Ana <3")
    buy(ana, micro[0])
    user = site.user(user_id_of(ana))
    assert (user["firstname"], user["email"]) == ("Ana 3", ana.email)
    assert user["username"].startswith("alumno-")
    assert f"Tu usuario es {user['username']}." in access_mail()
    assert set_password(ana).status_code == 302
    assert site.signs_in(user["username"], NEW_PASSWORD)
    # The second mail names the user name that works.
    assert f"Entra con tu usuario, {user['username']}," in access_mail()


def test_an_address_that_is_too_long_for_moodle_waits_for_staff(site, micro):
    long = buyer(site.address("a" * 60 + ".b" * 20))
    long.email = "a" * 64 + "@" + "b" * 50 + ".example"
    long.save()
    row = buy(long, micro[0])
    assert (row.status, account_status(7)) == ("failed", "pending")
    assert "Moodle admite correos de hasta 100 caracteres" in row.last_error


def test_a_taken_user_name_gives_the_next_free_one(site, micro):
    ana = buyer(site.address("ana"))
    site.add_user(site.address("otra"), username=ana.email)
    assert buy(ana, micro[0]).status == "created"
    user = site.user(user_id_of(ana))
    assert user["username"].startswith("alumno-")
    assert user["email"] == ana.email


def test_moodle_s_password_policy_is_told_before_and_after_a_refusal(site, micro):
    ana = buyer(site.address("ana"))
    buy(ana, micro[0])
    link = f"/aula/acceso?enlace={make_token(Account.objects.get())}"
    assert "algún símbolo" in Client().get(link).content.decode()
    refused = set_password(ana, "EstudiarDeNoche7")
    assert (refused.status_code, "El aula no acepta" in refused.content.decode()) == (200, True)
    assert set_password(ana).status_code == 302


# ------------------------------------------------------------------------- one course at a time


def test_of_two_courses_the_one_that_exists_is_given_and_the_other_is_named(site, micro):
    subject, course = micro
    other = new_subject("Estadística")
    ana = buyer(site.address("ana"))
    row = buy(ana, subject, other)
    assert (row.status, row.problem) == ("pending", "course")
    assert row.last_error == "Falta el curso de Moodle de «Estadística»."
    assert site.access(user_id_of(ana), course)[0]
    text = access_mail()
    assert "- Microeconomía" in text.partition("Todavía")[0]
    assert "- Estadística" in text.partition("Todavía")[2]
    created = site.add_course("Estadística")
    map_course(other, created)
    assert again().status == "created"
    assert site.access(user_id_of(ana), created["id"])[0]
    assert "Todavía" not in access_mail()
    assert Mail.objects.filter(template="classroom_access").count() == 2


def test_a_refund_of_a_part_that_was_given_reaches_moodle(site, micro):
    subject, course = micro
    ana = buyer(site.address("ana"))
    buy(ana, subject, new_subject("Estadística"))
    withdraw_access(order_id=7, items=[(subject.pk, None)])
    sync_all()
    assert site.access(user_id_of(ana), course) == (False, set())


def test_a_deleted_course_blocks_neither_a_new_purchase_nor_a_refund(site, micro):
    subject, course = micro
    old, gone = with_course(site, "Historia")
    ana = buyer(site.address("ana"))
    buy(ana, old)
    site.delete_course(gone)
    assert buy(ana, subject, order_id=8).status == "created"
    withdraw_access(order_id=8)
    withdraw_access(order_id=7)
    sync_all()
    assert site.access(user_id_of(ana), course) == (False, set())
    assert {change.status for change in AccessChange.objects.all()} == {"done"}


def test_a_course_that_was_made_again_is_looked_up_by_its_short_name(site, micro):
    subject, gone = micro
    row = MoodleCourse.objects.get()
    site.delete_course(gone)
    made_again = site.add_course("Microeconomía")
    assert made_again["shortname"] == row.shortname
    ana = buyer(site.address("ana"))
    assert buy(ana, subject).status == "created"
    assert site.access(user_id_of(ana), made_again["id"])[0]
    row.refresh_from_db()
    assert row.course_id == made_again["id"]


@pytest.mark.parametrize("is_named_by_staff", [False, True])
def test_enrolments_of_a_course_restored_as_a_new_one_stay_the_shop_s(
    site, micro, is_named_by_staff, admin_client
):
    subject, gone = micro
    ana, eva = buyer(site.address("ana")), buyer(site.address("eva"), "Eva")
    buy(ana, subject)
    buy(eva, subject, order_id=8)
    site.delete_course(gone)
    restored = site.add_course("Restaurada" if is_named_by_staff else "Microeconomía")
    for student in (ana, eva):
        site.enrol(user_id_of(student), restored["id"], suspend=1)
    row = MoodleCourse.objects.get()
    if is_named_by_staff:
        answer = admin_client.post(
            f"/admin/classroom/moodlecourse/{row.pk}/change/",
            {"subject": subject.pk, "lesson": "", "shortname": restored["shortname"]},
        )
        assert answer.status_code == 302
    # A refund is the first that the shop sends.
    withdraw_access(order_id=7)
    sync_all()
    assert site.access(user_id_of(ana), restored["id"]) == (False, set())
    send_again([eva], [row.pk])
    sync_all()
    assert site.access(user_id_of(eva), restored["id"]) == (True, {STUDENT})
    assert {change.last_error for change in AccessChange.objects.all()} == {""}
    assert set(MoodleEnrolment.objects.values_list("course_id", flat=True)) == {restored["id"]}


def test_a_course_that_is_gone_is_named_with_what_to_do(site, micro):
    subject, gone = micro
    site.delete_course(gone)
    row = buy(buyer(site.address("ana")), subject)
    assert row.last_error.startswith("«Microeconomía»: El curso ya no existe en Moodle:")


def test_a_hidden_course_is_announced_once_it_is_shown(site, micro):
    """The student is enrolled at once, and cannot enter before staff show the course."""
    subject, course = micro
    site.hide_course(course)
    ana = buyer(site.address("ana"))
    row = buy(ana, subject)
    assert site.access(user_id_of(ana), course) == (False, {STUDENT})
    assert row.status == "pending"
    assert row.last_error.startswith("El curso de «Microeconomía» está oculto en Moodle")
    assert not Mail.objects.filter(template="classroom_access").exists()

    site.hide_course(course, visible=1)
    assert again().status == "created"
    assert site.access(user_id_of(ana), course) == (True, {STUDENT})
    assert Mail.objects.filter(template="classroom_access").count() == 1


def test_a_course_that_is_hidden_later_keeps_no_other_purchase_waiting(site, micro):
    subject, course = micro
    other, _ = with_course(site, "Estadística")
    ana = buyer(site.address("ana"))
    buy(ana, subject)
    site.hide_course(course)
    assert buy(ana, other, order_id=8).status == "created"


def test_only_changes_are_sent_and_nothing_that_has_ended(site, micro, monkeypatch):
    subject, course = micro
    other, _ = with_course(site, "Estadística")
    ana = buyer(site.address("ana"))
    buy(ana, subject)
    site.enrol(user_id_of(ana), course, suspend=1)
    ended = Provisioning.objects.get()
    ended.ends_on = timezone.localdate() - LONG_AGO
    ended.save()
    MoodleEnrolment.objects.update(ends_on=ended.ends_on)
    buy(ana, other, order_id=8)
    # The suspended enrolment of the ended order was not sent again, nor withdrawn.
    assert site.access(user_id_of(ana), course) == (False, {STUDENT})
    buy(ana, other, order_id=9)
    sent = []
    post = client.requests.post
    monkeypatch.setattr(
        client.requests,
        "post",
        lambda *args, **kwargs: sent.append(kwargs["data"]["wsfunction"]) or post(*args, **kwargs),
    )
    buy(ana, other, order_id=10)
    assert not [function for function in sent if "enrol_manual" in function]


def test_an_enrolment_that_somebody_else_made_stays(site, micro):
    subject, course = micro
    user = site.add_user(site.address("ana"))
    site.enrol(user, course)
    ana = buyer(site.address("ana"))
    assert buy(ana, subject).status == "created"
    withdraw_access(order_id=7)
    sync_all()
    assert site.access(user, course) == (True, {STUDENT})
    assert not MoodleEnrolment.objects.exists()


def test_what_moodle_lost_in_a_restore_is_sent_again(site, micro):
    subject, course = micro
    other, second = with_course(site, "Estadística")
    ana, eva = buyer(site.address("ana")), buyer(site.address("eva"), "Eva")
    teacher = site.add_user(site.address("teacher"))
    site.enrol(teacher, course, TEACHER)
    buy(ana, subject, other)
    buy(eva, subject, order_id=8)
    lost = user_id_of(eva)
    mails = Mail.objects.count()
    site.unenrol(user_id_of(ana), course)
    site.delete_user(lost)
    # Somebody has helped by hand, with another role.
    site.unenrol(user_id_of(ana), second)
    site.enrol(user_id_of(ana), second, TEACHER)

    assert send_again([ana, eva]) == 2
    sync_all()

    assert {row.last_error for row in AccessChange.objects.all()} == {""}
    assert site.access(user_id_of(ana), course) == (True, {STUDENT})
    assert site.access(user_id_of(ana), second) == (True, {TEACHER})
    assert user_id_of(eva) != lost
    assert site.access(user_id_of(eva), course) == (True, {STUDENT})
    assert site.access(teacher, course) == (True, {TEACHER})
    assert Mail.objects.count() == mails


def test_an_enrolment_of_somebody_else_that_lets_nobody_in_is_told_to_staff(site, micro):
    subject, course = micro
    user = site.add_user(site.address("ana"))
    site.enrol(user, course, suspend=1)
    row = buy(buyer(site.address("ana")), subject)
    assert row.status == "pending"
    assert "un rol que no le dio la tienda" in row.last_error
    assert site.access(user, course) == (False, {STUDENT})


def test_a_withdrawal_that_would_take_a_teacher_s_role_waits_for_staff(site, micro):
    subject, course = micro
    ana = buyer(site.address("ana"))
    buy(ana, subject)
    site.enrol(user_id_of(ana), course, TEACHER)
    withdraw_access(order_id=7)
    sync_all()
    assert site.access(user_id_of(ana), course)[1] >= {TEACHER}
    change = AccessChange.objects.get()
    assert "otro rol en el curso" in change.last_error
    AccessChange.objects.update(attempts=3)
    assert AccessChange.objects.filter(STUCK_CHANGE).exists()


@pytest.fixture
def two_semesters(settings):
    """The ends of two semesters whose groups Moodle has to keep."""
    # Moodle answers with an entity for the "&".
    settings.MOODLE_GROUP = "{semester} & {year}"
    Semester.objects.all().delete()
    today = timezone.localdate()
    days = [(today + timedelta(days=days)).replace(day=28) for days in (60, 180)]
    for name, day in zip(("Primero", "Segundo"), days, strict=True):
        Semester.objects.create(name=name, last_month=day.month, last_day=day.day)
    return days


def test_students_are_in_the_group_of_the_semester_with_which_their_access_ends(
    site, micro, two_semesters
):
    subject, course = micro
    first, second = two_semesters
    ana, eva = buyer(site.address("ana")), buyer(site.address("eva"), "Eva")
    buy(ana, subject)
    buy(eva, subject, order_id=8)
    assert site.groups(user_id_of(ana), course) == {f"Primero & {first.year}"}
    assert site.groups(user_id_of(eva), course) == {f"Primero & {first.year}"}
    longer = buy(ana, subject, order_id=9)
    longer.ends_on = second
    longer.save()
    queue_again(ana)
    assert site.groups(user_id_of(ana), course) == {f"Segundo & {second.year}"}
    withdraw_access(order_id=9)
    sync_all()
    assert site.groups(user_id_of(ana), course) == {f"Primero & {first.year}"}
    withdraw_access(order_id=7)
    sync_all()
    assert (site.groups(user_id_of(ana), course), site.access(user_id_of(ana), course)) == (
        set(),
        (False, set()),
    )
    assert {change.last_error for change in AccessChange.objects.all()} == {""}


def test_an_enrolment_of_somebody_else_stays_out_of_the_group(site, micro, two_semesters):
    subject, course = micro
    user = site.add_user(site.address("ana"))
    site.enrol(user, course)
    assert buy(buyer(site.address("ana")), subject).status == "created"
    assert site.groups(user, course) == set()


def queue_again(student):
    with transaction.atomic():
        queue_sync(student, order_id=7, reason="Prueba")
    sync_all()


# ----------------------------------------------------------------------------- the account


def test_a_user_who_was_deleted_in_moodle_is_made_again_and_gets_a_link(site, micro):
    subject, course = micro
    ana = buyer(site.address("ana"))
    buy(ana, subject)
    set_password(ana)
    first = user_id_of(ana)
    site.delete_user(first)
    other, second = with_course(site, "Estadística")
    assert buy(ana, other, order_id=8).status == "created"
    assert user_id_of(ana) != first
    assert site.access(user_id_of(ana), course)[0]
    assert site.access(user_id_of(ana), second)[0]
    assert "/aula/acceso?enlace=" in access_mail(8)
    assert set_password(ana).status_code == 302
    assert site.signs_in(ana.email, NEW_PASSWORD)


def test_an_address_is_found_whatever_its_capitals(site, micro):
    subject, course = micro
    address = site.address("Eva_2").replace("a", "A", 1)
    site.add_user(site.address("evax2"))
    user = site.add_user(address)
    eva = buyer(address)
    assert buy(eva, subject).status == "created"
    assert user_id_of(eva) == user
    assert site.access(user, course)[0]


@pytest.mark.parametrize(
    ("state", "mended"),
    [
        ({"suspended": 1}, {"suspended": 0}),
        ({"auth": "nologin"}, {"auth": "manual"}),
        ({"auth": "oauth2"}, {"auth": "manual"}),
    ],
)
def test_who_cannot_sign_in_is_told_to_staff_and_not_promised(site, micro, state, mended):
    user = site.add_user(site.address("ana"))
    site.change_user(user, **state)
    row = buy(buyer(site.address("ana")), micro[0])
    assert (row.status, account_status(7)) == ("failed", "pending")
    assert "vuelve a intentarlo" in row.last_error
    assert not Mail.objects.exists()
    site.change_user(user, **mended)
    assert again().status == "created"
    assert Mail.objects.get().template == "classroom_access"


def test_failed_access_is_paused_resumed_and_withdrawn_in_moodle(site, micro):
    """Moodle has the enrolment of an account that signs in elsewhere, who may sign in there."""
    subject, course = micro
    user = site.add_user(site.address("ana"))
    site.change_user(user, auth="oauth2")
    assert buy(buyer(site.address("ana")), subject).status == "failed"
    assert site.access(user, course)[0]
    pause_access(order_id=7, cause=Cause.DISPUTE)
    sync_all()
    assert not site.access(user, course)[0]
    resume_access(order_id=7, cause=Cause.DISPUTE)
    sync_all()
    assert site.access(user, course)[0]
    withdraw_access(order_id=7)
    sync_all()
    assert site.access(user, course) == (False, set())


def test_refund_of_access_to_a_hidden_course_takes_the_enrolment_away(site, micro):
    subject, course = micro
    site.hide_course(course)
    ana = buyer(site.address("ana"))
    assert buy(ana, subject).status == "pending"
    withdraw_access(order_id=7)
    again()
    site.hide_course(course, visible=1)
    assert site.access(user_id_of(ana), course) == (False, set())


def test_access_that_moves_after_its_refund_leaves_no_seat_in_moodle(site, micro):
    subject, course = micro
    site.hide_course(course)
    ana, bea = buyer(site.address("ana")), buyer(site.address("bea"), first_name="Bea")
    buy(ana, subject)
    withdraw_access(order_id=7)
    transfer_access(order_id=7, to=bea, reason="Correo corregido")
    sync_all()
    site.hide_course(course, visible=1)
    assert site.access(user_id_of(ana), course) == (False, set())


def test_a_restored_database_gives_nobody_the_account_of_another(site, micro):
    subject, _ = micro
    first = buyer(site.address("ana"))
    buy(first, subject)
    user, number = user_id_of(first), first.pk
    # The shop is restored from a backup of before: the next buyer gets the same number.
    subject.enrolments.all().delete()
    for model in (MoodleEnrolment, Mail, Provisioning, Account):
        model.objects.all().delete()
    Student.objects.all().delete()
    second = Student.objects.create(pk=number, email=site.address("bruno"), phone="")
    buy(second, subject)
    assert user_id_of(second) != user
    # The first buyer comes again. The account has the key of a row that is lost.
    third = buyer(site.address("ana"))
    buy(third, subject, order_id=8)
    assert user_id_of(third) == user
    assert not Account.objects.get(student=third).takes_links


def test_an_address_that_is_taken_in_moodle_is_named(site, micro):
    ana = buyer(site.address("ana"))
    buy(ana, micro[0])
    site.add_user(site.address("taken"))
    change_address(ana, site.address("taken"))
    change = AccessChange.objects.get()
    assert "Otro usuario de Moodle ya tiene ese correo" in change.last_error
    assert site.user(user_id_of(ana))["email"] == site.address("ana")


def test_the_shop_s_own_account_follows_a_new_address(site, micro):
    ana = buyer(site.address("ana"))
    buy(ana, micro[0])
    change_address(ana, site.address("nueva"))
    user = site.user(user_id_of(ana))
    assert (user["username"], user["email"]) == (ana.email, ana.email)


def test_an_account_whose_owner_changed_its_address_in_moodle_keeps_it(site, micro):
    ana = buyer(site.address("ana"))
    buy(ana, micro[0])
    site.change_user(user_id_of(ana), email=site.address("suya"))
    change_address(ana, site.address("nueva"))
    user = site.user(user_id_of(ana))
    assert user["email"] == site.address("suya")
    assert "ya existía" in set_password(ana).content.decode()


def test_an_account_whose_key_was_changed_in_moodle_keeps_its_address(site, micro):
    ana = buyer(site.address("ana"))
    buy(ana, micro[0])
    user = user_id_of(ana)
    site.change_user(user, idnumber="otra")
    change_address(ana, site.address("nueva"))
    assert site.user(user)["email"] == site.address("ana")
    assert user_id_of(ana) != user


def change_address(student, email):
    change_email(student_id=student.pk, email=email)
    student.refresh_from_db()
    sync_all()


# ------------------------------------------------------------- accounts that others have made


def test_an_account_that_existed_gets_the_enrolment_and_nothing_else(site, micro):
    subject, course = micro
    user = site.add_user(site.address("ana"))
    before = site.user(user)
    ana = buyer(site.address("ana"))
    assert buy(ana, subject).status == "created"
    assert site.access(user, course) == (True, {STUDENT})
    text = access_mail()
    assert f"Ya tenías cuenta en el aula. Entra con tu usuario, {before['username']}," in text
    assert "enlace=" not in text
    refused = set_password(ana)
    assert "Esta cuenta del aula ya existía" in refused.content.decode()
    changed = {"lastaccess", "lastcourseaccess", "firstaccess", "enrolledcourses"}
    after = site.user(user)
    same = before.keys() - changed
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    assert site.signs_in(before["username"], PASSWORD)


def test_its_owner_confirms_it_from_the_mailbox_that_moodle_has(site, micro):
    user = site.add_user(site.address("ana"))
    ana = buyer(site.address("ana"))
    buy(ana, micro[0])
    Mail.objects.all().delete()
    send_new_link(email=ana.email)
    mail = Mail.objects.get()
    assert (mail.template, mail.to) == ("classroom_confirm", site.address("ana"))
    link = confirm_url(Account.objects.get()).partition("://")[2].partition("/")[2]
    assert "Es mi cuenta" in Client().get(f"/{link}").content.decode()
    assert not Account.objects.get().takes_links, "a mail scanner confirms nothing"
    assert "Cuenta confirmada" in Client().post(f"/{link}").content.decode()
    assert Client().post(f"/{link}").status_code == 410
    assert Mail.objects.filter(template="classroom_link").exists()
    assert set_password(ana).status_code == 302
    assert site.signs_in(site.user(user)["username"], NEW_PASSWORD)
    # The account has the shop's key by now. Its address stays the owner's business even so, and
    # the confirmation does not count for another address, which gets no link.
    change_address(ana, site.address("nueva"))
    assert site.user(user)["email"] == site.address("ana")
    Mail.objects.all().delete()
    send_new_link(email=ana.email)
    with pytest.raises(NotOurs):
        send_link_for_staff(student_id=ana.pk, occasion="x")
    assert not Mail.objects.exists()
    assert "ya existía" in set_password(ana).content.decode()


def test_a_confirmation_is_void_once_moodle_or_the_shop_has_another_address(site, micro):
    user = site.add_user(site.address("ana"))
    ana = buyer(site.address("ana"))
    buy(ana, micro[0])
    link = confirm_url(Account.objects.get()).partition("://")[2].partition("/")[2]
    site.change_user(user, email=site.address("suya"))
    assert Client().post(f"/{link}").status_code == 410
    assert not Account.objects.get().takes_links


@pytest.mark.parametrize("power", ["manager", "teacher", "hidden teacher"])
def test_an_account_with_powers_is_never_linked_and_staff_decide(site, micro, power):
    subject, course = micro
    profe = site.add_user(site.address("profe"))
    if power == "manager":
        site.make_manager(profe)
    else:
        taught = site.add_course("Historia")["id"]
        site.enrol(profe, taught, TEACHER)
        if power == "hidden teacher":
            site.hide_course(taught)
    student = buyer(site.address("PROFE"))
    row = buy(student, subject)
    assert (row.status, row.problem, account_status(7)) == ("failed", "account", "pending")
    account = Account.objects.get()
    assert (account.external_id, account.held_id) == ("", str(profe))
    assert site.access(profe, course) == (False, set())
    assert not Mail.objects.exists()
    assert allow_held_account(student_id=student.pk)
    provision.func(order_id=7)
    assert site.access(profe, course) == (True, {STUDENT})
    assert site.user(profe)["email"] == site.address("profe")
    assert "ya existía" in set_password(student).content.decode()
    assert account_to_confirm(confirm_url(Account.objects.get()).partition("enlace=")[2])
    link = confirm_url(Account.objects.get()).partition("://")[2].partition("/")[2]
    assert "no puede confirmarla" in Client().post(f"/{link}").content.decode()
    assert site.signs_in(site.user(profe)["username"], PASSWORD)
    # What staff decided does not count for another address.
    change_address(student, site.address("otra"))
    assert site.access(profe, course) == (False, set())
    assert user_id_of(student) != profe


def test_a_student_who_became_a_teacher_gets_no_password_from_a_link(site, micro):
    ana = buyer(site.address("ana"))
    buy(ana, micro[0])
    site.make_manager(user_id_of(ana))
    assert "no responde ahora mismo" in set_password(ana).content.decode()
    assert not site.signs_in(ana.email, NEW_PASSWORD)
    change_address(ana, site.address("otra"))
    assert site.user(user_id_of(ana))["email"] == site.address("ana")


def test_completed_activities_and_the_last_visit_are_known_after_it(site, micro):
    SiteSettings.current()
    SiteSettings.objects.update(classroom_progress=True)
    subject, course_id = micro
    user_id = site.add_user(site.address("eva"))
    eva = buyer(site.address("eva"))
    grant_access(student=eva, items=[(subject.pk, None)], order_id=next(NUMBERS))
    provision.func(order_id=Provisioning.objects.get().order_id)
    assert Account.objects.get().external_id == str(user_id)
    classroom_progress()
    [before] = progress_of(eva)
    assert (before.done, before.total, before.last_access_at) == (0, 0, None)

    site.visit(user_id, course_id)
    first, _ = site.add_activity(course_id), site.add_activity(course_id)
    site.complete(user_id, course_id, first)
    assert classroom_progress() == "Alumnos consultados: 1"

    [after] = progress_of(eva)
    assert (after.done, after.total) == (1, 2)
    assert abs(after.last_access_at - timezone.now()) < timedelta(minutes=5)
