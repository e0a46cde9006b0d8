"""Disputes: while the bank decides, access rests and nothing is charged; lost, it is over.

A dispute is no refund: the order keeps its status, and `disputed_at` stands until the academy has
won (decisions.md, "Orders"). Nothing here talks to the provider.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from apps.classroom.access import Cause, pause_access, resume_access
from apps.core.money import format_euros, to_euros
from apps.orders import give_back
from apps.orders.models import Dispute, Order, Payment
from apps.orders.payments import locked_order, tell_staff
from apps.orders.referrals import cancel_reward
from apps.orders.states import flag, note

Status = Dispute.Status
ACTOR = "Stripe"


@dataclass(frozen=True)
class KnownDispute:
    """A dispute as the provider has it now."""

    reference: str
    amount_cents: int
    status: Dispute.Status
    reason: str
    opened_at: datetime


@transaction.atomic
def record(*, payment_id: int, known: KnownDispute) -> bool:
    """Record how a dispute stands, once, in any order; True where there was news.

    One that was decided before anybody heard of it has the effects of its end alone.
    """
    found = Payment.objects.get(pk=payment_id)
    if found.order_id is None:
        return False
    order = locked_order(found.order_id)
    row, is_new = Dispute.objects.get_or_create(
        reference=known.reference,
        defaults={
            "payment": found,
            "amount": to_euros(known.amount_cents),
            "reason": known.reason[:60],
            "status": known.status,
            "opened_at": known.opened_at,
        },
    )
    if not is_new and (row.status == known.status or row.status != Status.OPEN):
        # The bank's word is its last.
        return False
    row.status = known.status
    row.closed_at = None if known.status == Status.OPEN else timezone.now()
    row.save()
    if known.status == Status.OPEN:
        _opened(order, row)
    elif known.status == Status.WON:
        _won(order, row)
    else:
        _lost(order, row)
    return True


def _opened(order: Order, dispute: Dispute) -> None:
    _rest(order, dispute)
    reason = (
        f"{_what(dispute)} en disputa ({dispute.reason or 'sin motivo'}): el acceso queda en pausa "
        "y no se cobran plazos. Se responde en el panel de Stripe"
    )
    note(order, actor=ACTOR, reason=f"{reason} ({dispute.reference})"[:300])
    tell_staff(order, occasion=f"dispute-{dispute.reference}", reason=reason)


def _won(order: Order, dispute: Dispute) -> None:
    reason = f"Disputa ganada: {_what(dispute)}"
    others = Dispute.objects.filter(
        payment__order=order, status__in=(Status.OPEN, Status.LOST)
    ).exclude(pk=dispute.pk)
    if order.disputed_at is not None and not others.exists():
        order.disputed_at = None
        order.save(update_fields=["disputed_at", "updated_at"])
        resume_access(reference=order.reference, cause=Cause.DISPUTE)
        reason += ". El acceso vuelve"
    note(order, actor=ACTOR, reason=f"{reason} ({dispute.reference})")
    tell_staff(order, occasion=f"dispute-{dispute.reference}-won", reason=reason)


def _lost(order: Order, dispute: Dispute) -> None:
    _rest(order, dispute)
    reason = f"Disputa perdida: {_what(dispute)}. El acceso se retira y no se cobra nada más"
    give_back.withdraw(order)
    give_back.cancel_plan(order, actor=ACTOR)
    cancel_reward(order, "disputa perdida", actor=ACTOR)
    flag(order, actor=ACTOR, reason=f"{reason} ({dispute.reference})")
    tell_staff(order, occasion=f"dispute-{dispute.reference}-lost", reason=reason)


def _rest(order: Order, dispute: Dispute) -> None:
    if order.disputed_at is None:
        order.disputed_at = dispute.opened_at
        order.save(update_fields=["disputed_at", "updated_at"])
    pause_access(reference=order.reference, cause=Cause.DISPUTE)


def _what(dispute: Dispute) -> str:
    payment: Payment = dispute.payment
    return f"{format_euros(dispute.amount_cents)} del pago {payment.reference}"
