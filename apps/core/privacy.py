"""What the academy keeps about a person, and until when (decisions.md, "Keeping and forgetting").

Each app says in its `privacy.py` what it has under an e-mail address, how it is handed out and how
it is forgotten; the apps are asked in their order, from the pages down to the students. Whose data
they are is said by the address alone, since visitors who fill in forms are no students.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.core.admin_log import forget_entries_naming
from apps.core.errors import Conflict

logger = logging.getLogger(__name__)


class CannotErase(Conflict):
    """Something still has to be settled first; the message says what."""

    code = "cannot_erase"
    message = "Todavía no se pueden borrar estos datos."


@dataclass(frozen=True)
class Holding:
    """What one app keeps about a person.

    `export` gives JSON under `name`. `preview` says in Spanish sentences what erasing would do and
    raises CannotErase where it can't be done now. `erase` does it, within a transaction, and
    raises the same where that has changed since. `in_use` says whether the person is dealing with
    the academy just now, so that no limit of time forgets them.
    """

    name: str
    export: Callable[[str], Any]
    preview: Callable[[str], list[str]]
    erase: Callable[[str], None]
    in_use: Callable[[str], bool] = lambda email: False


@dataclass(frozen=True)
class Retention:
    """A rule of what is kept how long: `purge` removes what is older and says how many rows."""

    title: str
    purge: Callable[[datetime], int]


_holdings: list[Holding] = []
_retentions: list[Retention] = []


def register_holding(holding: Holding) -> None:
    _holdings.append(holding)


def register_retention(title: str, purge: Callable[[datetime], int]) -> None:
    """`purge` gets the moment of the run; it may be run at any time, any number of times."""
    _retentions.append(Retention(title, purge))


def export_all(email: str) -> dict[str, Any]:
    """Everything that is kept under an address, by app."""
    email = email.strip().lower()
    return {
        "correo": email,
        "fecha": timezone.localtime().isoformat(timespec="seconds"),
        **{holding.name: holding.export(email) for holding in _holdings},
    }


def preview_erasure(email: str) -> list[str]:
    """What erasing would do, in Spanish sentences. Raises CannotErase where it can't be now."""
    email = email.strip().lower()
    return [sentence for holding in _holdings for sentence in holding.preview(email)]


@transaction.atomic
def erase_all(email: str) -> list[str]:
    """Forget an address: what the law wants kept stays without it, the rest goes. What was done."""
    email = email.strip().lower()
    sentences = preview_erasure(email)
    for holding in _holdings:
        holding.erase(email)
    forget_entries_naming(email)
    return sentences


def is_in_use(email: str) -> bool:
    """Whether somebody with that address is dealing with the academy: a form, an open cart."""
    return any(holding.in_use(email.strip().lower()) for holding in _holdings)


class PurgeFailed(Exception):
    """Some rules could not be applied; `done` is what the others did."""

    def __init__(self, failed: list[str], done: list[tuple[str, int]]) -> None:
        super().__init__(f"No se ha podido aplicar: {', '.join(failed)}")
        self.done = done


def purge_all() -> list[tuple[str, int]]:
    """Apply every rule of retention; (rule, rows removed). Each sees to its own transactions.

    A rule that fails holds no other up: PurgeFailed is raised at the end, the reason is in the log.
    """
    now = timezone.now()
    done: list[tuple[str, int]] = []
    failed: list[str] = []
    for rule in _retentions:
        try:
            done.append((rule.title, rule.purge(now)))
        except Exception:
            logger.exception("rule of retention failed: %s", rule.title)
            failed.append(rule.title)
    if failed:
        raise PurgeFailed(failed, done)
    return done


def counted(count: int, one: str, many: str) -> list[str]:
    """ "3 solicitudes" as a list to add to a preview; nothing where there is nothing."""
    return [f"{count} {one if count == 1 else many}"] if count else []
