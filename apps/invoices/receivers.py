"""Learns from an order's history that its money has changed."""

from typing import Any

from django.db.models.signals import post_save

from apps.invoices.models import BillingDetails
from apps.invoices.pending import may_need_invoices, queue_invoices
from apps.orders.models import Order, OrderEvent
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
    if instance.kind == EventKind.EXCHANGED:
        _take_billing_details(instance.order)
    if instance.kind in MONEY_CHANGED and may_need_invoices(instance.order):
        queue_invoices(instance.order)


def _take_billing_details(order: Order) -> None:
    """Invoice an order to whom the line was invoiced that was exchanged for it."""
    line = order.by_staff.exchanged_line
    details = BillingDetails.objects.filter(order=line.order_id).first() if line else None
    if details is not None and not BillingDetails.objects.filter(order=order).exists():
        BillingDetails.objects.create(order=order, **details.as_recipient())
        queue_invoices(order)


def connect() -> None:
    post_save.connect(after_event, sender=OrderEvent, dispatch_uid="invoices.after_event")
