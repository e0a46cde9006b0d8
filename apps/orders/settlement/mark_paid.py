"""The one door by which an order becomes paid."""

import secrets

from django.db import transaction
from django.utils import timezone

from apps.classroom.provisioning import grant_access
from apps.core.mail.outbox import queue_mail
from apps.core.money import format_euros
from apps.orders.checkout import binding_quotes
from apps.orders.checkout.offer_changes import changes_since_placed
from apps.orders.ledger.alerts import alert_staff
from apps.orders.ledger.history import flag
from apps.orders.ledger.locks import locked_order
from apps.orders.ledger.payments import ConfirmedPayment, record_payment
from apps.orders.ledger.states import change_status
from apps.orders.models import Order, Payment
from apps.orders.models.statuses import EVER_PAID, EventKind
from apps.orders.plan.schedule import first_payment_cents, start_plan
from apps.orders.promo import uses as promo_uses
from apps.orders.rewards import service as referrals


@transaction.atomic
def mark_paid(*, order_id: int, payment: ConfirmedPayment, actor: str) -> Order:
    """Record a payment once, however often and by whomever it is reported.

    A payment that does not fit (amount, currency, a second one, one for an expired order) is kept
    and flagged, never dropped (decisions.md, "Orders"). With the change of status go, in the same
    transaction, the use of the promo code, the instalments, the access and the mails, the buyer's
    own referral code and the reward of who invited them.
    """
    order = locked_order(order_id)
    row = _row_of(payment)
    if row is not None and row.status == Payment.Status.SUCCEEDED:
        return order

    free = payment.reference.startswith("free_")
    due_cents = 0 if free else first_payment_cents(order)
    problem = ""
    if order.status not in (Order.Status.CART, Order.Status.EXPIRED):
        problem = "Segundo pago de un pedido ya pagado"
    elif payment.currency != "eur" or payment.amount_cents != due_cents:
        problem = (
            f"Importe inesperado: {format_euros(payment.amount_cents)} ({payment.currency}) "
            f"en lugar de {format_euros(due_cents)}"
        )
    row = record_payment(order, row, payment, flag_reason=problem)
    if problem:
        flag(
            order,
            kind=EventKind.PAYMENT_MISFIT,
            actor=actor,
            reason=f"{problem} ({payment.reference})",
        )
        alert_staff(order, occasion=f"payment-{row.pk}", reason=problem)
        return order

    late = order.status == Order.Status.EXPIRED
    in_instalments = order.in_instalments
    if in_instalments:
        start_plan(order, payment)
    order.paid_at = timezone.now()
    order.save(update_fields=["paid_at", "updated_at"])
    change_status(
        order,
        Order.Status.PAYING if in_instalments else Order.Status.PAID,
        kind=EventKind.PAID,
        actor=actor,
        reason=f"Pago confirmado: {format_euros(payment.amount_cents)} ({payment.reference})",
    )
    if late:
        flag(
            order,
            kind=EventKind.PAYMENT_LATE,
            actor=actor,
            reason="Pago recibido después de caducar el pedido",
        )
        alert_staff(order, occasion=f"late-{order.pk}", reason="Pago de un pedido caducado")
    changes = [] if free else changes_since_placed(order)
    used = promo_uses.use(order)
    if not used:
        flag(
            order,
            kind=EventKind.CODE_USE_RELEASED,
            actor=actor,
            reason="Pagado con un código cuya reserva ya se había liberado",
        )
    misuse = promo_uses.friend_code_misuse(order) if used else ""
    if misuse:
        reason = f"Descuento del código de amigo {order.promo_code} sin derecho a él: {misuse}"
        flag(order, kind=EventKind.FRIEND_CODE_MISUSED, actor=actor, reason=reason)
        alert_staff(order, occasion=f"friend-code-{order.pk}", reason=reason)
    if changes and not misuse:
        reason = f"Pagado con condiciones que ya habían cambiado: {'; '.join(changes)}"
        flag(order, kind=EventKind.OFFER_CHANGED, actor=actor, reason=reason)
        alert_staff(order, occasion=f"offer-changed-{order.pk}", reason=reason)
    if not binding_quotes.use(order):
        reason = f"El presupuesto n.º {order.quote_number} ya se había usado en otro pedido"
        flag(order, kind=EventKind.QUOTE_ALREADY_USED, actor=actor, reason=reason)
        alert_staff(order, occasion=f"quote-twice-{order.pk}", reason=reason)
    referrals.give_code(order.student)
    if used:
        referrals.earn_reward(order, actor=actor)
    grant_access(
        student=order.student,
        items=[(line.subject_id, line.lesson_id) for line in order.lines.all()],
        order_id=order.pk,
    )
    queue_mail(
        key=f"order-confirmation:{order.pk}",
        template="order_confirmation",
        to=order.email,
        context={"order_id": order.pk},
    )
    return order


def _row_of(payment: ConfirmedPayment) -> Payment | None:
    """The payment's row, locked: under its own reference, or still under its session's."""
    names = (payment.reference, payment.session)
    rows = Payment.objects.select_for_update(no_key=True).filter(reference__in=names).order_by("pk")
    by_name = {row.reference: row for row in rows}
    return by_name.get(payment.reference) or by_name.get(payment.session)


@transaction.atomic
def complete_free(*, order_id: int, revision: int, actor: str) -> str:
    """Complete an order with nothing to pay; its reference, the same however often it is asked for.

    Empty where the order has moved on since that revision: what it holds now may cost something.
    """
    order = locked_order(order_id)
    if order.status in EVER_PAID:
        # Asked for twice at once. A second payment of nothing would be flagged as one of money.
        return order.stripe_payment_intent_id
    if order.revision != revision:
        return ""
    reference = f"free_{secrets.token_hex(16)}"
    mark_paid(order_id=order_id, payment=ConfirmedPayment(reference, amount_cents=0), actor=actor)
    return reference
