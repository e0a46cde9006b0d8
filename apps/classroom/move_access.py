"""The classroom's part of a merge of two students (docs/rules.md, "Students")."""

from django.utils import timezone

from apps.classroom.models import Account, Enrolment, LostAccess, Provisioning
from apps.classroom.rights import update_enrolments
from apps.classroom.sync import queue_sync
from apps.students.models import Student

REASON = "Alumnos unidos"


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

    Part of the transaction of the merge, after `merged` points to `into`. With two accounts, the
    one of `merged` loses its access (`rights.rights_of`). A single account becomes that of `into`.
    """
    Provisioning.objects.filter(student=merged).update(student=into)
    lost = LostAccess.objects.filter(student=merged)
    lost.exclude(provisioning__lost_by__student=into).update(student=into)
    _move_enrolments(merged, into)
    had_accounts = {
        student: Account.objects.filter(student=student).exists() for student in (merged, into)
    }
    latest = Provisioning.objects.filter(student=into).order_by("pk").last()
    order_id = latest.order_id if latest else 0
    update_enrolments(into, order_id=order_id)
    if had_accounts[merged] and had_accounts[into]:
        _close_account(merged, into)
        queue_sync(merged, order_id=order_id, reason=REASON)
    elif had_accounts[merged]:
        Account.objects.filter(student=merged).update(student=into)
    if any(had_accounts.values()):
        queue_sync(into, order_id=order_id, reason=REASON, moves_account=not had_accounts[into])


def _move_enrolments(merged: Student, into: Student) -> None:
    """Move the rows, which have the day of the enrolment; those that `into` has too are deleted."""
    has = set(Enrolment.objects.filter(student=into).values_list("subject", "lesson"))
    for row in Enrolment.objects.filter(student=merged):
        if (row.subject_id, row.lesson_id) in has:
            row.delete()
        else:
            row.student = into
            row.save(update_fields=["student"])


def _close_account(merged: Student, into: Student) -> None:
    """Let nobody sign in to the account of `merged`. One that both share stays that of `into`."""
    shared = Account.objects.filter(student=into).values("external_id", "classroom")[0]
    accounts = Account.objects.filter(student=merged)
    accounts.update(password="", username="")
    accounts.filter(**shared).update(external_id="")
