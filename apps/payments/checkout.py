"""From a checkout to a payment that the browser can confirm, and what the provider says of it."""

import time
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction

from apps.core.mail.outbox import queue_mail
from apps.core.money import as_json
from apps.orders import payments as door
from apps.orders.errors import AlreadyPaid, PaymentInProgress
from apps.orders.models import Order, Payment
from apps.orders.payments import ConfirmedPayment
from apps.orders.place import Checkout, OpenPaymentInTheWay, OrderMadeMeanwhile, Placed, place
from apps.payments import stripe_gateway as gateway
from apps.payments.hosted import hosted_cart
from apps.payments.plans import report_instalments
from apps.payments.stripe_gateway import PaymentNotFound, ProviderError, ProviderPayment
from apps.payments.stripe_sessions import create_session

# Stripe takes no card payment below 0.50 EUR: such a total is completed without a card.
CARD_MINIMUM_CENTS = 50
# Each try cancels the payment that stood in the way; a third means somebody else keeps opening one.
TRIES = 3
# Card, bank and second thoughts: a page of Stripe's that lasts no longer gives way to a new one.
ENOUGH_TO_PAY_S = 10 * 60


@dataclass(frozen=True)
class Started:
    """The answer to process-checkout: what was placed, and how it goes on."""

    placed: Placed
    payment: ProviderPayment | None = None
    free_reference: str = ""
    saved: bool = False

    @property
    def as_json(self) -> dict[str, object]:
        answer: dict[str, object] = {"success": True, **self.placed.as_json}
        if self.payment is not None and self.payment.is_hosted:
            answer |= {"url": self.payment.url, "session_id": self.payment.session}
        elif self.payment is not None:
            answer |= {
                "client_secret": self.payment.client_secret,
                "payment_intent_id": self.payment.reference,
                "amount": as_json(self.payment.amount_cents),
            }
        if self.free_reference:
            answer |= {
                "completed": True,
                "payment_intent_id": self.free_reference,
                "redirect": f"/success?payment_intent_id={self.free_reference}",
            }
        if self.saved:
            answer["saved"] = True
        return answer


def start(checkout: Checkout) -> Started:
    """Place the order and open its payment (api.md, POST /api/process-checkout).

    The provider is called between transactions. Whatever fails on the way, the order stays as it
    was placed, recoverable, and has at most one payment that can be confirmed.
    """
    for _ in range(TRIES):
        try:
            placed = place(checkout)
        except OpenPaymentInTheWay as obstacle:
            cancel(obstacle.payment)
            continue
        except OrderMadeMeanwhile:
            continue
        if checkout.save_for_later:
            _mail_recovery_link(placed.order)
            return Started(placed, saved=True)
        if placed.quote.total_cents < CARD_MINIMUM_CENTS:
            reference = door.complete_free(
                order_id=placed.order.pk, revision=placed.order.revision, actor="comprador"
            )
            if reference:
                return Started(placed, free_reference=reference)
            continue
        try:
            payment = _payment_for(placed)
        except ProviderError as error:
            # With these the dialog's next try takes the same order up.
            error.extra |= {"order_id": placed.order.pk, "token": placed.order.auth_token}
            raise
        if payment is not None:
            return Started(placed, payment=payment)
    raise PaymentInProgress


@transaction.atomic
def _mail_recovery_link(order: Order) -> None:
    # The revision is in the key: a cart that changed since is worth a second link.
    queue_mail(
        key=f"cart-saved:{order.pk}:{order.revision}",
        template="cart_saved",
        to=order.email,
        context={"order_id": order.pk},
    )


def _payment_for(placed: Placed) -> ProviderPayment | None:
    """The order's one open payment; None where the order moved on and has to be placed again."""
    order = placed.order
    existing = order.payments.open().first()
    if existing is not None:
        try:
            payment = gateway.retrieve_payment(existing.reference)
        except PaymentNotFound:
            _forget(existing)
            return None
        if payment.status == "open" and (payment.is_hosted != is_hosted() or _ends_soon(payment)):
            # Opened before STRIPE_CHECKOUT was changed, or half an hour ago.
            cancel(existing)
            return None
    else:
        payment = _adopted(order) or _created(placed)
    if payment.status == "open" and existing is None:
        kept = door.open_payment(
            order_id=order.pk,
            revision=order.revision,
            reference=payment.reference,
            amount_cents=payment.amount_cents,
            hosted=payment.is_hosted,
        )
        if not kept:
            # Another tab was faster. Nobody has this payment's secret: it can be canceled quietly.
            gateway.cancel_payment(payment.reference)
            if Order.objects.filter(pk=order.pk, revision=order.revision, status="cart").exists():
                # With the same content: its payment is the one to answer with.
                return None
            raise PaymentInProgress
    return _still_payable(payment)


def _ends_soon(payment: ProviderPayment) -> bool:
    """Whether a buyer who is sent to the payment's page now would see it expire under them."""
    return payment.is_hosted and payment.expires_at - time.time() < ENOUGH_TO_PAY_S


def _still_payable(payment: ProviderPayment) -> ProviderPayment | None:
    """The payment if a card can confirm it; otherwise what it became is recorded, and told."""
    report(payment, actor="comprador")
    if payment.status == "succeeded":
        raise AlreadyPaid(payment_intent_id=payment.reference)
    if payment.status == "processing":
        raise PaymentInProgress(payment_intent_id=payment.reference)
    return None if payment.status == "canceled" else payment


def is_hosted() -> bool:
    """Whether the buyer pays on Stripe's own page (decisions.md, "Card payments")."""
    return bool(settings.STRIPE_CHECKOUT == "hosted")


def _created(placed: Placed) -> ProviderPayment:
    order = placed.order
    if not order.customer_reference:
        order.customer_reference = door.keep_customer(
            order_id=order.pk,
            customer=gateway.create_customer(order_id=order.pk, email=order.email),
        )
    params: dict[str, Any] = {
        "order_id": order.pk,
        "revision": order.revision,
        "amount_cents": placed.due_now_cents,
        "customer": order.customer_reference,
        "email": order.email,
        "keep_card": order.payment_type == "installment",
    }
    if is_hosted():
        return create_session(cart=hosted_cart(placed), **params)
    return gateway.create_payment(**params)


def _adopted(order: Order) -> ProviderPayment | None:
    """A payment of this revision that was opened but whose answer never arrived here.

    The idempotency key would find it too, but for 24 hours only. Open ones of earlier revisions are
    canceled, so that there is never more than one.
    """
    if not order.customer_reference:
        return None
    try:
        payments = gateway.list_payments(order.customer_reference)
    except PaymentNotFound:
        # Not a customer of this account any more: the order gets a new one.
        order.customer_reference = ""
        door.forget_customer(order_id=order.pk)
        return None
    adopted = None
    for payment in payments:
        if payment.status == "canceled":
            continue
        ours = payment.revision == order.revision and payment.is_hosted == is_hosted()
        if payment.status != "open" or (ours and adopted is None):
            adopted = adopted or payment
        else:
            gateway.cancel_payment(payment.reference)
    return adopted


def cancel(payment: Payment) -> None:
    """Cancel an open payment at the provider and record what that led to.

    Raises PaymentInProgress where it is being confirmed, AlreadyPaid where it has succeeded.
    """
    try:
        canceled = gateway.cancel_payment(payment.reference)
    except PaymentNotFound:
        _forget(payment)
        return
    _still_payable(canceled)


def _forget(payment: Payment) -> None:
    """Close a payment that the provider does not know: its keys were changed, or it was reset.

    The order's customer went with it.
    """
    if payment.order_id is not None:
        door.forget_customer(order_id=payment.order_id)
        door.mark_canceled(
            order_id=payment.order_id, reference=payment.reference, actor="comprador"
        )


def order_of(payment: ProviderPayment) -> Order | None:
    """The order that a payment is for: the one that it names, of whose customer it is.

    A number alone proves nothing: another shop on the same account counts its orders too, and a
    database that was restored gives the same numbers again.
    """
    order = Order.objects.filter(pk=payment.order_id or 0).first()
    if order is None or (payment.customer and payment.customer == order.customer_reference):
        return order
    names = (payment.reference, payment.session)
    return order if order.payments.filter(reference__in=names).exists() else None


def _keep_apart(payment: ProviderPayment, confirmed: ConfirmedPayment, *, actor: str) -> None:
    order_id = payment.order_id
    if order_id is not None and Order.objects.filter(pk=order_id).exists():
        door.keep_foreign_payment(order_id, confirmed, actor=actor)
    else:
        door.keep_stray_payment(confirmed, reason="Pago que no es de esta tienda")


def report(payment: ProviderPayment, *, actor: str) -> None:
    """Record what the provider says of a payment: from the browser, the webhook or reconciliation.

    Safe to repeat and in any order, since `payment` was fetched afresh by the caller.
    """
    confirmed = ConfirmedPayment(
        reference=payment.reference,
        amount_cents=payment.amount_cents,
        currency=payment.currency,
        payment_method=payment.payment_method,
        session=payment.session,
    )
    order = order_of(payment)
    if order is None:
        if payment.status == "succeeded":
            _keep_apart(payment, confirmed, actor=actor)
        return
    if payment.instalments:
        report_instalments(payment, confirmed, actor=actor)
    elif payment.status == "succeeded":
        door.mark_paid(order_id=order.pk, payment=confirmed, actor=actor)
    elif payment.status == "processing":
        door.mark_processing(order_id=order.pk, reference=payment.reference)
    elif payment.status == "canceled":
        door.mark_canceled(order_id=order.pk, reference=payment.reference, actor=actor)
    else:
        door.mark_open_again(order_id=order.pk, reference=payment.reference)
