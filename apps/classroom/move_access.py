"""The classroom's part of a merge of two students (docs/rules.md, "Students")."""

from django.conf import settings
from django.utils import timezone

from apps.classroom.backends.base import Item
from apps.classroom.models import (
    Account,
    Enrolment,
    LostAccess,
    MoodleEnrolment,
    Progress,
    Provisioning,
)
from apps.classroom.provisioning import retry_provisioning
from apps.classroom.rights import row_key, update_enrolments
from apps.classroom.sync import queue_sync
from apps.students.models import Student

REASON = "Alumnos unidos"


def is_providing_access(students: list[int]) -> bool:
    """Whether a worker provides an access of one of these students at the moment."""
    return Provisioning.being_provided().filter(student__in=students).exists()


def lock_access(students: list[int]) -> bool:
    """Lock the students' provisionings. False if a worker is providing one of them now."""
    rows = Provisioning.objects.select_for_update(no_key=True).filter(student__in=students)
    now = timezone.now()
    return not any(
        row.status == Provisioning.Status.PENDING and row.leased_until and row.leased_until > now
        for row in rows.order_by("pk")
    )


def merge_access(*, merged: Student, into: Student) -> None:
    """Give `into` what `merged` has in the classroom, and queue what the classroom has to learn.

    Part of the transaction of the merge, after `merged` points to `into`. An account that the shop
    made becomes that of `into` if it is the only one. Any other account of `merged` loses what the
    shop gave it (`rights.rights_of`): it may be a stranger's whose address was typed.
    """
    Provisioning.objects.filter(student=merged).update(student=into)
    lost = LostAccess.objects.filter(student=merged)
    lost.exclude(provisioning__lost_by__student=into).update(student=into)
    _move_enrolments(merged, into)
    accounts = {
        student: Account.objects.filter(student=student).exclude(external_id="").first()
        for student in (merged, into)
    }
    latest = Provisioning.objects.filter(student=into).order_by("pk").last()
    order_id = latest.order_id if latest else 0
    update_enrolments(into, order_id=order_id)
    moves = accounts[into] is None and _is_of_the_shop(accounts[merged])
    if moves:
        _move_account(merged, into)
    elif accounts[merged] is not None:
        _close_account(merged, accounts[into])
        queue_sync(merged, order_id=order_id, reason=REASON)
    if any(accounts.values()):
        queue_sync(into, order_id=order_id, reason=REASON, moves_account=moves)
    for row in Provisioning.objects.filter(student=into, problem="account").order_by("pk"):
        retry_provisioning(row)


def _is_of_the_shop(account: Account | None) -> bool:
    return account is not None and (settings.CLASSROOM == "local" or account.made_by_shop)


def _move_account(merged: Student, into: Student) -> None:
    """Make the account that of `into`, with the key under which the classroom knows it."""
    Account.objects.filter(student=into).delete()
    account = Account.objects.get(student=merged)
    account.student = into
    account.save(update_fields=["student"])
    # The password was set at the address of `merged`.
    account.end_password()
    MoodleEnrolment.objects.filter(student=merged).update(student=into)
    into.classroom_key, merged.classroom_key = merged.classroom_key, ""
    for student in (merged, into):
        student.save(update_fields=["classroom_key"])


def _move_enrolments(merged: Student, into: Student) -> None:
    """Move the rows, which have the day of the enrolment; those that `into` has too are deleted."""
    for model in (Enrolment, Progress):
        rows = model._default_manager.filter(student=into).values_list("subject_id", "lesson_id")
        has = {row_key(Item(*row)) for row in rows}
        for row in model._default_manager.filter(student=merged):
            if row_key(Item(row.subject_id, row.lesson_id)) in has:
                row.delete()
            else:
                row.student = into
                row.save(update_fields=["student"])


def _close_account(merged: Student, kept: Account | None) -> None:
    """Let nobody sign in to the account of `merged`. One that both share stays that of `kept`."""
    accounts = Account.objects.filter(student=merged)
    accounts.update(password="", username="", confirmed_for="", held_id="", allowed_id="")
    if kept is None:
        return
    same = {"external_id": kept.external_id, "classroom": kept.classroom}
    if accounts.filter(**same).update(external_id=""):
        # The rows of both are about one account.
        rows = MoodleEnrolment.objects.filter(student=merged)
        known = MoodleEnrolment.objects.filter(
            student=kept.student_id, external_id=kept.external_id
        )
        rows.filter(course_id__in=list(known.values_list("course_id", flat=True))).delete()
        rows.update(student=kept.student_id)
