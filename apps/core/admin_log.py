"""The admin keeps what staff changed, with the row's name, which may be a person's address."""

from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Q, QuerySet

FORGOTTEN = "(datos borrados)"


def forget_entries_of(rows: QuerySet[Any]) -> None:
    """Take the names of these rows out of the log; who changed them and when stays.

    Part of the caller's transaction, before the rows are gone.
    """
    ids = [str(pk) for pk in rows.values_list("pk", flat=True)]
    kind = ContentType.objects.get_for_model(rows.model)
    _forget(LogEntry.objects.filter(content_type=kind, object_id__in=ids))


def forget_entries_naming(email: str) -> None:
    """Take an address out of the log, wherever it stands."""
    _forget(
        LogEntry.objects.filter(
            Q(object_repr__icontains=email) | Q(change_message__icontains=email)
        )
    )


def _forget(entries: QuerySet[LogEntry]) -> None:
    entries.update(object_repr=FORGOTTEN, change_message="")
