"""Learns from an order's history that its money has changed."""

from typing import Any

from django.db.models.signals import post_save

from apps.invoices.pending import may_need_invoices, queue_invoices
from apps.orders.models import OrderEvent
from apps.orders.models.statuses import EventKind

# After these the order's invoices may have to add up to something else.
MONEY_CHANGED = (
    EventKind.PAID,
    EventKind.PLAN_CANCELED,
    EventKind.REFUNDED,
    EventKind.REFUND_OUTSIDE,
    EventKind.REFUND_SENT_BACK,
)


def after_event(sender: type[OrderEvent], instance: OrderEvent, **kwargs: Any) -> None:
    if instance.kind in MONEY_CHANGED and may_need_invoices(instance.order):
        queue_invoices(instance.order)


def connect() -> None:
    post_save.connect(after_event, sender=OrderEvent, dispatch_uid="invoices.after_event")
