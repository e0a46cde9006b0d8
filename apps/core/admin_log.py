"""The admin's log: what staff did beyond forms, and removing personal data from it."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from apps.core.identity import names_address
from apps.core.models import StaffAction
from apps.core.staff_log import save_as

REDACTED = "(datos borrados)"
# Views of the same row within this time are logged once: a page also loads its frame.
ONE_READING = timedelta(minutes=10)
MOST_NUMBERS = 200


def log_rows(
    request: HttpRequest,
    model: type[Model],
    ids: Iterable[Any],
    what: str,
    *,
    kind: str = StaffAction.Kind.ACTION,
) -> None:
    """Log an action or export of these rows by a member of staff. `what` is a Spanish phrase."""
    numbers = [str(pk) for pk in ids]
    listed = ", ".join(numbers[:MOST_NUMBERS]) + (" …" if len(numbers) > MOST_NUMBERS else "")
    entry = LogEntry(
        user_id=request.user.pk or 0,
        content_type=ContentType.objects.get_for_model(model),
        object_repr=f"{model._meta.verbose_name_plural}: {len(numbers)}"[:200],
        action_flag=CHANGE,
        change_message=f"{what}: {listed}",
    )
    save_as(entry, kind)


def log_about(request: HttpRequest, row: Model, what: str) -> None:
    """Log what a member of staff has done with this row. `what` is a Spanish phrase."""
    LogEntry.objects.create(
        user_id=request.user.pk or 0,
        content_type=ContentType.objects.get_for_model(type(row)),
        object_id=str(row.pk),
        object_repr=str(row)[:200],
        action_flag=CHANGE,
        change_message=what,
    )


def log_reading(request: HttpRequest, row: Model) -> None:
    """Log that a member of staff has viewed this row, unless that was just logged.

    Only the log of staff has readings: Django's own lists what somebody has changed.
    """
    about = {
        "actor_id": request.user.pk,
        "kind": StaffAction.Kind.READ,
        "about": type(row)._meta.label_lower,
        "object_id": str(row.pk),
    }
    since = timezone.now() - ONE_READING
    if not StaffAction.objects.filter(**about, at__gt=since).exists():
        StaffAction.objects.create(
            **about, actor_name=request.user.get_username(), object_repr=str(row)[:200]
        )


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
    """Redact every log entry that names this address, and none that names a longer one."""
    _redact(_naming(LogEntry.objects.all(), email, "object_repr", "change_message"))
    _redact_actions(_naming(StaffAction.objects.all(), email, "object_repr", "text"))


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
