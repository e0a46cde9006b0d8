"""Signals of students, for the apps that keep something under a student's address."""

from django.dispatch import Signal

# Sent in the transaction in which staff have changed `student.email`.
email_changed = Signal()
