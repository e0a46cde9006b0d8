"""Scheduled jobs of orders."""

from datetime import time, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.classroom.models import STUCK_CHANGE, AccessChange
from apps.core.jobs import job
from apps.core.mail.outbox import queue_mail
from apps.orders.checkout.remind import queue_due_reminders
from apps.orders.popularity import refresh_popularity
from apps.orders.reads import paid_without_access
from apps.orders.rewards.service import release_due_rewards
from apps.orders.settlement.gift_delivery import deliver_due

# Staff are mailed about a paid order that has no access after this time.
MISSING_ACCESS_AFTER = timedelta(minutes=15)


@job("cart_reminders", "Avisar de compras a medias", when=timedelta(minutes=15))
def cart_reminders() -> str:
    count = queue_due_reminders()
    return f"Avisos enviados: {count}" if count else ""


@job("alert_missing_access", "Avisar de pagos sin acceso al aula", when=timedelta(minutes=5))
def alert_missing_access() -> str:
    """Mail staff about each paid order that has no classroom access after 15 minutes."""
    # Any: mypy does not know the annotated columns.
    late: Any = paid_without_access().filter(paid_at__lt=timezone.now() - MISSING_ACCESS_AFTER)
    mailed = 0
    for order_id, problem in late.values_list("pk", "access_problem"):
        with transaction.atomic():
            mail = queue_mail(
                key=f"staff-attention:no-access-{order_id}",
                template="staff_attention",
                to=settings.STAFF_EMAIL,
                context={
                    "order_id": order_id,
                    "reason": "Pagado y todavía sin acceso al aula: "
                    + (problem or "el alta no ha llegado a intentarse"),
                },
            )
        mailed += mail is not None
    return f"Avisos de pagos sin acceso: {mailed}" if mailed else ""


@job("alert_stuck_access", "Avisar de cambios de acceso atascados", when=timedelta(minutes=5))
def alert_stuck_access() -> str:
    """Mail staff once about each withdrawal, pause or other change the classroom has not taken."""
    mailed = 0
    for change in AccessChange.objects.filter(STUCK_CHANGE):
        with transaction.atomic():
            mail = queue_mail(
                key=f"staff-attention:access-change-{change.pk}",
                template="staff_attention",
                to=settings.STAFF_EMAIL,
                context={
                    "access_change_id": change.pk,
                    "reason": f"El aula no ha hecho el cambio «{change.reason}»: "
                    + (change.last_error or "no se ha llegado a terminar ningún intento"),
                },
            )
        mailed += mail is not None
    return f"Avisos de cambios de acceso atascados: {mailed}" if mailed else ""


@job("deliver_gifts", "Entregar los regalos de hoy", when=timedelta(minutes=5))
def deliver_gifts() -> str:
    count = deliver_due()
    return f"Regalos entregados: {count}" if count else ""


@job("release_rewards", "Liberar recompensas por amigos", when=timedelta(hours=1))
def release_rewards() -> str:
    count = release_due_rewards()
    return f"Recompensas por pagar desde ahora: {count}" if count else ""


@job("refresh_popularity", "Contar las asignaturas más elegidas", when=time(4, 10))
def count_popular_subjects() -> str:
    count = refresh_popularity()
    return f"Asignaturas con otro número de compras: {count}" if count else ""
