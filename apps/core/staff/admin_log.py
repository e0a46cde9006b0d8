"""The admin's log: what staff did beyond forms."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.http import HttpRequest
from django.utils import timezone

from apps.core.input_fields import is_row_number
from apps.core.models import StaffAction
from apps.core.staff.staff_log import save_as
from apps.core.web.throttle import Limit

# Views of the same row within this time are logged once: a page also loads its frame.
ONE_READING = timedelta(minutes=10)
# Of one account: nobody reads so many, and a program would fill the log or copy all customers.
TOO_MANY_READINGS = "Has abierto demasiadas fichas."
READINGS = (
    Limit("staff-readings", times=1_000, seconds=3600, reason=TOO_MANY_READINGS),
    Limit("staff-readings-day", times=5_000, seconds=86_400, reason=TOO_MANY_READINGS),
)
# More numbers than this are logged as ranges: "1-200, 305".
MOST_SINGLE = 200
# The most numbers or ranges of one entry: as many as an action may take rows (`MOST_COUNTED`).
MOST_LISTED = 2_000
LONGEST_FILTER = 300
# Letters of one value in it.
LONGEST_VALUE = 80
# Parameters of a list's address that choose no rows.
NO_FILTERS = ("o", "p", "e", "all", "_facets")
# The most rows of an entry that a link of the log leads to.
MOST_FOLLOWED = 100_000


def log_rows(
    request: HttpRequest,
    model: type[Model],
    ids: Iterable[Any],
    what: str,
    *,
    kind: str = StaffAction.Kind.ACTION,
) -> None:
    """Log an action or export of these rows by a member of staff. `what` is a Spanish phrase.

    All numbers are logged, unless a file of a whole list has more than `MOST_LISTED` ranges: then
    the entry says how many are missing, and the filter of the list. An export counts as a reading:
    raises TooManyRequests above those of an account.
    """
    if kind == StaffAction.Kind.EXPORTED:
        _count_reading(request.user)
    numbers = list(ids)
    listed = _listed(numbers, list_filter=_filter_of(request))
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


def _filter_of(request: HttpRequest) -> str:
    """The search and the filters of a list, as its address has them, on one line."""
    # Of most parameters the last value alone counts.
    chosen = {
        name: ",".join(reversed(values))
        for name, values in request.GET.lists()
        if name not in NO_FILTERS
    }
    names = sorted(chosen, key=lambda name: name != "q")
    return "&".join(f"{name}={' '.join(chosen[name].split())[:LONGEST_VALUE]}" for name in names)


def _listed(numbers: Sequence[Any], *, list_filter: str) -> str:
    if len(numbers) <= MOST_SINGLE:
        return ", ".join(map(str, numbers))
    ranges = _ranges(numbers)
    listed = ", ".join(text for text, _ in ranges[:MOST_LISTED])
    missing = sum(count for _, count in ranges[MOST_LISTED:])
    if not missing:
        return listed
    return f"{listed} y {missing} más, de la lista «{list_filter[:LONGEST_FILTER] or 'entera'}»"


def _ranges(numbers: Sequence[Any]) -> list[tuple[str, int]]:
    """Row numbers as texts of ranges in ascending order, each with how many rows it has."""
    if not all(isinstance(number, int) for number in numbers):
        return [(str(number), 1) for number in numbers]
    spans: list[list[int]] = []
    for number in sorted(set(numbers)):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return [
        (str(first) if first == last else f"{first}-{last}", last - first + 1)
        for first, last in spans
    ]


def logged_numbers(text: str) -> list[int]:
    """The row numbers of an entry's text by `log_rows`; empty if it lists none, or not all."""
    numbers: list[int] = []
    for part in text.rpartition(": ")[2].split(", "):
        first, _, last = part.partition("-")
        if not (is_row_number(first) and (not last or is_row_number(last))):
            return []
        several = range(int(first), int(last or first) + 1)
        if len(numbers) + len(several) > MOST_FOLLOWED:
            return []
        numbers += several
    return numbers


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


def key_of(user: Any) -> str:
    """The key by which what an account does is counted. A new password begins a new count.

    Whoever uses a stolen session up does not keep its owner from going on.
    """
    return f"{user.pk} {user.get_session_auth_hash()}"


def _count_reading(user: Any) -> None:
    for limit in READINGS:
        limit.count_key(key_of(user))


def log_reading(request: HttpRequest, row: Model) -> None:
    """Log that a member of staff has viewed this row, unless that was just logged.

    Only the log of staff has readings: Django's own lists what somebody has changed. Raises
    TooManyRequests above the readings of an account.
    """
    _log_once(request, type(row), object_id=str(row.pk), object_repr=str(row)[:200])


def log_reading_of(request: HttpRequest, rows: Sequence[Model]) -> None:
    """Log that a member of staff has viewed these rows of one model on one page.

    It is one entry, which names all of them, unless it was just logged. Raises TooManyRequests
    above the readings of an account.
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
        _count_reading(request.user)
        StaffAction.objects.create(
            **about, actor_name=request.user.get_username(), object_repr=object_repr
        )
