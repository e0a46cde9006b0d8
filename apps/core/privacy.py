"""The registry of personal data: export, erasure and retention.

Each app registers in its `privacy.py` how to export and erase the data that it stores under an
e-mail address, and how long it keeps data (docs/rules.md, "Keeping and deleting data"). The e-mail
address identifies a person, because visitors who fill in a form are not students.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from apps.core.errors import Conflict
from apps.core.identity import names_address, without_address
from apps.core.models import Mail, PublicChange, StaffAction

logger = logging.getLogger(__name__)

# The same period as the provider's events, which the mails refer to.
MAIL_RETENTION = timedelta(days=396)
TASK_RETENTION = timedelta(days=30)
# Enough for every change that is committed while old ones are deleted, and quickly counted.
KEPT_CHANGES = 1_000
# The rows of each kind in one export. Anybody can type an address in carts and forms, so nothing
# else bounds them.
MOST_ROWS = 200
REDACTED = "(datos borrados)"
# Their rows are the academy's. What a person wrote in one, an opinion, is redacted with its row.
APPS_OF_NOBODY = ("catalogue", "pages", "pricing", "core", "auth")
KEPT_OF_STAFF = (
    "Es la dirección de una cuenta del equipo: lo que dice de ella el registro de actividad se "
    "conserva."
)


class CannotErase(Conflict):
    """Erasure is not possible yet; the message gives the reason."""

    code = "cannot_erase"
    message = "Todavía no se pueden borrar estos datos."


@dataclass(frozen=True)
class PersonalData:
    """How one app exports and erases the data of a person.

    `export` returns JSON, which is stored under `name`: of each kind of row that a stranger can add
    the newest MOST_ROWS. `preview` returns Spanish sentences about
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
    """Export what is stored under an e-mail address, by app."""
    email = email.strip().lower()
    return {
        "correo": email,
        "fecha": timezone.localtime().isoformat(timespec="seconds"),
        "límite": f"De cada clase de datos están los {MOST_ROWS} más recientes, y los pedidos "
        "pagados antes que los demás. Si te falta algo, escríbenos.",
        **{data.name: data.export(email) for data in _personal_data},
    }


def preview_erasure(email: str) -> list[str]:
    """Describe in Spanish sentences what erasure would do. Raises CannotErase."""
    email = email.strip().lower()
    sentences = [sentence for data in _personal_data for sentence in data.preview(email)]
    return [*sentences, KEPT_OF_STAFF] if sentences and _is_of_staff(email) else sentences


@transaction.atomic
def erase_all(email: str) -> list[str]:
    """Erase a person's data; return sentences about what was done.

    Rows that the law requires stay, without personal data. What the logs say about an account of
    staff stays, too: otherwise its owner could buy with its address and have it erased there.
    Raises CannotErase.
    """
    email = email.strip().lower()
    sentences = preview_erasure(email)
    for data in _personal_data:
        data.erase(email)
    if not _is_of_staff(email):
        redact_entries_naming(email)
    return sentences


def _is_of_staff(email: str) -> bool:
    """Whether an account of staff has this address, also one that is deactivated."""
    accounts = get_user_model()._default_manager
    return accounts.filter(Q(username__iexact=email) | Q(email__iexact=email)).exists()


def redact_entries_of(rows: QuerySet[Any]) -> None:
    """Redact the log entries about these rows. Author and time of each change stay.

    Call this in the caller's transaction, before the rows are deleted.
    """
    ids = [str(pk) for pk in rows.values_list("pk", flat=True)]
    content_type = ContentType.objects.get_for_model(rows.model)
    _redact(LogEntry.objects.filter(content_type=content_type, object_id__in=ids))
    _redact_actions(
        StaffAction.objects.filter(about=rows.model._meta.label_lower, object_id__in=ids)
    )


def redact_entries_naming(email: str) -> None:
    """Redact every log entry that names this address, and none that names a longer one.

    An entry about a row that is nobody's data, such as a promo code, loses the address alone.
    Otherwise staff could write an address into a row, and have what they did to it erased.
    """
    entries = _naming(LogEntry.objects.all(), email, "object_repr", "change_message")
    actions = _naming(StaffAction.objects.all(), email, "object_repr", "text")
    of_nobody = Q()
    for app in APPS_OF_NOBODY:
        of_nobody |= Q(about__startswith=f"{app}.")
    for rows, is_of_nobody in (
        (entries, Q(content_type__app_label__in=APPS_OF_NOBODY)),
        (actions, of_nobody),
    ):
        for row in rows.filter(is_of_nobody):
            _forget_address(row, email)
    _redact(entries.exclude(content_type__app_label__in=APPS_OF_NOBODY))
    _redact_actions(actions.exclude(of_nobody))


def _forget_address(entry: LogEntry | StaffAction, email: str) -> None:
    changed = {}
    for column in ("object_repr", "change_message" if isinstance(entry, LogEntry) else "text"):
        text = without_address(getattr(entry, column), email, REDACTED)
        changed[column] = "" if names_address(text, email) else text
    type(entry)._default_manager.filter(pk=entry.pk).update(**changed)


def _naming(rows: QuerySet[Any], email: str, *columns: str) -> QuerySet[Any]:
    contains = Q()
    for column in columns:
        contains |= Q(**{f"{column}__icontains": email})
    found = rows.filter(contains).values_list("pk", *columns)
    return rows.filter(
        pk__in=[pk for pk, *texts in found if any(names_address(text, email) for text in texts)]
    )


def _redact_actions(actions: QuerySet[StaffAction]) -> None:
    actions.update(object_repr=REDACTED, text="")


def _redact(entries: QuerySet[LogEntry]) -> None:
    entries.update(object_repr=REDACTED, change_message="")


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


def _purge_mails(now: datetime) -> int:
    return Mail.objects.filter(created_at__lt=now - MAIL_RETENTION).delete()[0]


def _purge_sessions(now: datetime) -> int:
    return Session.objects.filter(expire_date__lt=now).delete()[0]


def _purge_tasks(now: datetime) -> int:
    finished = DBTaskResult.objects.filter(
        status__in=(TaskResultStatus.SUCCESSFUL, TaskResultStatus.FAILED),
        finished_at__lt=now - TASK_RETENTION,
    )
    return finished.delete()[0]


def _purge_changes(now: datetime) -> int:
    newest = PublicChange.objects.order_by("pk").last()
    if newest is None:
        return 0
    return PublicChange.objects.filter(pk__lte=newest.pk - KEPT_CHANGES).delete()[0]


def register() -> None:
    """Register the rules for the rows of the infrastructure: mails, sessions, finished tasks."""
    register_retention("Correos de más de 13 meses", _purge_mails)
    register_retention("Sesiones caducadas", _purge_sessions)
    register_retention("Tareas terminadas hace más de 30 días", _purge_tasks)
    register_retention("Cambios de las páginas públicas, salvo los 1.000 últimos", _purge_changes)
