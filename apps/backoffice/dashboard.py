"""The start page of the admin: figures of today and open tasks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from django.db.models import Q, Sum
from django.urls import reverse

from apps.core.dates import today
from apps.core.jobs import failing_jobs
from apps.core.models import Mail
from apps.core.money import format_euros, to_cents
from apps.orders.models import Order, Payment, ReferralReward
from apps.orders.reads import paid_without_access
from apps.students.models import ErasureRequest

# The tile's link leads to all of them.
SHOWN = 10


class Permitted(Protocol):
    """A user, of whom the start page reads only the permissions."""

    def has_perm(self, perm: str) -> bool: ...


@dataclass(frozen=True)
class Tile:
    """A figure with a link to its list. `is_bad` marks a figure that needs action."""

    label: str
    figure: str
    url: str
    is_bad: bool = False


def tiles(user: Permitted) -> list[Tile]:
    """Return the figures of today and the open tasks that this user may see, one query each."""
    return [tile() for permission, tile in _TILES if user.has_perm(permission)]


def _paid_today() -> Tile:
    day = today()
    count = Order.objects.filter(paid_at__date=day).count()
    return Tile("Pedidos pagados hoy", str(count), f"{_list('orders_order')}?paid_at__date={day}")


def _taken_today() -> Tile:
    day = today()
    taken = Payment.objects.filter(
        status=Payment.Status.SUCCEEDED, succeeded_at__date=day, order__isnull=False
    ).aggregate(sum=Sum("amount"))["sum"]
    return Tile(
        "Cobrado hoy",
        format_euros(to_cents(taken) if taken else 0),
        f"{_list('orders_payment')}?status__exact=succeeded&succeeded_at__date={day}",
    )


def _flagged_orders() -> Tile:
    count = Order.objects.filter(~Q(flag="") | Q(disputed_at__isnull=False)).count()
    return _todo("Pedidos con aviso", count, f"{_list('orders_order')}?atencion=si")


def _flagged_payments() -> Tile:
    count = Payment.objects.exclude(flag="").count()
    return _todo("Pagos con aviso", count, f"{_list('orders_payment')}?atencion=si")


def _without_access() -> Tile:
    count = paid_without_access().count()
    return _todo("Pagados sin acceso", count, f"{_list('orders_order')}?acceso=no")


def _failed_mails() -> Tile:
    count = Mail.objects.filter(status=Mail.Status.FAILED).count()
    return _todo("Correos fallidos", count, f"{_list('core_mail')}?status__exact=failed")


def _erasure_requests() -> Tile:
    count = ErasureRequest.objects.count()
    return _todo("Peticiones de borrado", count, _list("students_erasurerequest"))


def _rewards_owed() -> Tile:
    count = ReferralReward.objects.filter(status=ReferralReward.Status.OWED).count()
    page = f"{_list('orders_referralreward')}?status__exact=owed"
    return _todo("Recompensas por pagar", count, page)


def _failing_jobs() -> Tile:
    return _todo("Tareas con fallo", failing_jobs(), _list("core_scheduledjob"))


# Each tile with the permission that its list asks for.
_TILES: tuple[tuple[str, Callable[[], Tile]], ...] = (
    ("orders.view_order", _paid_today),
    ("orders.view_payment", _taken_today),
    ("orders.view_order", _flagged_orders),
    ("orders.view_payment", _flagged_payments),
    ("orders.view_order", _without_access),
    ("core.view_mail", _failed_mails),
    ("students.view_erasurerequest", _erasure_requests),
    ("orders.view_referralreward", _rewards_owed),
    ("core.view_scheduledjob", _failing_jobs),
)


def orders_without_access(user: Permitted) -> list[Order]:
    """Return the paid orders without classroom access, oldest first. [] without permission."""
    if not user.has_perm("orders.view_order"):
        return []
    return list(paid_without_access().order_by("paid_at", "pk")[:SHOWN])


def _todo(label: str, count: int, url: str) -> Tile:
    return Tile(label, str(count), url, is_bad=count > 0)


def _list(name: str) -> str:
    return reverse(f"admin:{name}_changelist")
