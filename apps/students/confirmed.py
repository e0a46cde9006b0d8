"""Which addresses their owners have confirmed (docs/rules.md, "Students").

Anybody can type an address into a checkout. Only a link that was mailed to it proves that a person
reads its mails.
"""

from django.utils import timezone

from apps.students.models import Student


def confirm_address(student: Student) -> None:
    """Store that a link which was mailed to the student's current address has been used."""
    Student.objects.filter(pk=student.pk, email=student.email, email_confirmed_at=None).update(
        email_confirmed_at=timezone.now()
    )


def is_confirmed(email: str) -> bool:
    student = Student.objects.with_email(email)
    return student is not None and student.email_confirmed_at is not None
