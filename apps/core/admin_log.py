"""Removing personal data from the admin's log, whose entries contain e-mail addresses."""

from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Q, QuerySet

REDACTED = "(datos borrados)"


def redact_entries_of(rows: QuerySet[Any]) -> None:
    """Redact the log entries about these rows. Author and time of each change stay.

    Call this in the caller's transaction, before the rows are deleted.
    """
    ids = [str(pk) for pk in rows.values_list("pk", flat=True)]
    content_type = ContentType.objects.get_for_model(rows.model)
    _redact(LogEntry.objects.filter(content_type=content_type, object_id__in=ids))


def redact_entries_naming(email: str) -> None:
    """Redact every log entry that contains this address."""
    _redact(
        LogEntry.objects.filter(
            Q(object_repr__icontains=email) | Q(change_message__icontains=email)
        )
    )


def _redact(entries: QuerySet[LogEntry]) -> None:
    entries.update(object_repr=REDACTED, change_message="")
