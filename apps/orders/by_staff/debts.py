"""What staff do about a debt: mail the link to pay it, or note a call. Each click works once.

A function returns a Spanish sentence for staff, and raises an AcademyError if it is refused.
"""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from django.db import transaction
from django.utils.timezone import localtime

from apps.core.dates import today
from apps.core.mail.outbox import queue_mail
from apps.core.mail.recipient_limits import Origin
from apps.core.staff.admin_buttons import Repeated
from apps.orders.by_staff.actions import Refused, send_link, sent_again
from apps.orders.by_staff.receive import missing_cents
from apps.orders.ledger.history import has_event, note
from apps.orders.ledger.locks import locked_order
from apps.orders.ledger.plan_end import takes_instalments
from apps.orders.models import CART_LIFE, Debt, Instalment, InstalmentAttempt, Order, StaffOrder
from apps.orders.models.statuses import UNPAID, EventKind, RefusalKind

# Of one order: the list of debts reads all of them.
MOST_CALLS = 20
OWES_NOTHING = "Este pedido ya no debe nada."
BY_LINK = StaffOrder.PaidBy.LINK


@dataclass(frozen=True)
class Owed:
    """What is owed and why, and what happens next, in Spanish."""

    cents: int
    reason: str
    next_step: str
    last_attempt_at: datetime | None
    # Whether a link exists by which it can be paid.
    can_be_paid: bool


def owed(order: Order) -> Owed:
    """What the buyer owes. Uses prefetched instalments with their attempts, and payments."""
    return _of_staff_order(order) if order.status in UNPAID else _of_plan(order)


def _of_plan(order: Order) -> Owed:
    late = _late(order)
    if not late:
        return Owed(0, "", "", None, can_be_paid=False)
    first, attempt = late[0], _last_refused(late[0])
    cents = sum(row.amount_cents for row in late)
    kind = _refusal(order, attempt)
    why = RefusalKind(kind).label.lower() if kind else "vencido y sin cobrar"
    reason = f"Plazo {first.number} de {order.instalment_count}: {why}"
    at = attempt.started_at if attempt else None
    return Owed(cents, reason, _next_step(order, first), at, can_be_paid=True)


def _next_step(order: Order, first: Instalment) -> str:
    if order.disputed_at:
        return "Esperar a que se cierre la disputa"
    if order.card_refusal:
        return "Tiene que poner otra tarjeta: envíale el enlace"
    if first.charge_on:
        return f"Se cobra otra vez el {first.charge_on:%d/%m/%Y}"
    return "No habrá más cobros automáticos: envíale el enlace o llama"


def _of_staff_order(order: Order) -> Owed:
    by_link = order.by_staff.paid_by == BY_LINK
    ends = localtime(order.created_at + CART_LIFE)
    what = "Enlace de pago" if by_link else "Transferencia"
    if order.is_open:
        reason = "No ha pagado con el enlace" if by_link else "La transferencia no ha llegado"
        return Owed(
            missing_cents(order), reason, f"Caduca el {ends:%d/%m/%Y}", None, can_be_paid=True
        )
    reason = f"{what} {'caducado' if by_link else 'caducada'} el {ends:%d/%m/%Y}"
    step = "Llamar: si aún lo quiere, hazle otro pedido"
    return Owed(missing_cents(order), reason, step, None, can_be_paid=False)


def _late(order: Order) -> list[Instalment]:
    """The instalments of `InstalmentQuerySet.late`, of prefetched rows."""
    rows = sorted(order.instalments.all(), key=lambda row: row.number)
    return [row for row in rows if row.is_late]


def _last_refused(instalment: Instalment) -> InstalmentAttempt | None:
    refused = [
        attempt
        for attempt in instalment.attempts.all()
        if attempt.outcome == InstalmentAttempt.Outcome.REFUSED
    ]
    return max(refused, key=lambda attempt: attempt.number, default=None)


def _refusal(order: Order, attempt: InstalmentAttempt | None) -> str:
    """Why it was not charged: the reason for which the card is unusable comes first."""
    if order.card_refusal or attempt is None:
        return order.card_refusal
    return attempt.refusal or RefusalKind.OTHER


@transaction.atomic
def send_payment_link(order_id: int, *, actor: str, form_key: UUID) -> str:
    """Mail the link by which the buyer pays what is owed."""
    order = locked_order(order_id)
    if not Debt.objects.owing().filter(pk=order_id).exists():
        raise Refused(OWES_NOTHING)
    if order.status in UNPAID:
        return send_link(order_id, actor=actor, form_key=form_key)
    if not takes_instalments(order):
        raise Refused("Una devolución anula los plazos de este pedido.")
    first = _late(order)[0]
    again_on: date | None = first.charge_on
    mail = queue_mail(
        key=f"instalment-unpaid:{first.pk}:{form_key.hex}",
        template="instalment_unpaid",
        to=order.email,
        context={
            "instalment_id": first.pk,
            "order_id": order.pk,
            "refusal": _refusal(order, _last_refused(first)) or RefusalKind.OTHER,
            "again_on": again_on.isoformat() if again_on else "",
            "same_card": not order.card_refusal,
        },
        origin=Origin.STAFF,
    )
    return sent_again(order, "Enlace de pago", actor=actor, is_new=mail is not None)


@transaction.atomic
def note_call(order_id: int, *, actor: str, form_key: UUID) -> str:
    """Add a call to the order's history."""
    order = locked_order(order_id)
    click = form_key.hex
    if has_event(order, kind=EventKind.CALLED, external_id=click):
        raise Repeated
    if not Debt.objects.owing().filter(pk=order_id).exists():
        raise Refused(OWES_NOTHING)
    calls = order.events.filter(kind=EventKind.CALLED, at__date=today())
    if calls.count() >= MOST_CALLS:
        raise Refused(f"Hoy se han apuntado ya {MOST_CALLS} llamadas.")
    reason = "Llamada por lo que debe"
    note(order, kind=EventKind.CALLED, actor=actor, reason=reason, external_id=click)
    buyer = f"{order.first_name} {order.last_name}".strip() or order.email
    return f"Llamada a {buyer} apuntada."
