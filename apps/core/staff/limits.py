"""The limits of what a member of staff may give away on their own: the one place for them.

The rules are in docs/rules.md, "Limits of staff".
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db.models import Sum

from apps.core.database import require_transaction
from apps.core.dates import today
from apps.core.errors import Conflict
from apps.core.money import format_euros, to_cents, to_euros
from apps.core.staff_limit_records import StaffDiscount, StaffExtension, StaffLimit

LIMITS = (
    "discount_percent", "discount_a_day", "refund_a_day", "transfer_a_day", "extension_days",
    "extensions_a_day",
)  # fmt: skip


class OverLimit(Conflict):
    """More than this member of staff may give away. The message says it in Spanish."""

    code = "over_limit"


@dataclass(frozen=True)
class Limits:
    """The limits of one member of staff, in cents a day and percent of an order.

    `extension_days` is how long after the day that was sold an access may end, `extensions` how
    many may be extended in a day. They and `discount_cents` are None for superusers, who have no
    such limit.
    """

    discount_percent: int
    discount_cents: int | None
    refund_cents: int
    transfer_cents: int
    extension_days: int | None
    extensions: int | None


def limits_of(user: Any) -> Limits:
    """The limits of a member of staff: the highest of their groups'.

    The settings of the server bound refunds and transfers of everybody, superusers too.
    """
    refund_euros, transfer_euros = settings.REFUND_DAILY_LIMIT, settings.TRANSFER_DAILY_LIMIT
    if user.is_superuser:
        return Limits(100, None, refund_euros * 100, transfer_euros * 100, None, None)
    groups = user.groups.select_related("staff_limit")
    rows = [getattr(group, "staff_limit", None) or StaffLimit() for group in groups]
    rows = rows or [StaffLimit()]
    return Limits(
        discount_percent=max(row.discount_percent for row in rows),
        discount_cents=max(row.discount_a_day for row in rows) * 100,
        refund_cents=min(refund_euros, max(row.refund_a_day for row in rows)) * 100,
        transfer_cents=min(transfer_euros, max(row.transfer_a_day for row in rows)) * 100,
        extension_days=max(row.extension_days for row in rows),
        extensions=max(row.extensions_a_day for row in rows),
    )


def limits_in(group: Group) -> dict[str, int]:
    """The limits of a group by the names of the fields of `StaffLimit`, in euros and numbers."""
    row = getattr(group, "staff_limit", None) or StaffLimit()
    return {name: getattr(row, name) for name in LIMITS}


def highest_limits(user: Any) -> dict[str, int]:
    """The highest limits of a user's groups, as `limits_in`. The settings do not bound them."""
    rows = [limits_in(group) for group in user.groups.select_related("staff_limit")]
    rows = rows or [{name: getattr(StaffLimit(), name) for name in LIMITS}]
    return {name: max(row[name] for row in rows) for name in LIMITS}


def check_discount(
    user: Any, *, full_cents: int, discount_cents: int, counted_cents: int = 0
) -> None:
    """Raise OverLimit if the user may not take so much off a price of `full_cents` today.

    `counted_cents` of the discount have counted towards somebody's day before.
    """
    limits = limits_of(user)
    if limits.discount_cents is None or discount_cents <= 0:
        return
    if discount_cents * 100 > limits.discount_percent * full_cents:
        raise OverLimit(
            f"Pasa de tu límite: puedes rebajar hasta el {limits.discount_percent} % de un pedido."
        )
    left = max(0, limits.discount_cents - _given_today_cents(user))
    if discount_cents - counted_cents > left:
        raise OverLimit(f"Pasa de tu límite: hoy te quedan {format_euros(left)} de descuentos.")


def check_offer(user: Any, percent: Decimal, *, cents: int | None = 0) -> None:
    """Raise OverLimit if the user may not offer this percentage of an order to everybody.

    `cents` is what all uses of the offer take off together. None is an offer without an end, which
    nobody with a limit a day may make. 0 is one that has no uses to count, such as a campaign.
    """
    limits = limits_of(user)
    if percent > limits.discount_percent:
        raise OverLimit(
            f"Pasa de tu límite: puedes rebajar hasta el {limits.discount_percent} % de un pedido. "
            "Lo tiene que guardar alguien con un límite mayor."
        )
    if limits.discount_cents is None or cents == 0:
        return
    left = max(0, limits.discount_cents - _given_today_cents(user))
    if cents is None:
        raise OverLimit(
            "Pasa de tu límite: di cuántos usos tiene, porque hoy te quedan "
            f"{format_euros(left)} de descuentos. Sin un número lo tiene que guardar alguien sin "
            "ese límite."
        )
    if cents > left:
        raise OverLimit(
            f"Pasa de tu límite: rebaja unos {format_euros(cents)} en total, y hoy te quedan "
            f"{format_euros(left)} de descuentos. Lo tiene que guardar alguien con un límite mayor."
        )


def give_offer(user: Any, percent: Decimal, *, cents: int | None, what: str) -> None:
    """Count an offer towards the user's limit of today. Raises OverLimit."""
    lock_giver(user)
    check_offer(user, percent, cents=cents)
    if cents and limits_of(user).discount_cents is not None:
        StaffDiscount.objects.create(user=user, amount=to_euros(cents), what=what[:120])


def lock_giver(user: Any) -> None:
    """Lock the user's row until the transaction ends.

    Then two discounts do not both fit into what is left of the day.
    """
    require_transaction("lock_giver")
    get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)


def give_discount(
    user: Any, *, full_cents: int, discount_cents: int, what: str, counted_cents: int = 0
) -> None:
    """Count a discount towards the user's limit of today. Raises OverLimit.

    `counted_cents` of it have counted towards somebody's day before, and do not count again.
    """
    lock_giver(user)
    check_discount(
        user,
        full_cents=full_cents,
        discount_cents=discount_cents,
        counted_cents=counted_cents,
    )
    new_cents = discount_cents - counted_cents
    if new_cents > 0:
        StaffDiscount.objects.create(user=user, amount=to_euros(new_cents), what=what[:120])


def counted_cents_of(user: Any, what: str) -> int:
    """How many cents of a discount have counted towards this user's days so far.

    `what` names it as it was counted.
    """
    rows = StaffDiscount.objects.filter(user=user, what=what[:120])
    counted = rows.aggregate(sum=Sum("amount"))["sum"]
    return to_cents(counted) if counted else 0


def _given_today_cents(user: Any) -> int:
    rows = _of_today(StaffDiscount, user)
    given = rows.aggregate(sum=Sum("amount"))["sum"]
    return to_cents(given) if given else 0


def check_extensions(user: Any, count: int) -> None:
    """Raise OverLimit if the user may not extend so many accesses today."""
    most = limits_of(user).extensions
    if most is None or not count:
        return
    left = max(0, most - (_of_today(StaffExtension, user).aggregate(sum=Sum("count"))["sum"] or 0))
    if count > left:
        raise OverLimit(
            f"Pasa de tu límite: son {count} ampliaciones, y hoy te quedan {left}. Lo tiene que "
            "hacer alguien con un límite mayor."
        )


def give_extensions(user: Any, count: int) -> None:
    """Count extensions of accesses towards the user's limit of today. Raises OverLimit."""
    lock_giver(user)
    check_extensions(user, count)
    if count:
        StaffExtension.objects.create(user=user, count=count)


def _of_today(model: type[StaffDiscount] | type[StaffExtension], user: Any) -> Any:
    return model.objects.filter(user=user, created_at__date=today())
