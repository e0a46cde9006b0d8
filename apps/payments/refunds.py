"""Refunds at the provider: made once, found again where no answer came, learnt of from elsewhere.

The provider is called between the transactions of `orders.refunds`.
"""

import logging
from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.core.errors import AcademyError
from apps.orders import refunds as returns
from apps.orders.models import Order, Payment, Refund
from apps.orders.refunds import Wanted
from apps.payments import stripe_gateway as gateway
from apps.payments import stripe_returns as stripe_side
from apps.payments.checkout import cancel, report
from apps.payments.stripe_gateway import PaymentNotFound
from apps.payments.stripe_returns import RefundRefusedThere

logger = logging.getLogger(__name__)

# The provider forgets idempotency keys after 24 hours.
KEY_LIFE = timedelta(hours=23)
# Who asked is still at it; after that the clock finds out.
PATIENCE = timedelta(minutes=2)


def give_back(
    *, order_id: int, wanted: Wanted, batch: str, user: Any, seen_cents: int
) -> list[Refund]:
    """What a clerk has confirmed: written down, then asked of the provider, part by part.

    How each part stands is on the returned rows: one that is still `requested` got no answer, and
    reconciliation settles it. Raises RefundRefused, OutOfDate.
    """
    ids = returns.begin(
        order_id=order_id, wanted=wanted, batch=batch, user=user, seen_cents=seen_cents
    )
    for refund_id in ids:
        with suppress(AcademyError):
            settle(refund_id)
    close_open_payments(order_id)
    return list(Refund.objects.filter(pk__in=ids).order_by("pk"))


def settle(refund_id: int) -> None:
    """Bring a requested refund to its end: found at the provider, made there, or refused.

    Safe to repeat and in parallel. Raises ProviderError where the provider can't be asked.
    """
    refund = Refund.objects.select_related("payment").get(pk=refund_id)
    payment = refund.payment
    try:
        sync(payment)
        refund.refresh_from_db()
        if refund.status != Refund.Status.REQUESTED:
            return
        if timezone.now() - refund.created_at >= KEY_LIFE:
            # It is not there, and its key is about to be forgotten: a late call might do it twice.
            problem = "No llegó a Stripe; hay que pedirla otra vez"
            returns.refuse(refund_id=refund.pk, problem=problem)
            return
        stripe_side.create_refund(refund, payment=payment.reference, order_id=payment.order_id or 0)
        # An answer may be one that was kept for the key: how it stands now is looked up.
        sync(payment)
    except RefundRefusedThere as refused:
        returns.refuse(refund_id=refund.pk, problem=refused.message)
    except PaymentNotFound:
        returns.refuse(refund_id=refund.pk, problem="Stripe no conoce este pago")


def sync(payment: Payment) -> bool:
    """Record all refunds of a payment as they stand; True where there was news."""
    known = stripe_side.refunds_of(payment.reference)
    return returns.record(payment_id=payment.pk, known=known)


def learn(reference: str) -> bool:
    """Record the refunds of a payment that the provider told of; False where nothing is new.

    Raises PaymentNotFound where it is no payment of this shop.
    """
    payment = known_payment(reference)
    news = sync(payment)
    close_open_payments(payment.order_id or 0)
    return news


def known_payment(reference: str) -> Payment:
    """A payment of ours that has succeeded; what no event has told of it yet is recorded first."""
    ours = Payment.objects.filter(
        reference=reference, status=Payment.Status.SUCCEEDED, order__isnull=False
    )
    if Payment.objects.filter(reference=reference, order=None).exists():
        # Looked at before: it is nobody's order.
        raise PaymentNotFound
    if not ours.exists():
        report(gateway.retrieve_payment(reference), actor="Stripe")
    payment = ours.first()
    if payment is None:
        raise PaymentNotFound
    return payment


def close_open_payments(order_id: int) -> None:
    """Cancel what could still be paid of an order that was given back whole.

    What can't be canceled now is canceled by reconciliation.
    """
    order = Order.objects.filter(pk=order_id, status=Order.Status.REFUNDED).first()
    if order is not None:
        for payment in order.payments.open():
            with suppress(AcademyError):
                cancel(payment)


def settle_requested() -> tuple[int, int]:
    """Settle what was asked for and got no answer; (settled, without an answer again)."""
    settled = problems = 0
    waiting = Refund.objects.filter(
        status=Refund.Status.REQUESTED, created_at__lt=timezone.now() - PATIENCE
    )
    for refund in waiting.select_related("payment"):
        try:
            settle(refund.pk)
            close_open_payments(refund.payment.order_id or 0)
            settled += 1
        except AcademyError:
            problems += 1
        # One refund that nobody foresaw must not keep the others from being settled.
        except Exception:
            logger.exception("refund %s could not be settled", refund.pk)
            problems += 1
    return settled, problems
