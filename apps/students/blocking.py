"""Blocking a student: sessions end, access is paused, and a sign-in gets a neutral sentence.

The classroom pauses and resumes access on the signals (docs/rules.md, "Students").
"""

from django.db import transaction
from django.utils import timezone

from apps.students.models import Student
from apps.students.session import end_sessions
from apps.students.signals import student_blocked, student_unblocked


def block_student(*, student_id: int, reason: str) -> bool:
    """Block a student. False if they are blocked already."""
    with transaction.atomic():
        student = Student.objects.select_for_update(no_key=True).get(pk=student_id)
        changed = student.blocked_at is None
        if changed:
            student.blocked_at, student.block_reason = timezone.now(), reason.strip()
            student.save(update_fields=["blocked_at", "block_reason"])
        end_sessions(student)
    # After the transaction: the receivers lock access before the student. A repeated block
    # completes one that was interrupted here.
    student_blocked.send(Student, student=student)
    return changed


def unblock_student(*, student_id: int) -> bool:
    """Unblock a student. False if they are not blocked."""
    with transaction.atomic():
        student = Student.objects.select_for_update(no_key=True).get(pk=student_id)
        changed = student.blocked_at is not None
        student.blocked_at, student.block_reason = None, ""
        student.save(update_fields=["blocked_at", "block_reason"])
    student_unblocked.send(Student, student=student)
    return changed
