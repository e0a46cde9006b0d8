"""Every status change of an order, in one place (decisions.md, "Orders")."""

from apps.orders.models import Order, OrderEvent

S = Order.Status
TRANSITIONS: dict[str, frozenset[str]] = {
    S.CART: frozenset({S.PAID, S.PAYING, S.EXPIRED}),
    S.PAYING: frozenset({S.PAID, S.OVERDUE, S.PARTIALLY_REFUNDED, S.REFUNDED}),
    S.OVERDUE: frozenset({S.PAYING, S.PAID, S.PARTIALLY_REFUNDED, S.REFUNDED}),
    S.PAID: frozenset({S.PARTIALLY_REFUNDED, S.REFUNDED}),
    S.PARTIALLY_REFUNDED: frozenset({S.REFUNDED}),
    S.REFUNDED: frozenset(),
    # Only by a payment that arrives late; whoever does it flags the order.
    S.EXPIRED: frozenset({S.PAID, S.PAYING}),
}


class ImpossibleTransition(Exception):
    """A programming error: nothing a visitor does may lead here."""


def change_status(order: Order, to: str, *, actor: str, reason: str) -> None:
    """Move a locked order to another status and keep when, who and why.

    The caller holds the row's lock and saves nothing of the status itself.
    """
    if to not in TRANSITIONS[order.status]:
        raise ImpossibleTransition(f"order {order.pk}: {order.status} → {to}")
    before, order.status = order.status, to
    order.save(update_fields=["status", "updated_at"])
    OrderEvent.objects.create(
        order=order, actor=actor, from_status=before, to_status=to, reason=reason
    )


def note(order: Order, *, actor: str, reason: str) -> None:
    """Keep something that happened without a change of status."""
    OrderEvent.objects.create(order=order, actor=actor, reason=reason)


def flag(order: Order, *, actor: str, reason: str) -> None:
    """Put the order before the staff's eyes; the first reason stays, all are in the history."""
    note(order, actor=actor, reason=reason)
    if not order.flag:
        order.flag = reason[:200]
        order.save(update_fields=["flag", "updated_at"])
