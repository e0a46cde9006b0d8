"""Signals of students, for the apps that keep something under a student's address."""

from django.dispatch import Signal

# Sent in the transaction in which staff change a student's address, before the student's row is
# locked: receivers lock what a payment locks before the student.
email_changing = Signal()
# Sent in the transaction in which staff, named by `actor`, have changed `student.email`.
email_changed = Signal()
# Sent after a student was blocked or unblocked, also if that is repeated.
student_blocked = Signal()
student_unblocked = Signal()
