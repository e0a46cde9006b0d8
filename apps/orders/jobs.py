"""What the clock does about orders."""

from datetime import timedelta

from apps.core.jobs import job
from apps.orders.remind import queue_due_reminders


@job("cart_reminders", "Avisar de compras a medias", when=timedelta(minutes=15))
def cart_reminders() -> str:
    count = queue_due_reminders()
    return f"Avisos enviados: {count}" if count else ""
