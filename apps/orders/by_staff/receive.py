"""Bank transfers that have arrived, as staff record them.

A transfer is a payment of its own, of the kind `transfer`, and nobody looks for it at Stripe. The
rules are in docs/rules.md, "Orders made by staff".
"""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.db.models import Sum

from apps.core.dates import today
from apps.core.errors import Invalid
from apps.core.mail.outbox import queue_mail
from apps.core.money import format_euros, to_cents, to_euros
from apps.core.staff.limits import limits_of
from apps.orders.ledger.balance import cents_of
from apps.orders.ledger.history import flag, note
from apps.orders.ledger.locks import locked_order
from apps.orders.ledger.payments import ConfirmedPayment, record_payment
from apps.orders.models import Gift, Order, StaffOrder, TransferReceipt
from apps.orders.models.staff_order import is_canceled
from apps.orders.models.statuses import UNPAID, EventKind, PaymentKind, PaymentStatus
from apps.orders.plan.schedule import first_payment_cents
from apps.orders.promo import uses as promo_uses
from apps.orders.settlement.mark_paid import mark_paid

# A mistyped year is refused. The order may have been made after its transfer arrived.
OLDEST = timedelta(days=365)
# Of one order, besides the transfer that completes it: a refund looks at each of them.
MOST_TRANSFERS = 20


class TransferRefused(Invalid):
    """The transfer can't be recorded. The message gives the reason in Spanish."""


@dataclass(frozen=True)
class ReceivedTransfer:
    """A transfer on the bank account. `proof` is the bank's reference of the movement."""

    amount_cents: int
    received_on: date
    proof: str


def missing_cents(order: Order) -> int:
    """What is still to be paid for an unpaid order: its price less the transfers that it kept.

    Uses prefetched payments.
    """
    kept = sum(
        to_cents(payment.amount - payment.refunded)
        for payment in order.payments.all()
        if payment.is_transfer and payment.status == PaymentStatus.SUCCEEDED
    )
    return max(0, first_payment_cents(order) - kept)


def left_today_cents(user: Any) -> int:
    """How many cents this clerk may still record today."""
    recorded = TransferReceipt.objects.filter(user=user, created_at__date=today())
    return max(
        0, limits_of(user).transfer_cents - cents_of(recorded.aggregate(sum=Sum("amount"))["sum"])
    )


def outcome_of(order: Order, amount_cents: int) -> str:
    """What a transfer of this amount would do, as a Spanish sentence for staff."""
    if order.status not in UNPAID:
        return "El pedido ya está pagado: todo el importe sobra y hay que devolverlo."
    missing = missing_cents(order)
    if amount_cents < missing:
        left = f"Falta dinero: quedan {format_euros(missing - amount_cents)}."
        if not order.is_open:
            return (
                f"{left} El pedido ha caducado: el comprador no recibe ningún correo. Escríbele "
                "si va a pagar el resto, o devuelve lo recibido."
            )
        return f"{left} El pedido espera, y el comprador recibe un correo con lo que falta."
    ended = _ended(order)
    code = _lost_code(order)
    if amount_cents > missing:
        return (
            f"{ended}Sobran {format_euros(amount_cents - missing)}: el pedido queda pagado con un "
            f"aviso, y lo que sobra hay que devolverlo.{code}"
        )
    gift = Gift.objects.filter(order=order).first()
    if gift is not None:
        return (
            f"{ended}Es el importe exacto: el pedido queda pagado. Es un regalo: el acceso será de "
            f"{gift.recipient_email}, y no de quien paga. Si tienes dudas, pregunta antes a quien "
            f"ha hecho la transferencia.{code}"
        )
    return f"{ended}Es el importe exacto: el pedido queda pagado y se abre el acceso.{code}"


def _ended(order: Order) -> str:
    """The sentence about an unpaid order that has ended; empty for an open one."""
    if is_canceled(order):
        return "El equipo anuló este pedido: comprueba por qué antes de apuntarlo. "
    return "" if order.is_open else "Este pedido ha caducado: su precio era el de antes. "


def _lost_code(order: Order) -> str:
    """A sentence about a code whose discount the order has without a use; empty if there is none.

    The order has expired, or staff let its buyer transfer for a cart that was only saved.
    """
    if not promo_uses.has_lost_code(order):
        return ""
    return (
        f" El uso de su código {order.promo_code} no está reservado: comprueba que le "
        "corresponde el descuento. El pedido queda pagado con un aviso."
    )


@transaction.atomic
def receive_transfer(*, order_id: int, arrived: ReceivedTransfer, form_key: UUID, user: Any) -> str:
    """Record a transfer and complete its order if nothing is missing. Returns what it did.

    A repeated form changes nothing. Too little is kept while the order goes on waiting; too much
    completes the order, and the excess is a payment of its own, to be refunded. Raises
    TransferRefused, also above the clerk's daily limit.
    """
    user = get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
    order = locked_order(order_id)
    if TransferReceipt.objects.filter(form_key=form_key).exists():
        return "Esta transferencia ya estaba apuntada."
    _check(order, arrived, user)
    try:
        with transaction.atomic():
            TransferReceipt.objects.create(
                order=order,
                amount=to_euros(arrived.amount_cents),
                received_on=arrived.received_on,
                proof=arrived.proof,
                form_key=form_key,
                user=user,
                actor=user.get_username(),
            )
    except IntegrityError as error:
        # Another clerk has recorded the same reference on another order at the same moment.
        raise _recorded_before(arrived.proof) from error
    sentence = outcome_of(order, arrived.amount_cents)
    amount = format_euros(arrived.amount_cents)
    reason = f"Transferencia de {amount} del {arrived.received_on:%d/%m/%Y} ({arrived.proof})"
    note(order, kind=EventKind.TRANSFER_RECEIVED, actor=user.get_username(), reason=reason)
    _settle(order, arrived.amount_cents, f"transfer_{form_key.hex}", user.get_username())
    return sentence


def _check(order: Order, arrived: ReceivedTransfer, user: Any) -> None:
    if not StaffOrder.objects.filter(order=order, paid_by=StaffOrder.PaidBy.TRANSFER).exists():
        raise TransferRefused("Este pedido no se paga por transferencia.")
    if order.by_staff.awaits_approval:
        raise TransferRefused(
            "El descuento de este pedido todavía no está aprobado."
            if order.is_open
            else "El pedido ha caducado, y su descuento no está aprobado para este correo: haz "
            "otro pedido, o devuelve lo recibido."
        )
    if arrived.amount_cents <= 0:
        raise TransferRefused("El importe tiene que ser mayor que cero.")
    if arrived.received_on > today():
        raise TransferRefused("La fecha de la transferencia todavía no ha llegado.")
    if arrived.received_on < today() - OLDEST:
        raise TransferRefused("La transferencia es de hace más de un año: revisa su fecha.")
    if TransferReceipt.objects.filter(proof__iexact=arrived.proof).exists():
        raise _recorded_before(arrived.proof)
    completes = order.status in UNPAID and arrived.amount_cents >= missing_cents(order)
    if not completes and TransferReceipt.objects.filter(order=order).count() >= MOST_TRANSFERS:
        raise TransferRefused(
            f"Este pedido tiene ya {MOST_TRANSFERS} transferencias: solo cabe una que lo termine "
            "de pagar. Devuelve esta desde el banco."
        )
    left = left_today_cents(user)
    if arrived.amount_cents > left:
        raise TransferRefused(
            f"Pasa de lo que puedes apuntar en un día: hoy te quedan {format_euros(left)}."
        )


def _recorded_before(proof: str) -> TransferRefused:
    other = TransferReceipt.objects.filter(proof__iexact=proof).first()
    if other is None:
        return TransferRefused("Esta transferencia ya está apuntada en otro pedido.")
    return TransferRefused(
        f"Ese justificante ya está apuntado en el pedido {other.order_id}, con "
        f"{format_euros(other.amount_cents)}."
    )


def _settle(order: Order, cents: int, reference: str, actor: str) -> None:
    missing = missing_cents(order) if order.status in UNPAID else 0
    if order.status in UNPAID and cents < missing:
        left = format_euros(missing - cents)
        _record(order, reference, cents, f"Transferencia incompleta: faltan {left}")
        if order.is_open:
            queue_mail(
                key=f"transfer-incomplete:{reference}",
                template="order_to_pay",
                to=order.email,
                context={"order_id": order.pk, "missing_cents": missing - cents},
            )
        return
    if missing:
        paid = mark_paid(order_id=order.pk, payment=_transfer(reference, missing), actor=actor)
        if paid.status not in UNPAID:
            # The parts that came before are no misfits any more: together they are the price.
            order.payments.transfers().filter(refunded=0).update(flag="")
    excess = cents - missing
    if excess:
        reason = f"Transferencia: sobran {format_euros(excess)}, hay que devolverlos"
        _record(order, f"{reference}_sobra" if missing else reference, excess, reason)
        order.refresh_from_db()
        flag(order, kind=EventKind.PAYMENT_MISFIT, actor=actor, reason=reason)


def _record(order: Order, reference: str, cents: int, flag_reason: str) -> None:
    record_payment(order, None, _transfer(reference, cents), flag_reason=flag_reason)


def _transfer(reference: str, cents: int) -> ConfirmedPayment:
    return ConfirmedPayment(reference, cents, kind=PaymentKind.TRANSFER)
