"""The start page of the admin: figures of today and open tasks."""

from dataclasses import dataclass

from django.db.models import Q, Sum
from django.urls import reverse

from apps.core.clock import today
from apps.core.jobs import failing_jobs
from apps.core.models import Mail
from apps.core.money import format_euros, to_cents
from apps.orders.models import Order, Payment, ReferralReward
from apps.orders.reads import paid_without_access
from apps.students.models import ErasureRequest

# The tile's link leads to all of them.
SHOWN = 10


@dataclass(frozen=True)
class Tile:
    """A figure with a link to its list. `is_bad` marks a figure that needs action."""

    label: str
    figure: str
    url: str
    is_bad: bool = False


def tiles() -> list[Tile]:
    """Return the figures of today and the open tasks. Each runs one query."""
    day = today()
    taken = Payment.objects.filter(
        status=Payment.Status.SUCCEEDED, succeeded_at__date=day, order__isnull=False
    ).aggregate(sum=Sum("amount"))["sum"]
    orders, payments = _list("orders_order"), _list("orders_payment")
    return [
        Tile(
            "Pedidos pagados hoy",
            str(Order.objects.filter(paid_at__date=day).count()),
            f"{orders}?paid_at__date={day}",
        ),
        Tile(
            "Cobrado hoy",
            format_euros(to_cents(taken) if taken else 0),
            f"{payments}?status__exact=succeeded&succeeded_at__date={day}",
        ),
        _todo(
            "Pedidos con aviso",
            Order.objects.filter(~Q(flag="") | Q(disputed_at__isnull=False)).count(),
            f"{orders}?atencion=si",
        ),
        _todo(
            "Pagos con aviso",
            Payment.objects.exclude(flag="").count(),
            f"{payments}?atencion=si",
        ),
        _todo("Pagados sin acceso", paid_without_access().count(), f"{orders}?acceso=no"),
        _todo(
            "Correos fallidos",
            Mail.objects.filter(status=Mail.Status.FAILED).count(),
            f"{_list('core_mail')}?status__exact=failed",
        ),
        _todo(
            "Peticiones de borrado",
            ErasureRequest.objects.count(),
            _list("students_erasurerequest"),
        ),
        _todo(
            "Recompensas por pagar",
            ReferralReward.objects.filter(status=ReferralReward.Status.OWED).count(),
            f"{_list('orders_referralreward')}?status__exact=owed",
        ),
        _todo("Tareas con fallo", failing_jobs(), _list("core_scheduledjob")),
    ]


def orders_without_access() -> list[Order]:
    """Return the paid orders without classroom access, the oldest first."""
    return list(paid_without_access().order_by("paid_at", "pk")[:SHOWN])


def _todo(label: str, count: int, url: str) -> Tile:
    return Tile(label, str(count), url, is_bad=count > 0)


def _list(name: str) -> str:
    return reverse(f"admin:{name}_changelist")
