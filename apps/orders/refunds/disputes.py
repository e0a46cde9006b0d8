"""Disputes of payments (docs/rules.md, "Refunds and disputes").

While the bank decides, classroom access is paused and no instalment is charged. A lost dispute ends
both for good. The order keeps its status, because a dispute is not a refund: `disputed_at` is set
until the academy wins. Nothing here calls the provider.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.classroom.access import Cause, pause_access, resume_access
from apps.core.money import format_euros, to_euros
from apps.orders.ledger.alerts import alert_staff
from apps.orders.ledger.disputed_credit import disputed_credit_cents
from apps.orders.ledger.history import flag, note
from apps.orders.ledger.locks import locked_order
from apps.orders.models import Dispute, Order, Payment, Refund
from apps.orders.models.staff_order import is_renewal
from apps.orders.models.statuses import DISPUTE_HELD, DisputeStatus, EventKind
from apps.orders.offer.lesson_credit import credited_lines
from apps.orders.offer.renewed import renewals_of
from apps.orders.plan.schedule import cancel_plan
from apps.orders.refunds.effects import withdraw_order_access
from apps.orders.rewards.service import cancel_reward


@dataclass(frozen=True)
class ReportedDispute:
    """A dispute as the provider reports it now. `reason` is in Spanish, for staff.

    `takes_money` is false for an inquiry: the bank asks, and leaves the money where it is.
    """

    reference: str
    amount_cents: int
    status: DisputeStatus
    reason: str
    opened_at: datetime
    respond_by: datetime | None = None
    takes_money: bool = True


@transaction.atomic
def record_dispute(*, payment_id: int, report: ReportedDispute, provider: str) -> bool:
    """Record a dispute's state and its effects. Returns False if nothing changed.

    Reports may arrive repeatedly and in any order. If the first report says that the dispute is
    already decided, only the effects of the decision are applied. `provider` is the provider's name
    for staff, used as the actor in the order's history.
    """
    payment = Payment.objects.get(pk=payment_id)
    if payment.order_id is None:
        return False
    order = locked_order(payment.order_id)
    dispute, is_new = _row_of(payment, report)
    is_escalated = _escalate(order, dispute, report, provider)
    if not is_new and (dispute.status == report.status or dispute.status != Dispute.Status.OPEN):
        # A decided dispute never changes: the bank's decision is final.
        return is_escalated
    dispute.status = report.status
    dispute.closed_at = None if report.status == Dispute.Status.OPEN else timezone.now()
    dispute.save()
    EFFECTS[report.status](order, dispute, provider)
    return True


def _row_of(payment: Payment, report: ReportedDispute) -> tuple[Dispute, bool]:
    return Dispute.objects.get_or_create(
        reference=report.reference,
        defaults={
            "payment": payment,
            "amount": to_euros(report.amount_cents),
            "reason": report.reason[:60],
            "status": report.status,
            "opened_at": report.opened_at,
            "withdrawn_at": report.opened_at if report.takes_money else None,
            "respond_by": report.respond_by,
        },
    )


def _escalate(order: Order, dispute: Dispute, report: ReportedDispute, provider: str) -> bool:
    """Record that the bank has made an inquiry a dispute and taken the money. False if not."""
    is_inquiry = dispute.withdrawn_at is None and dispute.status == Dispute.Status.OPEN
    if not is_inquiry or not report.takes_money:
        return False
    dispute.withdrawn_at = timezone.now()
    dispute.respond_by = report.respond_by
    dispute.save(update_fields=["withdrawn_at", "respond_by"])
    reason = f"La consulta del banco ya es una disputa: retiene {_name(dispute)}"
    _note(order, dispute, EventKind.DISPUTE_OPENED, provider, reason)
    alert_staff(order, occasion=f"dispute-{dispute.pk}-escalated", reason=reason)
    return True


def _open(order: Order, dispute: Dispute, provider: str) -> None:
    _pause(order, dispute, provider)
    reason = (
        f"{_name(dispute)} en disputa ({dispute.reason or 'sin motivo'}): el acceso queda en pausa "
        f"y no se cobran plazos. Se responde en el panel de {provider}"
    )
    _note(order, dispute, EventKind.DISPUTE_OPENED, provider, reason)
    alert_staff(order, occasion=f"dispute-{dispute.pk}", reason=reason)


def _win(order: Order, dispute: Dispute, provider: str) -> None:
    reason = f"Disputa ganada: {_name(dispute)}"
    others = Dispute.objects.filter(payment__order=order, status__in=DISPUTE_HELD)
    if order.disputed_at is not None and not others.exclude(pk=dispute.pk).exists():
        order.disputed_at = None
        order.save(update_fields=["disputed_at", "updated_at"])
        for paused in (order, *_paid_with_money_of(order)):
            if paused.disputed_at is None and not _stands_with_disputed_money(paused):
                resume_access(order_id=paused.pk, cause=Cause.DISPUTE)
        if not _stands_with_disputed_money(order):
            reason += ". El acceso vuelve"
    _note(order, dispute, EventKind.DISPUTE_WON, provider, reason)
    alert_staff(order, occasion=f"dispute-{dispute.pk}-won", reason=reason)


def _lose(order: Order, dispute: Dispute, provider: str) -> None:
    _pause(order, dispute, provider)
    reason = f"Disputa perdida: {_name(dispute)}. El acceso se retira y no se cobra nada más"
    withdraw_order_access(order, actor=provider)
    cancel_plan(order, actor=provider)
    cancel_reward(order, "disputa perdida", actor=provider)
    for other in _paid_with_money_of(order):
        cancel_reward(other, "disputa perdida", actor=provider)
        lost = f"Se ha perdido la disputa del pedido {order.pk}, {_tie(other)}"
        flag(other, kind=EventKind.DISPUTE_LOST, actor=provider, reason=lost)
    text = f"{reason} ({dispute.reference})"
    flag(order, kind=EventKind.DISPUTE_LOST, actor=provider, reason=text)
    alert_staff(order, occasion=f"dispute-{dispute.pk}-lost", reason=reason)


EFFECTS = {
    DisputeStatus.OPEN: _open,
    DisputeStatus.WON: _win,
    DisputeStatus.LOST: _lose,
}


def _note(order: Order, dispute: Dispute, kind: EventKind, provider: str, reason: str) -> None:
    note(order, kind=kind, actor=provider, reason=f"{reason} ({dispute.reference})")


def _pause(order: Order, dispute: Dispute, provider: str) -> None:
    if order.disputed_at is None:
        order.disputed_at = dispute.opened_at
        order.save(update_fields=["disputed_at", "updated_at"])
    pause_access(order_id=order.pk, cause=Cause.DISPUTE)
    for other in _paid_with_money_of(order):
        pause_access(order_id=other.pk, cause=Cause.DISPUTE)
        reason = f"El pago del pedido {order.pk}, {_tie(other)}, está en disputa"
        note(other, kind=EventKind.DISPUTE_OPENED, actor=provider, reason=reason)


def _paid_with_money_of(order: Order, *, get: Callable[[int], Order] = locked_order) -> list[Order]:
    """The orders that stand with the money of this one, and so on, with their rows locked by `get`.

    Its lines were exchanged for them, its lessons made their whole subject cheaper, or they renew
    what it opened at the price of a renewal. Each was paid later than the order whose money it has,
    so they are locked in the order of `lock_orders`. An order that was paid with a credit never
    locks the order of its line again.
    """
    found: dict[int, Order] = {}
    next_ones: set[int] = set()
    one = order
    while True:
        exchanged = Refund.objects.filter(payment__order=one, credited_to__isnull=False)
        next_ones |= {
            *exchanged.values_list("credited_to_id", flat=True),
            *(whole.pk for whole in credited_lines(one).values()),
            *(renewal.pk for renewal in renewals_of(one)),
        }
        next_ones -= {order.pk, *found}
        first = Order.objects.filter(pk__in=next_ones).order_by("paid_at", "pk").first()
        if first is None:
            return list(found.values())
        one = found[first.pk] = get(first.pk)


def _stands_with_disputed_money(order: Order) -> bool:
    """Whether the order stands with money of another one that is in dispute, or was lost.

    The credit of an exchange may be of another student: the buyer of the old order has corrected
    its address.
    """
    if disputed_credit_cents(order):
        return True
    of_student = Q(student=order.student_id) | Q(gift__recipient=order.student_id)
    disputed = Order.objects.filter(of_student, disputed_at__isnull=False).exclude(pk=order.pk)
    return any(order in _paid_with_money_of(other, get=_unlocked) for other in disputed)


def _unlocked(order_id: int) -> Order:
    return Order.objects.get(pk=order_id)


def _tie(other: Order) -> str:
    """What the order has to do with the disputed one, in Spanish, for staff."""
    if is_renewal(other):
        return "del que depende el precio de esta renovación"
    return "con cuyo dinero se pagó este"


def _name(dispute: Dispute) -> str:
    payment: Payment = dispute.payment
    return f"{format_euros(dispute.amount_cents)} del pago {payment.reference}"
