from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple, Protocol

from apps.students.models import Student


class Item(NamedTuple):
    """A whole subject (no lesson) or one lesson of it, by their ids here."""

    subject_id: int
    lesson_id: int | None


@dataclass(frozen=True)
class Right:
    """What a student may do with an item: study it until the end of a day (none: for good), not
    for the time being ("paused"), or not any more ("gone").
    """

    item: Item
    state: Literal["open", "paused", "gone"]
    ends_on: date | None = None


class PasswordRefused(Exception):
    """The classroom's own rules for passwords refuse this one; says so in a Spanish sentence."""


class Classroom(Protocol):
    """A virtual classroom. Every step may be repeated at any time without doing anything twice.

    They run outside any transaction, as they may go over the network, and raise whatever went
    wrong: the caller keeps the error and tries again.
    """

    def ensure_account(self, student: Student) -> str:
        """Make the student's account unless there is one; return its id there (60 characters)."""

    def apply_rights(self, external_id: str, rights: Sequence[Right]) -> None:
        """Let the account into what is open, keep it out of the rest."""

    def set_password(self, external_id: str, student: Student, password: str) -> None:
        """Set what the student chose on the one-time link; the student's names go with it.

        Raises PasswordRefused where the classroom wants another password.
        """
