"""Receivers of signals about students: the classroom follows changes of their accounts."""

from typing import Any

from django.dispatch import receiver

from apps.classroom.access import Cause, pause_access, resume_access
from apps.classroom.models import Account, Provisioning
from apps.classroom.sync import queue_sync
from apps.students.models import Student
from apps.students.signals import email_changed, student_blocked, student_unblocked


@receiver(email_changed)
def move_account(sender: Any, student: Student, **kwargs: Any) -> None:
    """Queue the change of address and user name of the student's account in the classroom."""
    if not Account.objects.filter(student=student).exists():
        return
    latest = Provisioning.objects.filter(student=student).order_by("pk").last()
    queue_sync(
        student,
        order_id=latest.order_id if latest else 0,
        reason="Correo cambiado",
        moves_account=True,
    )


@receiver(student_blocked)
def pause_all(sender: Any, student: Student, **kwargs: Any) -> None:
    """Pause the access of all orders of a blocked student."""
    for row in Provisioning.objects.filter(student=student).order_by("pk"):
        pause_access(order_id=row.order_id, cause=Cause.BLOCKED)


@receiver(student_unblocked)
def resume_all(sender: Any, student: Student, **kwargs: Any) -> None:
    for row in Provisioning.objects.filter(student=student).order_by("pk"):
        resume_access(order_id=row.order_id, cause=Cause.BLOCKED)
