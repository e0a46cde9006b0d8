"""The admin's log: what staff did beyond forms."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.http import HttpRequest
from django.utils import timezone

from apps.core.models import StaffAction
from apps.core.staff.staff_log import save_as

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
        # An import or an export of everything names no rows.
        object_repr=(f"{model._meta.verbose_name_plural}: {len(numbers)}" if numbers else what)[
            :200
        ],
        action_flag=CHANGE,
        change_message=f"{what}: {listed}" if numbers else what,
    )
    save_as(entry, kind)


def log_action(request: HttpRequest, row: Model, what: str) -> None:
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
    _log_once(request, type(row), object_id=str(row.pk), object_repr=str(row)[:200])


def log_reading_of(request: HttpRequest, rows: Sequence[Model]) -> None:
    """Log that a member of staff has viewed these rows of one model on one page.

    It is one entry, which names all of them, unless it was just logged.
    """
    if len(rows) == 1:
        log_reading(request, rows[0])
    elif rows:
        title = f"{rows[0]._meta.verbose_name_plural}: {len(rows)}"
        numbers = ", ".join(str(row.pk) for row in rows)
        _log_once(request, type(rows[0]), text=numbers, object_repr=title[:200])


def _log_once(request: HttpRequest, model: type[Model], *, object_repr: str, **named: str) -> None:
    about = {
        "actor_id": request.user.pk,
        "kind": StaffAction.Kind.READ,
        "about": model._meta.label_lower,
        **named,
    }
    since = timezone.now() - ONE_READING
    if not StaffAction.objects.filter(**about, at__gt=since).exists():
        StaffAction.objects.create(
            **about, actor_name=request.user.get_username(), object_repr=object_repr
        )
