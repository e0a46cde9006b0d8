"""Opening the payment of a placed order: the one that is open already, or a new one."""

import time
from typing import Any

from django.conf import settings

from apps.orders.checkout.request import Placed
from apps.orders.errors import PaymentInProgress
from apps.orders.models import Order, Payment
from apps.orders.settlement.open_payments import open_payment
from apps.payments.closing import cancel_open_payment, close_missing_payment, refuse_if_paid
from apps.payments.customers import customer_of, drop_customer
from apps.payments.hosted_cart import hosted_cart
from apps.payments.stripe.client import PaymentNotFound
from apps.payments.stripe.intents import (
    ProviderPayment,
    cancel_payment,
    create_payment,
    list_payments,
    retrieve_payment,
)
from apps.payments.stripe.keys import StoredKeys
from apps.payments.stripe.sessions import create_session
from apps.pricing.payment_type import PaymentType

# Card, bank and second thoughts: a page of Stripe's that lasts no longer gives way to a new one.
ENOUGH_TO_PAY_S = 10 * 60


def is_hosted() -> bool:
    """Whether the buyer pays on Stripe's own page (docs/rules.md, "Card payments")."""
    return bool(settings.STRIPE_CHECKOUT == "hosted")


def payment_for(placed: Placed) -> ProviderPayment | None:
    """The order's one open payment; None where the order moved on and has to be placed again.

    No payment is opened before every earlier one is known to be unpaid at the provider. Raises
    AlreadyPaid, PaymentInProgress, ProviderError.
    """
    existing = placed.order.payments.open().first()
    if existing is not None:
        return _open_payment_again(existing)
    payment = _payment_whose_answer_was_lost(placed) or _new_payment(placed)
    if payment.status == "open" and not _keep(placed.order, payment):
        return None
    return refuse_if_paid(payment)


def _open_payment_again(row: Payment) -> ProviderPayment | None:
    """The open payment as the provider has it; None where it gave way to a new one."""
    try:
        payment = retrieve_payment(row)
    except PaymentNotFound:
        close_missing_payment(row)
        return None
    wrong_page = payment.is_hosted != is_hosted()
    if payment.status == "open" and (wrong_page or _ends_soon(payment) or row.is_past_its_time):
        # Opened before STRIPE_CHECKOUT was changed, or too long ago.
        cancel_open_payment(row)
        return None
    return refuse_if_paid(payment)


def _ends_soon(payment: ProviderPayment) -> bool:
    """Whether a buyer who is sent to the payment's page now would see it expire under them."""
    return payment.is_hosted and payment.expires_at - time.time() < ENOUGH_TO_PAY_S


def _keep(order: Order, payment: ProviderPayment) -> bool:
    """Record the payment as the order's open one; False where another tab opened one before.

    Raises PaymentInProgress where the other tab has changed the order, too.
    """
    kept = open_payment(
        order_id=order.pk,
        revision=order.revision,
        reference=payment.reference,
        amount_cents=payment.amount_cents,
        session=payment.session,
    )
    if kept:
        return True
    # Nobody has this payment's secret: it can be canceled quietly.
    cancel_payment(payment)
    if Order.objects.filter(pk=order.pk, revision=order.revision, status="cart").exists():
        return False
    raise PaymentInProgress


def _new_payment(placed: Placed) -> ProviderPayment:
    try:
        return _create(placed)
    except PaymentNotFound:
        # It is the customer that is missing: the shop's keys were changed, or a test account reset.
        drop_customer(placed.order)
        return _create(placed)


def _create(placed: Placed) -> ProviderPayment:
    order = placed.order
    params: dict[str, Any] = {
        "order_id": order.pk,
        "revision": order.revision,
        "amount_cents": placed.due_now_cents,
        "customer": customer_of(order),
        "email": order.email,
        "keep_card": order.payment_type == PaymentType.INSTALMENTS,
        "keys": StoredKeys(order, f"order-{order.idempotency_id}-{order.revision}"),
    }
    if is_hosted():
        return create_session(cart=hosted_cart(placed), **params)
    return create_payment(**params)


def _payment_whose_answer_was_lost(placed: Placed) -> ProviderPayment | None:
    """A payment that was opened for this order but whose answer never arrived here.

    The idempotency key would find it too, but for 24 hours only. One that has taken money is found
    whatever it was opened for. Open ones of other content are canceled, so that there is never more
    than one.
    """
    order = placed.order
    if not order.customer_reference:
        return None
    try:
        payments = list_payments(order.customer_reference)
    except PaymentNotFound:
        # Not a customer of this account any more: the order gets a new one.
        drop_customer(order)
        return None
    found = next((one for one in payments if one.status in ("succeeded", "processing")), None)
    for payment in payments:
        if payment.status == "open" and found is None and _is_for(placed, payment):
            found = payment
        elif payment.status == "open":
            refuse_if_paid(cancel_payment(payment))
    return found


def _is_for(placed: Placed, payment: ProviderPayment) -> bool:
    """Whether an open payment is what the order would be given now."""
    return (
        payment.revision == placed.order.revision
        and payment.amount_cents == placed.due_now_cents
        and payment.is_hosted == is_hosted()
    )
