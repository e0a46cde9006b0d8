"""A gift that is never delivered, because its order was refunded (docs/rules.md, "Gifts")."""

from apps.orders.ledger.history import note
from apps.orders.models import Gift, Order
from apps.orders.models.statuses import EventKind


def cancel_gift(order: Order, *, actor: str, reason: str) -> None:
    """Cancel the gift of an order that waits for its day. The caller holds the order's lock."""
    waiting = Gift.objects.waiting().filter(order=order)
    if waiting.update(status=Gift.Status.CANCELED):
        note(order, kind=EventKind.GIFT_CANCELED, actor=actor, reason=f"Regalo anulado: {reason}")
