"""Learns from an order's history that a withdrawal has been refunded."""

from typing import Any

from django.db.models import Q
from django.db.models.signals import post_save
from django.utils import timezone

from apps.leads.withdrawal.models import Withdrawal
from apps.orders.ledger.lines import order_money
from apps.orders.models import Order, OrderEvent, Refund
from apps.orders.models.statuses import REFUND_COUNTED, EventKind

_MONEY_BACK = (EventKind.REFUNDED, EventKind.REFUND_OUTSIDE)


def after_event(sender: type[OrderEvent], instance: OrderEvent, **kwargs: Any) -> None:
    if instance.kind in _MONEY_BACK:
        settle_refunded(instance.order)


def settle_refunded(order: Order) -> None:
    """Resolve the order's open cases whose refund has been made.

    A refund that was requested after the last statement settles it if it returns everything, or
    the lines that were left. A statement is a free text: after a refund of some lines, or of a free
    amount, staff decide whether more is owed. So they do after an exchange: it pays another order.
    """
    cases = list(Withdrawal.objects.filter(order=order, status=Withdrawal.Status.OPEN))
    if not cases:
        return
    settling = Q(ends_order=True)
    if all(row.is_refunded for row in order_money(order).lines):
        settling |= Q(lines__isnull=False)
    for case in cases:
        since = Refund.objects.filter(
            payment__order=order, created_at__gte=case.statements[-1].received_at
        )
        made = since.filter(settling, status__in=(*REFUND_COUNTED, Refund.Status.OUTSIDE))
        is_exchanged = since.filter(status=Refund.Status.CREDITED).exists()
        if made.exclude(reference="").exists() and not is_exchanged:
            Withdrawal.objects.filter(pk=case.pk, status=Withdrawal.Status.OPEN).update(
                status=Withdrawal.Status.REFUNDED, resolved_at=timezone.now()
            )


def connect() -> None:
    post_save.connect(after_event, sender=OrderEvent, dispatch_uid="leads.withdrawal.after_event")
