"""The student's own part of a merge: two rows of one person become one.

`orders.by_staff.merge_students` has the whole merge (docs/rules.md, "Students").
"""

from django.utils import timezone

from apps.core.mail.outbox import move_waiting_mails, queue_mail
from apps.core.mail.recipient_limits import Origin
from apps.students.models import Consent, FormerEmail, SignIn, SignInLink, Student
from apps.students.services import erased_email
from apps.students.session import end_sessions


def empty_into(*, merged: Student, into: Student) -> None:
    """Move what the student `merged` is and has to `into`, and leave an empty row behind.

    Part of the transaction of the merge, which holds the locks of both rows. The empty row counts
    as erased. It points to `into`, for whatever still names it.
    """
    before = merged.email
    for student in (merged, into):
        end_sessions(student)
    for model in (Consent, FormerEmail, SignIn):
        model._default_manager.filter(student=merged).update(student=into)
    SignInLink.objects.filter(student=merged, used_at=None).update(used_at=timezone.now())
    FormerEmail.objects.create(student=into, email=before)
    Student.objects.filter(merged_into=merged).update(merged_into=into)

    for field in ("first_name", "last_name", "phone"):
        setattr(into, field, getattr(into, field) or getattr(merged, field))
    into.save(update_fields=["first_name", "last_name", "phone"])
    merged.email = erased_email(merged.pk)
    merged.first_name = merged.last_name = merged.phone = ""
    merged.erased_at, merged.merged_into = timezone.now(), into
    merged.save()

    move_waiting_mails(students=[merged.pk, into.pk], before=before, after=into.email)
    for address, is_old in ((before, True), (into.email, False)):
        queue_mail(
            key=f"merged:{merged.pk}:{'old' if is_old else 'new'}",
            template="email_changed",
            to=address,
            context={"student_id": into.pk, "is_old": is_old},
            origin=Origin.STAFF,
        )
