"""Refunds and disputes at Stripe: makes refunds, and looks both up after events and lost answers.

Stripe is called between the transactions of `apps.orders.refunds`. The rules are in docs/rules.md,
"Refunds and disputes".
"""

import logging
from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from apps.core.errors import AcademyError
from apps.orders.ledger.plan_end import takes_no_payments
from apps.orders.models import Order, Payment, Refund
from apps.orders.refunds.disputes import ReportedDispute, record_dispute
from apps.orders.refunds.effects import RefundRequest
from apps.orders.refunds.record import record_by_hand, record_refunds
from apps.orders.refunds.request import reject_refund, request_refund
from apps.payments.checkout.closing import cancel_open_payment
from apps.payments.report import report
from apps.payments.stripe import refunds as stripe_refunds
from apps.payments.stripe.client import PaymentNotFound
from apps.payments.stripe.intents import PaymentIds, retrieve_payment
from apps.payments.stripe.refunds import RefundRejected

logger = logging.getLogger(__name__)
PROVIDER = "Stripe"
# How long an idempotency key is reused. Stripe forgets keys after 24 hours.
KEY_LIFE = timedelta(hours=23)
# Skip refunds requested less than 2 minutes ago: the clerk's request may still be running.
MIN_AGE = timedelta(minutes=2)


def make_refund(
    *, order_id: int, request: RefundRequest, batch: str, user: Any, seen_cents: int
) -> list[Refund]:
    """Record a refund that a clerk has confirmed, then make each of its parts at Stripe.

    A refund has one part for each payment. If the refund ends the order or its plan, open payments
    are canceled first. Returns the parts with their outcome, and the refunds of payments that
    arrived meanwhile. A part that is still `requested` got no answer: reconciliation settles it.
    Raises RefundRefused and OutOfDate.
    """
    ids = request_refund(
        order_id=order_id, request=request, batch=batch, user=user, seen_cents=seen_cents
    )
    close_open_payments(order_id)
    for refund_id in ids:
        with suppress(AcademyError):
            settle_refund(refund_id, is_watched=True)
    refund_payments_after_plan_end(order_id)
    refunds = Refund.objects.filter(Q(pk__in=ids) | Q(follows__in=ids))
    return list(refunds.order_by("pk"))


def settle_refund(refund_id: int, *, is_watched: bool = False) -> None:
    """Settle a requested refund: find it at Stripe, or create it, or record its rejection.

    Safe to repeat and to run in parallel. A refund that is settled, or that paid an exchange, stays
    as it is. Staff are mailed about a rejection unless a clerk is waiting for the answer
    (`is_watched`). Raises ProviderError if Stripe can't be reached.
    """
    refund = Refund.objects.select_related("payment").get(pk=refund_id)
    if refund.status != Refund.Status.REQUESTED:
        return
    try:
        problem = _carry_out(refund)
    except RefundRejected as rejection:
        problem = rejection.message
    except PaymentNotFound:
        problem = "Stripe no conoce este pago"
    if problem:
        reject_refund(
            refund_id=refund.pk, problem=problem, provider=PROVIDER, is_watched=is_watched
        )


def _carry_out(refund: Refund) -> str:
    """Find or create the refund at Stripe. Returns a Spanish reason if it is given up, else ""."""
    payment = refund.payment
    if payment.is_refunded_by_hand:
        record_by_hand(refund)
        return ""
    sync_refunds(payment)
    refund.refresh_from_db()
    if refund.status != Refund.Status.REQUESTED:
        return ""
    if timezone.now() - refund.created_at >= KEY_LIFE:
        # Stripe is about to forget the idempotency key: another call might refund a second time.
        return "No llegó a Stripe; hay que pedirla otra vez"
    stripe_refunds.create_refund(refund, payment=payment.reference, order_id=payment.order_id or 0)
    # Stripe may have repeated an old answer for the same key, so fetch the current state.
    sync_refunds(payment)
    return ""


def refund_payments_after_plan_end(order_id: int) -> None:
    """Make the refunds of payments that arrived after the end of their plan.

    Reconciliation settles those that get no answer.
    """
    followers = Refund.objects.unanswered().filter(follows__isnull=False, payment__order=order_id)
    for refund_id in followers.values_list("pk", flat=True):
        with suppress(AcademyError):
            settle_refund(refund_id)


def sync_refunds(payment: Payment) -> bool:
    """Record all refunds of a payment as Stripe reports them. False if nothing changed."""
    reports = stripe_refunds.refunds_of(payment.reference)
    return record_refunds(payment_id=payment.pk, reports=reports, provider=PROVIDER)


def fetch_and_record_refunds(reference: str) -> bool:
    """Record the refunds of the payment that an event names. False if nothing changed.

    Raises PaymentNotFound if the payment is not this shop's.
    """
    payment = recorded_payment(reference)
    has_changed = sync_refunds(payment)
    close_open_payments(payment.order_id or 0)
    refund_payments_after_plan_end(payment.order_id or 0)
    return has_changed


def recorded_payment(reference: str) -> Payment:
    """A succeeded payment of this shop. It is recorded first if no event has reported it.

    Raises PaymentNotFound if it is not this shop's.
    """
    of_orders = Payment.objects.filter(
        reference=reference, status=Payment.Status.SUCCEEDED, order__isnull=False
    )
    if Payment.objects.filter(reference=reference, order=None).exists():
        # It was looked up before and belongs to no order.
        raise PaymentNotFound
    if not of_orders.exists():
        report(retrieve_payment(PaymentIds(reference)), actor=PROVIDER)
    payment = of_orders.first()
    if payment is None:
        raise PaymentNotFound
    return payment


def close_open_payments(order_id: int) -> None:
    """Cancel the open payments of an order or a plan that a refund or a lost dispute ends.

    If Stripe does not answer, reconciliation cancels them later.
    """
    order = Order.objects.filter(pk=order_id).first()
    if order is not None and takes_no_payments(order):
        for payment in order.payments.open():
            with suppress(AcademyError):
                cancel_open_payment(payment)


def settle_requested() -> tuple[int, int, int]:
    """Settle the refunds that got no answer. Returns how many were settled, and how many not."""
    settled = problems = errors = 0
    waiting = Refund.objects.unanswered().filter(
        Q(created_at__lt=timezone.now() - MIN_AGE) | Q(follows__isnull=False)
    )
    for refund in waiting.select_related("payment"):
        order_id = refund.payment.order_id or 0
        try:
            close_open_payments(order_id)
            settle_refund(refund.pk)
            refund_payments_after_plan_end(order_id)
            settled += 1
        except AcademyError:
            problems += 1
        # An unforeseen error with one refund must not keep the others from being settled.
        except Exception:
            logger.exception("refund %s could not be settled", refund.pk)
            errors += 1
    return settled, problems, errors


def fetch_and_record_dispute(reference: str) -> bool:
    """Fetch a dispute and record its state. False if nothing changed.

    Raises PaymentNotFound if it is not about a payment of this shop.
    """
    payment, dispute = stripe_refunds.retrieve_dispute(reference)
    return record_reported_dispute(payment, dispute)


def record_reported_dispute(payment: str, dispute: ReportedDispute) -> bool:
    """Record the state of a dispute of this payment. False if nothing changed.

    Open payments of a plan that a lost dispute ends are canceled.
    """
    disputed = recorded_payment(payment)
    changed = record_dispute(payment_id=disputed.pk, report=dispute, provider=PROVIDER)
    if changed:
        close_open_payments(disputed.order_id or 0)
    return changed
