from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import ClassVar, Literal, NamedTuple, Protocol

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


@dataclass(frozen=True)
class Known:
    """The stored facts about a student's account in the classroom.

    `address` is the e-mail address that the classroom had for it, `made_by_shop` whether the shop
    created it. `is_confirmed`: its owner has confirmed it from that mailbox. `allowed_id` is the id
    of an account with powers that staff allow to be enrolled all the same. `password_is_ended`: the
    student's address has changed since the password was set.
    """

    external_id: str = ""
    address: str = ""
    made_by_shop: bool = False
    is_confirmed: bool = False
    allowed_id: str = ""
    password_is_ended: bool = False


class Problem(NamedTuple):
    """Something that a person has to mend in the classroom. `message` is Spanish, for staff.

    `items` are the subjects and lessons that it keeps closed, or open although they were withdrawn.
    """

    message: str
    items: Collection[Item] = ()


class Seen(NamedTuple):
    """A student's progress in an item: activities done of a total, and the last visit.

    A total of 0 means that the classroom does not track it. `last_access_at` is None before the
    first visit.
    """

    done: int
    total: int
    last_access_at: datetime | None


class ExternalAccount(NamedTuple):
    """An account in the classroom: its id (at most 60 characters) and its sign-in name.

    `made_by_shop` is False for an account that somebody else created, and for one whose address the
    shop does not know: the shop enrols it, and changes neither its address nor its password.
    `problem` says why its owner cannot sign in, or is empty.
    """

    external_id: str
    username: str
    address: str = ""
    made_by_shop: bool = False
    problem: str = ""


class ClassroomError(ErrorForStaff):
    """The classroom is unavailable or refuses a call. The message is for staff."""


class NeedsStaff(ClassroomError):
    """Trying again does not help before a person has done something. The message says what."""


class AccountHasPowers(NeedsStaff):
    """The account with the student's address belongs to a teacher or manager."""

    def __init__(self, external_id: str, username: str) -> None:
        super().__init__(
            f"La cuenta «{username}» del aula tiene permisos de profesor, gestor o administrador. "
            "No se vincula sola: decide en su cuenta del aula si se le da solo la matrícula."
        )
        self.external_id = external_id


class PasswordRefused(ClassroomError):
    """The classroom's policy refuses a password. The message is Spanish, for the student."""


class EntryProblem(StrEnum):
    """Why a student cannot enter the classroom through the shop."""

    NOT_CONFIRMED = "not_confirmed"
    NO_ACCOUNT = "no_account"
    NOT_OURS = "not_ours"
    OTHER_ADDRESS = "other_address"
    POWERS = "powers"
    CLOSED = "closed"
    UNAVAILABLE = "unavailable"


class EntryRefused(Exception):
    """The classroom's account must not be opened through the shop."""

    def __init__(self, problem: EntryProblem) -> None:
        super().__init__(problem.value)
        self.problem = problem


class Classroom(Protocol):
    """The interface of a classroom. Every method is idempotent.

    The methods may call another site, so they run outside any transaction. They raise their errors;
    the caller stores the error and retries.

    `platform` is what staff call the other site that keeps the accounts; empty if it is this one.
    """

    platform: ClassVar[str]

    def ensure_account(self, student: Student, known: Known) -> ExternalAccount:
        """Find or create the student's account. Raises NeedsStaff if a person has to decide."""

    def apply_rights(
        self, student: Student, external_id: str, rights: Sequence[Right]
    ) -> list[Problem]:
        """Enrol the account in the open items; suspend paused and remove withdrawn ones.

        Whatever can be done is done. The rest is returned. An empty `external_id` means that no
        account is known: whatever the student was enrolled in is withdrawn. The classroom itself
        ends an open item after `ends_on`: the shop does not call again on that day.
        """

    def closed_items(self, items: Sequence[Item]) -> list[Problem]:
        """The items that no student can open yet although they are enrolled, with the reason."""

    def move_account(self, student: Student, known: Known) -> None:
        """Give an account of the shop's own the student's address, and as user name if it had one.

        A password that has ended is replaced by one that nobody knows.
        Any other account is left as it is.
        """

    def set_password(self, external_id: str, student: Student, password: str) -> None:
        """Set the password and the names that the student entered on the one-time link's page.

        Only for accounts that `Account.takes_links` names. Raises PasswordRefused if the
        classroom's policy refuses the password, and NeedsStaff for an account with powers.
        """

    def confirm_account(self, external_id: str, student: Student) -> bool:
        """Note in the classroom that the account is the student's, after its owner confirmed it.

        False, and nothing changes, if the account has another address than the student by now.
        Raises NeedsStaff for an account with powers.
        """

    def progress(self, external_id: str, items: Sequence[Item]) -> dict[Item, Seen]:
        """The account's progress in the items. Those of which nothing is known are left out.

        Raises ClassroomError.
        """

    def address_for_entry(self, external_id: str, student: Student, known: Known) -> str:
        """The account's address, spelled as in the classroom, if the student may open the account.

        The classroom finds the account by this address. Raises EntryRefused unless exactly one
        account has the address, and that account is the student's own and has no powers. Raises
        ClassroomError if the classroom does not answer.
        """
