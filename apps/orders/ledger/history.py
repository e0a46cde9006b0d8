"""The history of an order and its flag for staff."""

from collections.abc import Iterable
from functools import partial

from django.db import transaction

from apps.core.database import require_transaction
from apps.core.monitoring.incidents import IncidentKind, note_incident, register_incident
from apps.core.monitoring.purchase_log import log_step
from apps.orders.ledger.locks import lock_orders
from apps.orders.models import Order, OrderEvent
from apps.orders.models.statuses import EventKind

# Their reason is the bank's, and names nobody. Other reasons are written by staff.
REFUSALS = (EventKind.CARD_REFUSED, EventKind.CHARGE_REFUSED, EventKind.PAYMENT_DECLINED)
REFUSAL = "refusal-"
for _kind in REFUSALS:
    register_incident(f"{REFUSAL}{_kind}", IncidentKind(_kind.label, "Se cuentan para /metrics."))


def note(order: Order, *, kind: EventKind, actor: str, reason: str, external_id: str = "") -> None:
    """Add an entry to the order's history. `reason` is a Spanish sentence for staff.

    The caller holds the order's lock.
    """
    require_transaction("note")
    OrderEvent.objects.create(
        order=order, kind=kind, actor=actor[:80], reason=reason[:600], external_id=external_id
    )
    log_step(order.pk, kind, reason if kind in REFUSALS else "")
    if kind in REFUSALS:
        # After the commit: no transaction holds the lock of the counter's row.
        transaction.on_commit(partial(note_incident, f"{REFUSAL}{kind}"), robust=True)


def has_event(order: Order, *, kind: EventKind, external_id: str) -> bool:
    """Whether the history has an entry of this kind with this id at the provider."""
    return order.events.filter(kind=kind, external_id=external_id).exists()


def flag(order: Order, *, kind: EventKind, actor: str, reason: str) -> None:
    """Add an entry to the history and flag the order for staff.

    An order has one flag. A later one is only added to the history until staff clear the first.
    """
    note(order, kind=kind, actor=actor, reason=reason)
    if not order.flag:
        order.flag = reason[:200]
        order.save(update_fields=["flag", "updated_at"])


@transaction.atomic
def attend_flags(order_ids: Iterable[int], *, actor: str) -> int:
    """Clear the flags of these orders, which staff have attended to. Returns how many had one."""
    rows = lock_orders(Order.objects.exclude(flag="").filter(pk__in=order_ids))
    for order in rows:
        note(order, kind=EventKind.ATTENDED, actor=actor, reason=f"Atendido: {order.flag}")
        order.flag = ""
        order.save(update_fields=["flag", "updated_at"])
    return len(rows)
