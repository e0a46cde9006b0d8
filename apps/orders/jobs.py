"""Scheduled jobs of orders."""

from collections import defaultdict
from datetime import time, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from apps.catalogue.models import Subject
from apps.classroom.models import STUCK_CHANGE, AccessChange
from apps.core.jobs import job
from apps.core.mail.outbox import queue_mail
from apps.orders.checkout.by_transfer import expire_unpaid, remind_buyers
from apps.orders.checkout.remind import queue_due_reminders
from apps.orders.models import OrderLine
from apps.orders.models.statuses import SOLD
from apps.orders.reads import paid_without_access
from apps.orders.renewals import renewals
from apps.orders.rewards.service import release_due_rewards
from apps.orders.settlement.gift_delivery import deliver_due

# The orders that count for "Más elegidas", the order of lists and search.
COUNTED = timedelta(days=365)
# Staff are mailed about a paid order that has no access after this time.
MISSING_ACCESS_AFTER = timedelta(minutes=15)


@transaction.atomic
def refresh_popularity() -> int:
    """Store the paid orders of the last year for each subject; return how many have changed."""
    orders_of = dict(
        OrderLine.objects.filter(
            order__status__in=SOLD, order__paid_at__gt=timezone.now() - COUNTED
        )
        .order_by()
        .values_list("subject")
        .annotate(orders=Count("order", distinct=True))
    )
    stored = dict(
        Subject.objects.filter(popularity__gt=0).order_by().values_list("pk", "popularity")
    )
    changed: dict[int, list[int]] = defaultdict(list)
    for subject_id in stored.keys() | orders_of.keys():
        orders = orders_of.get(subject_id, 0)
        if stored.get(subject_id, 0) != orders:
            changed[orders].append(subject_id)
    return sum(
        Subject.objects.filter(pk__in=ids).update(popularity=orders)
        for orders, ids in changed.items()
    )


@job("cart_reminders", "Avisar de compras a medias", when=timedelta(minutes=15))
def cart_reminders() -> str:
    count = queue_due_reminders()
    return f"Avisos enviados: {count}" if count else ""


@job(
    "follow_transfers",
    "Recordar transferencias y caducar las que no llegan",
    when=timedelta(hours=1),
)
def follow_transfers() -> str:
    reminded, expired = remind_buyers(), expire_unpaid()
    if not (reminded or expired):
        return ""
    return f"Transferencias recordadas: {reminded}. Pedidos caducados: {expired}"


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


@job("offer_renewals", "Avisar de accesos que terminan", when=time(10, 15))
def offer_renewals() -> str:
    """Mail students whose access ends within two weeks, if renewals are sold."""
    count = renewals.queue_mails()
    return f"Avisos de renovación: {count}" if count else ""
