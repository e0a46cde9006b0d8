from collections.abc import Sequence
from typing import NamedTuple, Protocol

from apps.students.models import Student


class Item(NamedTuple):
    """A whole subject (no lesson) or one lesson of it, by their ids here."""

    subject_id: int
    lesson_id: int | None


class Classroom(Protocol):
    """A virtual classroom. Both steps may be repeated at any time without doing anything twice.

    They run outside any transaction, as they may go over the network, and raise whatever went
    wrong: the caller keeps the error and tries again.
    """

    def ensure_account(self, student: Student) -> str:
        """Make the student's account unless there is one; return its id there (60 characters)."""

    def ensure_enrolled(self, external_id: str, items: Sequence[Item]) -> None:
        """Let the account into these subjects and lessons."""
