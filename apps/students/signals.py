"""Signals of students, for the apps that keep something under a student's address."""

from django.dispatch import Signal

# Sent in the transaction in which staff have changed `student.email`.
email_changed = Signal()
# Sent after a student was blocked or unblocked, also if that is repeated.
student_blocked = Signal()
student_unblocked = Signal()
