"""How far a member of staff may lower a price on their own (docs/rules.md, "Limits of staff")."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from apps.catalogue.models import Lesson, PriceChange, Subject
from apps.catalogue.recorded import Recorded
from apps.core.money import format_euros, to_cents
from apps.core.staff.limits import OverLimit, limits_of

# Many small steps within these days count as one.
WINDOW = timedelta(days=30)
# SQLite allows at most 32,766 parameters in a statement.
ROWS_AT_ONCE = 10_000


def check_lowered(user: Any, changes: Sequence[tuple[Recorded, Decimal | None, Decimal]]) -> None:
    """Raise OverLimit if the user lowers a price (row, before, after) by more than they may.

    It is compared with the price of 30 days ago. `user` is None for the shop itself.
    """
    lowered = [(row, before, after) for row, before, after in changes if before and after < before]
    if user is None or user.is_superuser or not lowered:
        return
    most = limits_of(user).discount_percent
    for first in range(0, len(lowered), ROWS_AT_ONCE):
        some = lowered[first : first + ROWS_AT_ONCE]
        earlier = _earlier_prices([row for row, _, _ in some])
        for row, before, after in some:
            base = earlier.get((type(row), row.pk), before)
            if after * 100 < base * (100 - most):
                raise OverLimit(
                    f"Pasa de tu límite: puedes bajar un precio hasta un {most} % en 30 días, y "
                    f"«{row}» costaba {format_euros(to_cents(base))}. Lo tiene que bajar alguien "
                    "con un límite mayor."
                )


def _earlier_prices(rows: Sequence[Recorded]) -> dict[tuple[type[Recorded], int], Decimal]:
    """The prices of 30 days ago of those rows whose price has changed since, by model and id.

    A row that is newer has its first price.
    """
    since = timezone.now() - WINDOW
    found: dict[tuple[type[Recorded], int], Decimal] = {}
    for model, link in ((Subject, "subject_id"), (Lesson, "lesson_id")):
        ids = [row.pk for row in rows if isinstance(row, model)]
        oldest_first = (
            PriceChange.objects.filter(**{f"{link}__in": ids}, changed_at__gte=since)
            .order_by("changed_at", "pk")
            .values_list(link, "before", "after")
        )
        for pk, before, after in oldest_first:
            found.setdefault((model, pk), after if before is None else before)
    return found
