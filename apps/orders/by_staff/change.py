"""Open orders of staff that are canceled, or paid in another way than was agreed.

The rules are in docs/rules.md, "Orders made by staff".
"""

from decimal import Decimal
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.core.money import format_euros
from apps.core.staff.admin_buttons import Repeated
from apps.orders.by_staff.create import OrderRefused, mail_buyer
from apps.orders.ledger.history import note
from apps.orders.ledger.locks import locked_order
from apps.orders.ledger.states import change_status
from apps.orders.models import Order, Payment, StaffOrder
from apps.orders.models.order import CARD_MINIMUM_CENTS
from apps.orders.models.statuses import EventKind
from apps.orders.promo import uses as promo_uses


@transaction.atomic
def cancel_order(order_id: int, *, actor: str) -> str:
    """End an open order of staff that nobody has begun to pay. Returns a Spanish sentence.

    Raises OrderRefused.
    """
    order, row = changeable(order_id)
    promo_uses.release(order)
    reason = "Pedido anulado por el equipo"
    row.canceled_at = timezone.now()
    row.save(update_fields=["canceled_at"])
    change_status(order, Order.Status.EXPIRED, kind=EventKind.CANCELED, actor=actor, reason=reason)
    return f"{reason}. El enlace de pago ya no sirve."


@transaction.atomic
def change_payment(order_id: int, *, paid_by: str, actor: str, form_key: UUID) -> str:
    """Let the buyer pay by transfer instead of by card, or the other way round, and mail how.

    Raises OrderRefused, and Repeated if it is paid so already.
    """
    order, row = changeable(order_id)
    if row.paid_by == paid_by:
        raise Repeated
    if paid_by == StaffOrder.PaidBy.TRANSFER:
        _check_transfer(order)
    elif order.total_cents < CARD_MINIMUM_CENTS:
        raise OrderRefused(
            f"Menos de {format_euros(CARD_MINIMUM_CENTS)} no se cobran con tarjeta: anula el "
            "pedido y crea otro."
        )
    if row.by_buyer:
        # The price of the day on which the buyer chose a transfer. Nobody has agreed it.
        row.agreed = Decimal(0)
    row.paid_by, row.by_buyer = paid_by, False
    row.save(update_fields=["paid_by", "by_buyer", "agreed"])
    reason = f"Se paga con: {row.get_paid_by_display().lower()}"
    note(order, kind=EventKind.PAYMENT_WAY_CHANGED, actor=actor, reason=reason)
    if row.awaits_approval:
        return f"{reason}."
    mail_buyer(order, again=f":{form_key.hex}")
    return f"{reason}. {order.email} recibe un correo con el pago."


def _check_transfer(order: Order) -> None:
    if not settings.TRANSFER_IBAN:
        raise OrderRefused("No hay cuenta para recibir transferencias: falta TRANSFER_IBAN.")
    if promo_uses.has_lost_code(order):
        raise OrderRefused(
            "El uso de su código ya no está reservado: anula el pedido, y que lo haga otra vez."
        )
    if order.in_instalments or not order.total_cents:
        raise OrderRefused("A plazos, o sin importe, no se paga por transferencia.")


def changeable(order_id: int) -> tuple[Order, StaffOrder]:
    """The open order, locked, and what staff agreed for it. Raises OrderRefused."""
    order = locked_order(order_id)
    row = StaffOrder.objects.select_for_update(no_key=True).filter(order=order).first()
    row = check_changeable(order, row)
    row.order = order
    return order, row


def check_changeable(order: Order, row: StaffOrder | None) -> StaffOrder:
    """The row of an open order of staff that nobody has begun to pay. Raises OrderRefused."""
    if row is None or not order.is_open:
        raise OrderRefused("Solo se cambia un pedido del equipo que sigue sin pagar.")
    if order.payments.open().exists():
        raise OrderRefused(
            "El comprador ha abierto el pago con tarjeta. Espera a que lo termine o a que caduque."
        )
    if order.payments.filter(status=Payment.Status.SUCCEEDED).exists():
        raise OrderRefused("Ya ha llegado una parte del dinero: devuélvela primero.")
    return row
