"""What is open about an order, and what staff have to know before they change or refund it.

Withdrawals live in `apps.leads`, which may import orders but not the other way round. When the
program starts, leads registers how the open withdrawals of an order are looked up.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.urls import reverse

from apps.orders.models import Order, StaffOrder


@dataclass(frozen=True)
class OpenCase:
    """A Spanish phrase for staff, and the page of the case, which needs the permission."""

    text: str
    url: str
    permission: str
    # Whether the buyer may have to get money back.
    may_be_refunded: bool = False


_lookups: list[Callable[[Order], Iterable[OpenCase]]] = []


def look_up_cases_with(lookup: Callable[[Order], Iterable[OpenCase]]) -> None:
    """Register what finds further open cases of an order."""
    _lookups.append(lookup)


def open_cases(order: Order) -> list[OpenCase]:
    """The exchanges of a line that wait for a payment or an approval, and the registered cases."""
    exchanges = [_exchange(row) for row in StaffOrder.objects.waiting_exchanges(order)]
    return [*exchanges, *(case for lookup in _lookups for case in lookup(order))]


def _exchange(row: StaffOrder) -> OpenCase:
    waits_for = "de la aprobación" if row.awaits_approval else "del pago"
    text = f"cambio de un curso a la espera {waits_for} del pedido {row.order_id}"
    if row.refused_by:
        text = f"cambio de un curso rechazado: falta anular el pedido {row.order_id}"
    return OpenCase(
        text,
        reverse("admin:orders_order_change", args=[row.order_id]),
        "orders.view_order",
    )
