"""The registry of personal data: export, erasure and retention.

Each app registers in its `privacy.py` how to export and erase the data that it stores under an
e-mail address, and how long it keeps data (docs/rules.md, "Keeping and deleting data"). The e-mail
address identifies a person, because visitors who fill in a form are not students.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.core.admin_log import redact_entries_naming
from apps.core.errors import Conflict

logger = logging.getLogger(__name__)


class CannotErase(Conflict):
    """Erasure is not possible yet; the message gives the reason."""

    code = "cannot_erase"
    message = "Todavía no se pueden borrar estos datos."


@dataclass(frozen=True)
class PersonalData:
    """How one app exports and erases the data of a person.

    `export` returns JSON, which is stored under `name`. `preview` returns Spanish sentences about
    what erasure would do and raises CannotErase if it is not possible now. `erase` runs in a
    transaction and may raise CannotErase as well. `in_use` tells whether the person is active, for
    example with an open cart, so that no retention rule erases them.
    """

    name: str
    export: Callable[[str], Any]
    preview: Callable[[str], list[str]]
    erase: Callable[[str], None]
    in_use: Callable[[str], bool] = lambda email: False


@dataclass(frozen=True)
class Retention:
    """A retention rule. `purge` deletes expired rows and returns how many."""

    title: str
    purge: Callable[[datetime], int]


_personal_data: list[PersonalData] = []
_retentions: list[Retention] = []


def register_personal_data(data: PersonalData) -> None:
    _personal_data.append(data)


def register_retention(title: str, purge: Callable[[datetime], int]) -> None:
    """Register a retention rule. `purge` gets the current time and is safe to repeat."""
    _retentions.append(Retention(title, purge))


def export_all(email: str) -> dict[str, Any]:
    """Export everything that is stored under an e-mail address, by app."""
    email = email.strip().lower()
    return {
        "correo": email,
        "fecha": timezone.localtime().isoformat(timespec="seconds"),
        **{data.name: data.export(email) for data in _personal_data},
    }


def preview_erasure(email: str) -> list[str]:
    """Describe in Spanish sentences what erasure would do. Raises CannotErase."""
    email = email.strip().lower()
    return [sentence for data in _personal_data for sentence in data.preview(email)]


@transaction.atomic
def erase_all(email: str) -> list[str]:
    """Erase a person's data; return sentences about what was done.

    Rows that the law requires stay, without personal data. Raises CannotErase.
    """
    email = email.strip().lower()
    sentences = preview_erasure(email)
    for data in _personal_data:
        data.erase(email)
    redact_entries_naming(email)
    return sentences


def is_in_use(email: str) -> bool:
    """Whether the person is active: a recent form or an open cart."""
    return any(data.in_use(email.strip().lower()) for data in _personal_data)


class PurgeFailed(Exception):
    """Some retention rules failed; `done` has the results of the others."""

    def __init__(self, failed: list[str], done: list[tuple[str, int]]) -> None:
        super().__init__(f"No se ha podido aplicar: {', '.join(failed)}")
        self.done = done


def purge_all() -> list[tuple[str, int]]:
    """Apply every retention rule; return (title, deleted rows) pairs.

    Each rule manages its own transactions. If a rule fails, the error is logged, the other rules
    still run, and PurgeFailed is raised at the end.
    """
    now = timezone.now()
    done: list[tuple[str, int]] = []
    failed: list[str] = []
    for rule in _retentions:
        try:
            done.append((rule.title, rule.purge(now)))
        except Exception:
            logger.exception("retention rule failed: %s", rule.title)
            failed.append(rule.title)
    if failed:
        raise PurgeFailed(failed, done)
    return done


def counted(count: int, one: str, many: str) -> list[str]:
    """A list with "3 solicitudes" to add to a preview; an empty list for a count of 0."""
    return [f"{count} {one if count == 1 else many}"] if count else []
