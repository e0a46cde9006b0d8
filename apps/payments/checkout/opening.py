"""Opens the payment of a placed order, or finds the open one (docs/rules.md, "Open payments")."""

import time
from typing import Any

from django.conf import settings

from apps.core.errors import TooManyRequests
from apps.core.models import SiteSettings
from apps.core.web.throttle import Limit
from apps.orders.checkout.request import Placed
from apps.orders.errors import OrderNotFound, PaymentInProgress
from apps.orders.gifts.details import stored_details
from apps.orders.models import Order, Payment
from apps.orders.promo import uses as promo_uses
from apps.orders.promo.uses import FriendCodeInUse
from apps.orders.settlement.open_payments import open_payment, release_reservation
from apps.payments.checkout.closing import (
    cancel_open_payment,
    close_missing_payment,
    refuse_if_paid,
)
from apps.payments.checkout.customers import customer_of, drop_customer
from apps.payments.checkout.hosted_cart import hosted_cart
from apps.payments.stripe.client import PaymentNotFound
from apps.payments.stripe.intents import (
    ProviderPayment,
    cancel_payment,
    create_payment,
    list_payments,
    retrieve_payment,
)
from apps.payments.stripe.keys import StoredKeys
from apps.payments.stripe.paid_contents import PaidContents, PaidLine
from apps.payments.stripe.sessions import create_session
from apps.pricing.payment_type import PaymentType

# The payments that one order opens at most, one for each change, also those that are canceled by a
# change of the same moment. Then the page begins another order. Stripe lists 100 at once, and each
# further page costs time. A cart lives 30 days.
PAYMENTS_OF_ORDER = Limit("payments-of-order", times=100, seconds=30 * 86_400)
# The buyer needs this time for card and bank. A hosted page that expires sooner is replaced.
ENOUGH_TO_PAY_S = 10 * 60


def is_hosted() -> bool:
    """Whether the buyer pays on Stripe's own page (docs/rules.md, "Card payments")."""
    return bool(settings.STRIPE_CHECKOUT == "hosted")


def payment_for(placed: Placed) -> ProviderPayment | None:
    """The order's one open payment. None if the order has changed and has to be placed again.

    A new payment is only opened once Stripe has confirmed that every earlier one is unpaid. Raises
    AlreadyPaid, PaymentInProgress, FriendCodeInUse, ProviderError, or OrderNotFound if the order
    has had too many payments.
    """
    existing = placed.order.payments.open().first()
    if existing is not None:
        return _open_payment_again(existing)
    if placed.order.customer_reference:
        _count(placed.order)
    lost = _payment_whose_answer_was_lost(placed)
    payment = lost or _new_payment(placed)
    if payment.status == "open" and not _keep(placed.order, payment):
        return None
    if payment.status == "open" and lost is None:
        return payment
    return refuse_if_paid(payment)


def _count(order: Order) -> None:
    """Count a payment that the order may open. Raises OrderNotFound if it has had too many."""
    try:
        PAYMENTS_OF_ORDER.count_key(str(order.pk))
    except TooManyRequests:
        release_reservation(order_id=order.pk)
        raise OrderNotFound from None


def _open_payment_again(row: Payment) -> ProviderPayment | None:
    """The open payment as Stripe reports it. None if it was canceled and a new one is needed."""
    try:
        payment = retrieve_payment(row)
    except PaymentNotFound:
        close_missing_payment(row)
        return None
    wrong_page = payment.is_hosted != is_hosted()
    if payment.status == "open" and (wrong_page or _ends_soon(payment) or row.is_past_its_time):
        # It was opened before STRIPE_CHECKOUT was changed, or too long ago.
        cancel_open_payment(row)
        return None
    return refuse_if_paid(payment)


def _ends_soon(payment: ProviderPayment) -> bool:
    """Whether the hosted page expires before a buyer who opens it now has had time to pay."""
    return payment.is_hosted and payment.expires_at - time.time() < ENOUGH_TO_PAY_S


def _keep(order: Order, payment: ProviderPayment) -> bool:
    """Store the payment as the order's open one. False if another tab has opened one before.

    Raises PaymentInProgress if the other tab has also changed the order, and FriendCodeInUse if
    another cart has taken over the friend code meanwhile.
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
    # No browser has this payment's client secret yet, so it can be canceled.
    cancel_payment(payment)
    if Order.objects.filter(pk=order.pk, revision=order.revision, status="cart").exists():
        return False
    if promo_uses.has_reserved_elsewhere(order):
        raise FriendCodeInUse
    raise PaymentInProgress


def _new_payment(placed: Placed) -> ProviderPayment:
    try:
        return _create(placed)
    except PaymentNotFound:
        # The customer is missing: the shop's keys were changed, or a test account was reset.
        drop_customer(placed.order)
        return _create(placed)


def _create(placed: Placed) -> ProviderPayment:
    order = placed.order
    params: dict[str, Any] = {
        "order_id": order.pk,
        "revision": order.revision,
        "amount_cents": placed.offer.due_now_cents,
        "customer": customer_of(order),
        "email": order.email,
        "keep_card": order.payment_type == PaymentType.INSTALMENTS,
        "contents": _contents(placed),
        "offered": SiteSettings.current().optional_methods,
        "keys": StoredKeys(order, f"order-{order.idempotency_id}-{order.revision}"),
    }
    if is_hosted():
        return create_session(cart=hosted_cart(placed.offer), **params)
    return create_payment(**params)


def _contents(placed: Placed) -> PaidContents:
    """What the payment is for. A restored shop makes the order again from it."""
    order, offer = placed.order, placed.offer
    gift = stored_details(order)
    return PaidContents(
        lines=tuple(
            PaidLine(line.subject_id, line.lesson_id, line.price_cents) for line in offer.lines
        ),
        total_cents=offer.total_cents,
        plan=offer.plan if order.in_instalments else None,
        gift_on=gift.deliver_on if gift else None,
    )


def _payment_whose_answer_was_lost(placed: Placed) -> ProviderPayment | None:
    """A payment of this order's customer that Stripe opened although its answer was lost.

    The idempotency key would return it as well, but only for 24 hours. A payment that has taken
    money is returned whatever it was opened for. Open payments for other content are canceled, so
    that there is never more than one.
    """
    order = placed.order
    if not order.customer_reference:
        return None
    try:
        payments = list_payments(order.customer_reference)
    except PaymentNotFound:
        # Stripe does not have the customer any more. The order gets a new one.
        drop_customer(order)
        return None
    lost = next((one for one in payments if one.status in ("succeeded", "processing")), None)
    for payment in payments:
        if payment.status == "open" and lost is None and _is_for(placed, payment):
            lost = payment
        elif payment.status == "open":
            refuse_if_paid(cancel_payment(payment))
    return lost


def _is_for(placed: Placed, payment: ProviderPayment) -> bool:
    """Whether an open payment has the revision, amount and kind that a new one would have."""
    return (
        payment.revision == placed.order.revision
        and payment.amount_cents == placed.offer.due_now_cents
        and payment.is_hosted == is_hosted()
    )
