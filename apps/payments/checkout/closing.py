"""Cancels payments that are open at Stripe (docs/rules.md, "Open payments")."""

from contextlib import suppress

from apps.core.errors import AcademyError
from apps.orders.errors import AlreadyPaid, PaymentInProgress
from apps.orders.models import Order, Payment
from apps.orders.settlement.open_payments import forget_customer, mark_canceled
from apps.payments.card_testing import is_testing_cards
from apps.payments.report import report
from apps.payments.stripe.client import PaymentNotFound
from apps.payments.stripe.intents import ProviderPayment, cancel_payment, list_payments


def cancel_open_payment(payment: Payment) -> None:
    """Cancel an open payment at Stripe and record its new state.

    Raises PaymentInProgress if the bank is confirming it, and AlreadyPaid if it has succeeded.
    """
    try:
        canceled = cancel_payment(payment)
    except PaymentNotFound:
        close_missing_payment(payment)
        return
    refuse_if_paid(canceled)


def stop_card_testing(order: Order) -> None:
    """Cancel the order's open payment if too many cards were refused.

    The browser has the client secret, so only that stops further tries with stolen cards. The next
    refused card and reconciliation repeat what fails here.
    """
    order.refresh_from_db(fields=["locked_until"])
    open_payment = order.payments.open().first()
    if open_payment is not None and is_testing_cards(order):
        with suppress(AcademyError):
            cancel_open_payment(open_payment)


def close_missing_payment(payment: Payment) -> None:
    """Close an open payment that Stripe reports as missing.

    That happens after the shop's keys were changed or a test account was reset. The answer may be
    wrong, so all payments of the order's customer are listed first. Raises AlreadyPaid or
    PaymentInProgress if one of them has taken money that the shop has not recorded.
    """
    order = payment.order
    if order is None:
        return
    try:
        for listed in _payments_of_customer(order):
            if not _is_recorded(listed):
                refuse_if_paid(listed)
    except AlreadyPaid:
        _mark_missing(order, payment)
        raise
    _mark_missing(order, payment)


def _mark_missing(order: Order, payment: Payment) -> None:
    mark_canceled(order_id=order.pk, reference=payment.reference, actor="comprador")


def _payments_of_customer(order: Order) -> list[ProviderPayment]:
    """The payments of an order's customer. If Stripe has no such customer, drops it; then []."""
    if not order.customer_reference:
        return []
    try:
        return list_payments(order.customer_reference)
    except PaymentNotFound:
        forget_customer(order_id=order.pk)
        return []


def _is_recorded(payment: ProviderPayment) -> bool:
    recorded = Payment.objects.filter(status=Payment.Status.SUCCEEDED)
    return recorded.filter(reference=payment.reference).exists()


def refuse_if_paid(payment: ProviderPayment) -> ProviderPayment | None:
    """Record a payment's state. Returns the payment if a card can still confirm it, else None.

    Raises PaymentInProgress if the bank is confirming it, and AlreadyPaid if it has succeeded.
    """
    report(payment, actor="comprador")
    if payment.status == "succeeded":
        raise AlreadyPaid(payment_intent_id=payment.reference)
    if payment.status == "processing":
        raise PaymentInProgress(payment_intent_id=payment.reference)
    return None if payment.status == "canceled" else payment
