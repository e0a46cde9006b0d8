"""Disputes, learnt of from the provider's events or by asking."""

from apps.orders import disputes
from apps.orders.disputes import KnownDispute
from apps.payments import stripe_returns as stripe_side
from apps.payments.refunds import known_payment


def learn(reference: str) -> bool:
    """Record how a dispute stands now; False where nothing is new.

    Raises PaymentNotFound where it is about no payment of this shop.
    """
    payment, known = stripe_side.retrieve_dispute(reference)
    return record(payment, known)


def record(payment: str, known: KnownDispute) -> bool:
    return disputes.record(payment_id=known_payment(payment).pk, known=known)
