"""Records what the provider reports about a payment of instalments."""

from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.classroom.access import Cause, resume_access
from apps.core.dates import today
from apps.core.mail.outbox import queue_mail
from apps.core.money import format_euros, to_cents, to_euros
from apps.orders.ledger.alerts import alert_staff
from apps.orders.ledger.balance import balance_of, unanswered_refund_cents
from apps.orders.ledger.history import flag, note
from apps.orders.ledger.locks import locked_order
from apps.orders.ledger.payments import ConfirmedPayment, record_payment
from apps.orders.ledger.plan_end import refund_late_payment, refund_that_ended
from apps.orders.ledger.states import change_status
from apps.orders.models import Instalment, InstalmentAttempt, Order, Payment
from apps.orders.models.statuses import INSTALMENT_SETTLED, PLAN_RUNNING, EventKind
from apps.orders.plan.attempts import settle_attempt
from apps.orders.plan.card import take_card
from apps.orders.plan.refusals import RETRY_DAYS
from apps.orders.plan.schedule import name_instalments


@transaction.atomic
def mark_instalments_paid(
    *,
    order_id: int,
    numbers: Sequence[int],
    attempt: int,
    payment: ConfirmedPayment,
    actor: str,
) -> Order:
    """Record a succeeded payment of these instalments. Repeated reports change nothing.

    In the same transaction: the order's new status, classroom access, the receipt by mail, and the
    order's card if the student paid by hand. A payment is stored and flagged if
    its amount or currency is wrong, if an instalment is already paid or canceled, or if the order
    takes no instalments. If a confirmed refund has ended the plan, the payment is refunded instead
    (docs/rules.md, "Instalments" and "Refunds and disputes").
    """
    order = locked_order(order_id)
    row = Payment.objects.select_for_update(no_key=True).filter(reference=payment.reference).first()
    if row is not None and row.status == Payment.Status.SUCCEEDED:
        return order
    instalments = list(
        order.instalments.select_for_update(no_key=True)
        .filter(number__in=numbers)
        .order_by("number")
    )
    problem = _misfit(order, instalments, numbers, payment)
    stored = record_payment(order, row, payment, flag_reason=problem)
    attempt_row = settle_attempt(order, numbers, attempt, payment.reference)
    if problem:
        stored.instalments.clear()
        if not _refund_after_end(order, stored, actor=actor):
            reason = f"{problem} ({payment.reference})"
            flag(order, kind=EventKind.PAYMENT_MISFIT, actor=actor, reason=reason)
            alert_staff(order, occasion=f"payment-{stored.pk}", reason=problem)
        return order
    stored.instalments.set(instalments)
    _settle(instalments)
    by_hand = attempt_row is not None and attempt_row.kind == InstalmentAttempt.Kind.BY_HAND
    if by_hand and payment.payment_method:
        take_card(order, payment.payment_method)
    amount = format_euros(payment.amount_cents)
    _advance_order(order, actor=actor, reason=f"{name_instalments(numbers)} pagado: {amount}")
    if not settings.STRIPE_RECEIPTS:
        queue_mail(
            key=f"instalment-paid:{stored.pk}",
            template="instalment_paid",
            to=order.email,
            context={"payment_id": stored.pk, "order_id": order.pk},
        )
    return order


def _misfit(
    order: Order,
    instalments: Sequence[Instalment],
    numbers: Sequence[int],
    payment: ConfirmedPayment,
) -> str:
    """Why the payment does not fit these instalments, as a Spanish sentence; empty if it fits."""
    names = name_instalments(numbers)
    statuses = {instalment.status for instalment in instalments}
    due_cents = sum(instalment.amount_cents for instalment in instalments)
    if order.status not in PLAN_RUNNING or len(instalments) != len(set(numbers)):
        return f"Pago de {names} de un pedido que no los espera"
    if Instalment.Status.PAID in statuses:
        return f"Segundo pago de {names}"
    if Instalment.Status.CANCELED in statuses:
        return f"Pago de {names}, que se anuló"
    if payment.currency != "eur" or payment.amount_cents != due_cents:
        return (
            f"Importe inesperado de {names}: {format_euros(payment.amount_cents)} "
            f"({payment.currency}) en lugar de {format_euros(due_cents)}"
        )
    return ""


def _settle(instalments: Sequence[Instalment]) -> None:
    """Store the instalments as paid. Nothing charges them any more."""
    now = timezone.now()
    for instalment in instalments:
        instalment.status = Instalment.Status.PAID
        instalment.paid_at = now
        instalment.charge_on = None
        instalment.leased_until = None
        instalment.save()


def _refund_after_end(order: Order, payment: Payment, *, actor: str) -> bool:
    """Refund the payment if a confirmed refund has ended the plan. Returns False if none has."""
    end = refund_that_ended(order)
    if end is None or order.status in PLAN_RUNNING or payment.currency != "eur":
        return False
    amount = format_euros(to_cents(payment.amount))
    note(
        order,
        kind=EventKind.PAYMENT_AFTER_END,
        actor=actor,
        reason=f"Cobrados {amount} tras anular los plazos: se devuelven ({payment})",
    )
    refund_late_payment(payment, end=end)
    return True


def _advance_order(order: Order, *, actor: str, reason: str) -> None:
    """Set the order's status after a payment. Resume access unless the order is still overdue."""
    unpaid = order.instalments.exclude(status__in=INSTALMENT_SETTLED)
    # A new card sets a failed instalment back to due. It stays late until a charge succeeds.
    last_try = today() - timedelta(days=RETRY_DAYS[-1])
    late = unpaid.filter(Q(status=Instalment.Status.FAILED) | Q(first_refused_on__lte=last_try))
    if not unpaid.exists():
        change_status(
            order,
            Order.Status.PAID,
            kind=EventKind.INSTALMENTS_PAID,
            actor=actor,
            reason=f"{reason}. Todo pagado",
        )
        mark_partially_refunded(order, actor=actor)
    elif order.status == Order.Status.OVERDUE and not late.exists():
        change_status(
            order, Order.Status.PAYING, kind=EventKind.INSTALMENTS_PAID, actor=actor, reason=reason
        )
    else:
        note(order, kind=EventKind.INSTALMENTS_PAID, actor=actor, reason=reason)
    if order.status != Order.Status.OVERDUE:
        resume_access(order_id=order.pk, cause=Cause.OVERDUE)


@transaction.atomic
def mark_instalments_processing(
    *, order_id: int, numbers: Sequence[int], attempt: int, reference: str, amount_cents: int
) -> None:
    """Record that the bank is still confirming a payment of instalments.

    It is the order's one open payment until it succeeds or is canceled. Amounts are in cents.
    """
    order = locked_order(order_id)
    row = Payment.objects.select_for_update(no_key=True).filter(reference=reference).first()
    if row is None and not order.payments.open().exists():
        row = Payment.objects.create(
            order=order,
            reference=reference,
            amount=to_euros(amount_cents),
            status=Payment.Status.PROCESSING,
        )
        row.instalments.set(order.instalments.filter(number__in=numbers))
    elif row is not None and row.status == Payment.Status.OPEN:
        row.status = Payment.Status.PROCESSING
        row.save(update_fields=["status"])
    InstalmentAttempt.objects.filter(
        instalment__order=order,
        instalment__number=min(numbers),
        number=attempt,
        outcome__in=(InstalmentAttempt.Outcome.STARTED, InstalmentAttempt.Outcome.OPEN),
    ).update(outcome=InstalmentAttempt.Outcome.PROCESSING, reference=reference)


@transaction.atomic
def mark_instalments_canceled(
    *, order_id: int, numbers: Sequence[int], attempt: int, reference: str
) -> None:
    """Record that the provider has canceled a payment, so that it can no longer succeed."""
    order = locked_order(order_id)
    order.payments.open().filter(reference=reference).update(status=Payment.Status.CANCELED)
    InstalmentAttempt.objects.filter(
        instalment__order=order,
        instalment__number=min(numbers),
        number=attempt,
        outcome__in=(
            InstalmentAttempt.Outcome.STARTED,
            InstalmentAttempt.Outcome.OPEN,
            InstalmentAttempt.Outcome.PROCESSING,
        ),
    ).update(
        outcome=InstalmentAttempt.Outcome.VOID, reference=reference, finished_at=timezone.now()
    )


def mark_partially_refunded(order: Order, *, actor: str) -> None:
    """Mark a fully paid plan as partially refunded if a part of it was refunded earlier.

    A refund that the provider has not answered does not count: its answer changes the status.
    """
    if balance_of(order).less(-unanswered_refund_cents(order)).is_partial:
        change_status(
            order,
            Order.Status.PARTIALLY_REFUNDED,
            kind=EventKind.REFUNDED,
            actor=actor,
            reason="Pagado del todo, y antes devuelto en parte",
        )
