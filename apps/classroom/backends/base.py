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

    def strength(self) -> tuple[int, date]:
        """What several rights to the same thing are compared by: the strongest counts."""
        return ("gone", "paused", "open").index(self.state), self.ends_on or date.max


class ExternalAccount(NamedTuple):
    """An account there: its id (60 characters), and what its owner types to sign in."""

    external_id: str
    username: str


class ClassroomError(Exception):
    """The classroom is away or refuses; the text is for staff."""


class PasswordRefused(ClassroomError):
    """The classroom's own rules for passwords refuse this one; says so in a Spanish sentence."""


class Classroom(Protocol):
    """A virtual classroom. Every step may be repeated at any time without doing anything twice.

    They run outside any transaction, as they may go over the network, and raise whatever went
    wrong: the caller keeps the error and tries again.
    """

    def ensure_account(self, student: Student, known_id: str) -> ExternalAccount:
        """Make the student's account unless there is one; `known_id` is what it was, else empty."""

    def apply_rights(self, external_id: str, rights: Sequence[Right]) -> None:
        """Let the account into what is open, keep it out of the rest."""

    def set_password(self, external_id: str, student: Student, password: str) -> None:
        """Set what the student chose on the one-time link; the student's names go with it.

        Raises PasswordRefused where the classroom wants another password.
        """
