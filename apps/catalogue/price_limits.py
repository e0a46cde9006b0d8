"""How far a member of staff may lower a price on their own (docs/rules.md, "Limits of staff")."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db.models import F
from django.utils import timezone

from apps.catalogue.models import Lesson, PriceChange, Subject
from apps.catalogue.place_limits import (
    EVERYTHING,
    OwnCampaign,
    Place,
    largest_percent,
    least_price,
    own_campaigns,
)
from apps.catalogue.recorded import Recorded
from apps.core.money import format_euros, to_cents
from apps.core.staff.limits import OverLimit, limits_of, lock_giver

# Many small steps within these days count as one.
WINDOW = timedelta(days=30)
# SQLite allows at most 32,766 parameters in a statement.
ROWS_AT_ONCE = 10_000


def check_lowered(user: Any, changes: Sequence[tuple[Recorded, Decimal | None, Decimal]]) -> None:
    """Raise OverLimit if the user lowers a price (row, before, after) by more than they may.

    `before` is None for a first price, which has no limit, except that a subject costs at least
    `least_price`. Each complete subject raises the volume discount of the whole cart: a few for
    nothing would take it to its highest step.

    A later price is compared with that of 30 days ago, or with the last one that somebody else has
    set since, if that is higher. A campaign that the user has saved in these days takes its
    percentage off the new price. The user's row stays locked until the transaction ends: otherwise
    a campaign and a price that are saved at the same moment would both be within the limit. `user`
    is None for the shop itself.
    """
    if user is None or user.is_superuser:
        return
    lowered = [(row, before, after) for row, before, after in changes if before and after < before]
    added = [(row, after) for row, before, after in changes if before is None]
    if not lowered and not any(isinstance(row, Subject) for row, _ in added):
        return
    most = limits_of(user).discount_percent
    least = least_price(user)
    for row, after in added:
        if isinstance(row, Subject) and after < least:
            raise OverLimit(_too_cheap(row, least))
    if not lowered:
        return
    lock_giver(user)
    own = own_campaigns(user)
    for first in range(0, len(lowered), ROWS_AT_ONCE):
        some = lowered[first : first + ROWS_AT_ONCE]
        earlier = _earlier_prices(user, [row for row, _, _ in some])
        # Places are read only for those who have a campaign.
        places = _places([row for row, _, _ in some]) if own else {}
        for row, before, after in some:
            base = earlier.get((type(row), row.pk), before)
            campaign = largest_percent(own, places[type(row), row.pk]) if own else 0
            if after * (100 - campaign) < base * (100 - most):
                raise OverLimit(_too_low(row, base, most, campaign))
            if isinstance(row, Subject) and after < min(least, base):
                raise OverLimit(_too_cheap(row, least))


def check_put_on_sale(user: Any, subjects: Iterable[Subject]) -> None:
    """Raise OverLimit if one of these subjects costs less than the user may sell it for."""
    least = least_price(user)
    for subject in subjects:
        if subject.final_price < least:
            raise OverLimit(_too_cheap(subject, least))


@contextmanager
def cheap_stay_off_sale(user: Any) -> Iterator[None]:
    """Raise OverLimit after a block that puts a subject on sale for less than the user may.

    It may do so by the subject, a lesson or the university. The caller's transaction then ends.
    """
    cheap = Subject.objects.on_sale().filter(final_price__lt=least_price(user))
    before = set(cheap.order_by().values_list("pk", flat=True))
    yield
    check_put_on_sale(user, (subject for subject in cheap if subject.pk not in before))


def check_campaign(user: Any, campaign: OwnCampaign) -> None:
    """Raise OverLimit if a campaign and the prices that its user has lowered exceed their limit.

    Each price that the user has lowered in the last 30 days, less the campaign, is compared as in
    `check_lowered`, and the user's row is locked likewise.
    """
    if user.is_superuser:
        return
    lock_giver(user)
    most = limits_of(user).discount_percent
    since = timezone.now() - WINDOW
    lowered = PriceChange.objects.filter(
        changed_by=user, changed_at__gte=since, after__lt=F("before")
    )
    rows: list[Recorded] = [
        *Subject.objects.filter(pk__in=lowered.values("subject")),
        *Lesson.objects.filter(pk__in=lowered.values("lesson")),
    ]
    for first in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[first : first + ROWS_AT_ONCE]
        places = _places(some)
        some = [row for row in some if campaign.counts_at(places[type(row), row.pk])]
        for row, base in zip(some, _bases(user, some), strict=True):
            if getattr(row, row.price_field) * (100 - campaign.percent) < base * (100 - most):
                raise OverLimit(_too_low(row, base, most, campaign.percent))


def _places(rows: Sequence[Recorded]) -> dict[tuple[type[Recorded], int], Place]:
    """The stored places of subjects and lessons, by model and id. The rows need only their id."""
    found: dict[tuple[type[Recorded], int], Place] = {}
    for model, to_subject in ((Subject, ""), (Lesson, "subject__")):
        ids = [row.pk for row in rows if isinstance(row, model)]
        place = (f"{to_subject}degree__university", f"{to_subject}degree", f"{to_subject}pk")
        for pk, *parts in model._base_manager.filter(pk__in=ids).values_list("pk", *place):
            found[model, pk] = Place(*parts)
    return found


def _bases(user: Any, rows: Sequence[Recorded]) -> list[Decimal]:
    """The prices with which new ones are compared, of rows whose price has changed in 30 days."""
    earlier = _earlier_prices(user, rows)
    return [earlier[(type(row), row.pk)] for row in rows]


def _too_low(row: Recorded, base: Decimal, most: int, campaign: int) -> str:
    beside = f", también junto con tu campaña del {campaign} %" if campaign else ""
    return (
        f"Pasa de tu límite: puedes bajar un precio hasta un {most} % en 30 días{beside}, y "
        f"«{row}» costaba {format_euros(to_cents(base))}. Lo tiene que bajar alguien con un límite "
        "mayor."
    )


def _too_cheap(row: Subject, least: Decimal) -> str:
    # A form checks a new row before it has its name.
    who = f"«{row}»" if row.name else "una asignatura"
    return (
        f"Pasa de tu límite: {who} tiene que costar al menos {format_euros(to_cents(least))}, para "
        "que el descuento por volumen no baje más el carrito. Un precio menor lo tiene que poner "
        f"alguien que pueda rebajar hasta un {EVERYTHING} %."
    )


def _earlier_prices(
    user: Any, rows: Sequence[Recorded]
) -> dict[tuple[type[Recorded], int], Decimal]:
    """The prices of 30 days ago of those rows whose price has changed since, by model and id.

    A row that is newer has its first price. The last price that somebody else has set in these days
    counts instead if it is higher: the user may take back a raise of their own only.
    """
    since = timezone.now() - WINDOW
    found: dict[tuple[type[Recorded], int], Decimal] = {}
    set_by_others: dict[tuple[type[Recorded], int], Decimal] = {}
    for model, link in ((Subject, "subject_id"), (Lesson, "lesson_id")):
        ids = [row.pk for row in rows if isinstance(row, model)]
        oldest_first = (
            PriceChange.objects.filter(**{f"{link}__in": ids}, changed_at__gte=since)
            .order_by("changed_at", "pk")
            .values_list(link, "before", "after", "changed_by")
        )
        for pk, before, after, changed_by in oldest_first:
            found.setdefault((model, pk), after if before is None else before)
            if changed_by != user.pk:
                set_by_others[model, pk] = after
    return {row: max(price, set_by_others.get(row, price)) for row, price in found.items()}
