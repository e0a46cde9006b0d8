"""Every status change of an order, in one place (docs/rules.md, "Orders and their states")."""

from collections.abc import Collection, Sequence

from django.utils import timezone

from apps.core.database import require_transaction
from apps.core.monitoring.purchase_log import log_step
from apps.orders.models import Order, OrderEvent
from apps.orders.models.statuses import EventKind

S = Order.Status
TRANSITIONS: dict[str, frozenset[str]] = {
    S.CART: frozenset({S.PAID, S.PAYING, S.EXPIRED}),
    S.PAYING: frozenset({S.PAID, S.OVERDUE, S.PARTIALLY_REFUNDED, S.REFUNDED}),
    S.OVERDUE: frozenset({S.PAYING, S.PAID, S.PARTIALLY_REFUNDED, S.REFUNDED}),
    S.PAID: frozenset({S.PARTIALLY_REFUNDED, S.REFUNDED}),
    S.PARTIALLY_REFUNDED: frozenset({S.REFUNDED}),
    S.REFUNDED: frozenset(),
    # Only a payment that arrives after the order expired does this. The caller flags the order.
    S.EXPIRED: frozenset({S.PAID, S.PAYING}),
}


class ImpossibleTransition(Exception):
    """A programming error: no request and no event leads to it."""


def change_status(
    order: Order,
    to: str,
    *,
    kind: EventKind,
    actor: str,
    reason: str,
    also: Collection[str] = (),
) -> None:
    """Move an order to another status and add an entry to its history.

    The caller holds the order's lock. `reason` is a Spanish sentence for staff. `also` are fields
    that the caller has changed and that are saved with the status. Raises ImpossibleTransition for
    a change that TRANSITIONS does not list.
    """
    require_transaction("change_status")
    if to not in TRANSITIONS[order.status]:
        raise ImpossibleTransition(f"order {order.pk}: {order.status} → {to}")
    before, order.status = order.status, to
    order.save(update_fields=["status", "updated_at", *also])
    OrderEvent.objects.create(
        order=order,
        kind=kind,
        actor=actor,
        from_status=before,
        to_status=to,
        reason=reason[:600],
    )
    log_step(order.pk, kind, f"{before} → {to}")


# How many rows a statement of `expire_carts` names.
AT_ONCE = 1_000


def expire_carts(ids: Sequence[int], *, kind: EventKind, actor: str, reason: str) -> None:
    """Expire these carts by a few statements: a stranger makes thousands in one person's name.

    As `change_status` for each. The caller holds their locks; nothing of them is being paid.
    """
    require_transaction("expire_carts")
    for first in range(0, len(ids), AT_ONCE):
        some = ids[first : first + AT_ONCE]
        carts = Order.objects.filter(pk__in=some, status=S.CART)
        carts.update(status=S.EXPIRED, updated_at=timezone.now())
        OrderEvent.objects.bulk_create(
            OrderEvent(
                order_id=order_id,
                kind=kind,
                actor=actor,
                from_status=S.CART,
                to_status=S.EXPIRED,
                reason=reason[:600],
            )
            for order_id in some
        )
    if ids:
        log_step(ids[0], kind, f"{S.CART} → {S.EXPIRED} ({len(ids)})")
