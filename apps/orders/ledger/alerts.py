"""Mails to staff about one order."""

from django.conf import settings

from apps.core.mail.outbox import queue_mail
from apps.orders.models import Order


def alert_staff(order: Order, *, occasion: str, reason: str) -> None:
    """Queue a mail to staff about an order. `occasion` is its key: each is mailed once.

    `reason` is a Spanish sentence.
    """
    queue_mail(
        key=f"staff-attention:{occasion}",
        template="staff_attention",
        to=settings.STAFF_EMAIL,
        context={"order_id": order.pk, "reason": reason},
    )
