from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple, Protocol

from apps.core.retries import ErrorForStaff
from apps.students.models import Student


class Item(NamedTuple):
    """A whole subject (`lesson_id` is None) or one lesson of it."""

    subject_id: int
    lesson_id: int | None


@dataclass(frozen=True)
class Right:
    """A student's right to an item, until the end of `ends_on` (None: no end)."""

    item: Item
    state: Literal["open", "paused", "withdrawn"]
    ends_on: date | None = None

    def priority(self) -> tuple[int, date]:
        """Sort key for several rights to the same item: the highest one applies."""
        return ("withdrawn", "paused", "open").index(self.state), self.ends_on or date.max


class ExternalAccount(NamedTuple):
    """An account in the classroom: its id (at most 60 characters) and its sign-in name."""

    external_id: str
    username: str


class ClassroomError(ErrorForStaff):
    """The classroom is unavailable or refuses a call. The message is for staff."""


class PasswordRefused(ClassroomError):
    """The classroom's policy refuses a password. The message is Spanish, for the student."""


class Classroom(Protocol):
    """The interface of a classroom. Every method is idempotent.

    The methods may call another site, so they run outside any transaction. They raise their errors;
    the caller stores the error and retries.
    """

    def ensure_account(self, student: Student, known_id: str) -> ExternalAccount:
        """Find or create the student's account. `known_id` is its last known id, or empty."""

    def apply_rights(self, external_id: str, rights: Sequence[Right]) -> None:
        """Enrol the account in the open items; suspend paused and remove withdrawn ones."""

    def move_account(self, external_id: str, student: Student) -> None:
        """Give the account the student's present address, and as user name if it had one."""

    def set_password(self, external_id: str, student: Student, password: str) -> None:
        """Set the password and the names that the student entered on the one-time link's page.

        Raises PasswordRefused if the classroom's policy refuses the password.
        """
