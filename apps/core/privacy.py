"""What the academy keeps about a person, and until when (decisions.md, "Keeping and forgetting").

Each app says in its `privacy.py` what it has under an e-mail address, how it is handed out and how
it is forgotten; the apps are asked in their order, from the pages down to the students. Whose data
they are is said by the address alone, since visitors who fill in forms are no students.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.core.errors import Conflict


class CannotErase(Conflict):
    """Something still has to be settled first; the message says what."""

    code = "cannot_erase"
    message = "Todavía no se pueden borrar estos datos."


@dataclass(frozen=True)
class Holding:
    """What one app keeps about a person.

    `export` gives JSON under `name`. `preview` says in Spanish sentences what erasing would do and
    raises CannotErase where it can't be done now. `erase` does it, within a transaction.
    """

    name: str
    export: Callable[[str], Any]
    preview: Callable[[str], list[str]]
    erase: Callable[[str], None]


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
    sentences = preview_erasure(email)
    for holding in _holdings:
        holding.erase(email.strip().lower())
    return sentences


def purge_all() -> list[tuple[str, int]]:
    """Apply every rule of retention; (rule, rows removed), each in a transaction of its own."""
    now = timezone.now()
    return [(rule.title, rule.purge(now)) for rule in _retentions]


def counted(count: int, one: str, many: str) -> list[str]:
    """ "3 solicitudes" as a list to add to a preview; nothing where there is nothing."""
    return [f"{count} {one if count == 1 else many}"] if count else []
