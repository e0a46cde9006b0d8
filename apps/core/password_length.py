"""The shortest password: longer for staff, whose accounts open everybody's data."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.password_validation import MinimumLengthValidator

STAFF_MINIMUM = 12


class PasswordLength(MinimumLengthValidator):
    """Django's validator, with `min_length` for students and 12 characters for staff.

    Django's forms and commands for staff pass a `User`, or nobody. The classroom passes a student.
    """

    def validate(self, password: str, user: Any = None) -> None:
        is_staff = user is None or isinstance(user, AbstractBaseUser)
        minimum = STAFF_MINIMUM if is_staff else self.min_length
        MinimumLengthValidator(min_length=minimum).validate(password, user)

    def get_help_text(self) -> str:
        """The sentence of the forms for staff, which alone show it."""
        return MinimumLengthValidator(min_length=STAFF_MINIMUM).get_help_text()
