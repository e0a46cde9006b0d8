"""The account in Moodle follows a student's new address."""

import pytest
from django.utils import timezone

from apps.classroom.access_links import make_token
from apps.classroom.accounts import set_password
from apps.classroom.models import AccessChange, Account
from apps.classroom.provisioning import grant_access, provision
from apps.classroom.sync import sync_classroom
from apps.orders.by_staff.merge_students import merge_students
from apps.orders.tests.test_gift_attacks import mailbox_busy, sent_to, work_later  # noqa: F401
from apps.orders.tests.test_gift_people import LEA, correct
from apps.orders.tests.test_gifts import LEO, pay, place_gift
from apps.students.services import announce_new_email, find_or_create_student
from tests.helpers.factories import make_subject
from tests.helpers.refunds import make_clerk

pytestmark = pytest.mark.django_db


def buy(moodle, student):
    subject = make_subject("Microeconomía")
    moodle.add_course("MICRO", f"asignatura-{subject.pk}")
    grant_access(student=student, items=[(subject.pk, None)], order_id=7)
    provision.func(order_id=7)


def move(student, email):
    before, student.email = student.email, email
    student.save()
    announce_new_email(student, before=before)
    change = AccessChange.objects.latest("pk")
    sync_classroom.func(change_id=change.pk)
    change.refresh_from_db()
    return change


def only_user(moodle):
    (user,) = moodle.users.values()
    return user


def test_address_and_user_name_move(moodle, ana):
    buy(moodle, ana)
    assert move(ana, "nueva@example.com").status == "done"
    user = only_user(moodle)
    assert (user["username"], user["email"]) == ("nueva@example.com", "nueva@example.com")
    assert Account.objects.get().username == "nueva@example.com"


def test_a_password_that_was_set_at_an_address_ends_with_it(moodle, ana):
    """Also if the address was changed back before Moodle heard of the first change."""
    buy(moodle, ana)
    for email in ("clerk@example.com", ana.email):
        before, ana.email = ana.email, email
        ana.save()
        announce_new_email(ana, before=before)
        only_user(moodle)["password"] = "set-by-the-clerk"
    for change in AccessChange.objects.filter(status="pending").order_by("pk"):
        sync_classroom.func(change_id=change.pk)
    unknown = only_user(moodle)["password"]
    assert unknown != "set-by-the-clerk"
    assert not Account.objects.get().has_password


def test_a_password_that_the_owner_has_set_since_stays(moodle, ana):
    """A change that is tried again later must not end it."""
    buy(moodle, ana)
    change = move(ana, "nueva@example.com")
    token = make_token(Account.objects.get())
    set_password(token=token, first_name="Ana", last_name="Gil", password="Una-clave-nueva-9")
    AccessChange.objects.filter(pk=change.pk).update(status="pending", due_at=timezone.now())
    sync_classroom.func(change_id=change.pk)
    assert only_user(moodle)["password"] == "Una-clave-nueva-9"


def test_a_user_name_that_is_no_address_stays(moodle, ana):
    buy(moodle, ana)
    only_user(moodle)["username"] = "ana.gil"
    move(ana, "nueva@example.com")
    user = only_user(moodle)
    assert (user["username"], user["email"]) == ("ana.gil", "nueva@example.com")


def test_a_moodle_that_fails_is_asked_again(moodle, ana, settings):
    buy(moodle, ana)
    address, settings.MOODLE_URL = settings.MOODLE_URL, "http://127.0.0.1:9"
    change = move(ana, "nueva@example.com")
    assert (change.status, only_user(moodle)["email"]) == ("pending", "ana@example.com")

    settings.MOODLE_URL = address
    AccessChange.objects.update(leased_until=None, due_at=timezone.now())
    sync_classroom.func(change_id=change.pk)
    assert only_user(moodle)["email"] == "nueva@example.com"


def test_a_student_without_an_account_is_not_looked_up(moodle, ana):
    announce_new_email(ana, before="antes@example.com")
    assert not AccessChange.objects.exists()
    assert moodle.calls == []


@pytest.mark.parametrize("reversed_", [False, True])
def test_access_moves_from_the_merged_account_to_the_other_one(moodle, ana, reversed_):
    other = find_or_create_student(email="otra@example.com", phone="")
    for order_id, student in ((7, ana), (8, other)):
        subject = make_subject(f"Microeconomía {order_id}")
        moodle.add_course(f"MICRO{order_id}", f"asignatura-{subject.pk}")
        grant_access(student=student, items=[(subject.pk, None)], order_id=order_id)
        provision.func(order_id=order_id)
    (kept, first), (_, second) = moodle.enrolments
    merge_students(merged_id=other.pk, into_id=ana.pk, actor="carla")
    changes = AccessChange.objects.order_by("-pk" if reversed_ else "pk")
    for change in changes:
        sync_classroom.func(change_id=change.pk)

    assert set(moodle.enrolments) == {(kept, first), (kept, second)}
    assert not AccessChange.objects.exclude(status="done").exists()


def test_waiting_gift_mail_tells_nobody_the_user_of_its_new_recipient(
    moodle,
    api,
    sandbox,
    work,
    client,
    mailbox_busy,  # noqa: F811
    mailoutbox,
):
    """The account is older than the shop: its mail has no link, by which the guard knew others."""
    subject = make_subject()
    moodle.add_course("MICRO", f"asignatura-{subject.pk}")
    moodle.add_user(username="lea.garcia.1994", email=LEA, password="x")
    order = pay(place_gift(api, subject=subject))
    work()
    client.force_login(make_clerk())
    assert correct(client, order.gift, recipient_email=LEA).status_code == 302
    work()

    mailbox_busy()
    work_later(work)

    assert [mail for mail in sent_to(mailoutbox, LEO) if "lea.garcia" in mail.body] == []
    assert [mail for mail in sent_to(mailoutbox, LEA) if "lea.garcia.1994" in mail.body]
