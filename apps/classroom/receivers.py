"""Receivers of signals about students: the classroom follows changes of their accounts."""

from typing import Any

from django.db import transaction
from django.dispatch import receiver

from apps.classroom.access import Cause, pause_access, resume_access
from apps.classroom.models import Account, Provisioning
from apps.classroom.provisioning import retry_provisioning
from apps.classroom.sync import queue_sync
from apps.students.models import Student
from apps.students.signals import email_changed, student_blocked, student_unblocked


@receiver(email_changed)
def move_account(sender: Any, student: Student, **kwargs: Any) -> None:
    """Queue the change of address and user name of the student's account in the classroom.

    What staff decided about an account with the former address does not count for the new one, and
    neither does a password that was set there.
    """
    waiting = Provisioning.objects.filter(student=student, problem="account")
    for row in waiting.order_by("pk"):
        retry_provisioning(row)
    accounts = Account.objects.filter(student=student)
    accounts.update(held_id="", allowed_id="")
    for account in accounts:
        account.end_password()
    if not accounts.exclude(external_id="").exists():
        return
    latest = Provisioning.objects.filter(student=student).order_by("pk").last()
    queue_sync(
        student,
        order_id=latest.order_id if latest else 0,
        reason="Correo cambiado",
        moves_account=True,
    )


@receiver((student_blocked, student_unblocked))
def follow_block(sender: Any, student: Student, **kwargs: Any) -> None:
    """Pause or resume the access of all orders as the student is blocked now.

    The signals of a block and an unblock at the same moment may arrive in either order.
    """
    for order_id in Provisioning.objects.filter(student=student).values_list("order_id", flat=True):
        with transaction.atomic():
            # Lock the access before its student, as every change of access does.
            row = Provisioning.objects.select_for_update(no_key=True).get(order_id=order_id)
            locked = Student.objects.select_for_update(no_key=True).get(pk=row.student_id)
            change = resume_access if locked.blocked_at is None else pause_access
            change(order_id=order_id, cause=Cause.BLOCKED)
