"""Open payments of orders: opened, processing, declined, canceled (docs/rules.md, "Open payments").

"Open" means that the payment exists at the provider and can still succeed.
"""

from django.db import transaction

from apps.core.mail.outbox import queue_mail
from apps.core.money import to_euros
from apps.core.monitoring.purchase_log import log_step
from apps.orders.ledger.history import note
from apps.orders.ledger.locks import lock_buyer, locked_order
from apps.orders.ledger.states import change_status
from apps.orders.models import Order, Payment
from apps.orders.models.statuses import EventKind
from apps.orders.promo import uses as promo_uses


@transaction.atomic
def open_payment(
    *, order_id: int, revision: int, reference: str, amount_cents: int, session: str = ""
) -> bool:
    """Store a payment that was just opened at the provider as the order's one open payment.

    Returns False if the order has changed meanwhile: another revision, paid, another open payment,
    or a friend code that a later cart of the buyer has taken over. Then the caller cancels the
    payment at the provider. That is safe: no browser has received its client secret. `session` is
    the id of the Checkout Session, if the hosted page is used. It is also the `reference` until the
    payment has succeeded.
    """
    order = locked_order(order_id)
    if order.status != Order.Status.CART or order.revision != revision:
        return False
    others = order.payments.open()
    if others.exists():
        return others.filter(reference=reference).exists()
    # A checkout of another cart may be taking the code over: it looks for this payment first.
    if order.promo_code is not None and order.promo_code.is_referral_code:
        lock_buyer(email=order.email, phone=order.phone, order=order)
    if order.promo_code is not None and order.promo_code.max_uses_per_student is not None:
        promo_uses.lock(order.promo_code)
    if promo_uses.has_lost_code(order):
        _renew_revision(order)
        return False
    Payment.objects.create(
        order=order,
        reference=reference,
        session=session,
        amount=to_euros(amount_cents),
        status=Payment.Status.OPEN,
    )
    log_step(order_id, "payment_opened", reference)
    # Reconciliation looks up the orders with a recent `updated_at`.
    order.save(update_fields=["updated_at"])
    return True


def keep_customer(*, order_id: int, customer: str) -> str:
    """Store the provider's customer of the order, and return it.

    If a concurrent request has stored one already, that one stays and is returned. A payment of any
    other customer is not treated as this order's: see `keep_foreign_payment`.
    """
    without = Order.objects.filter(pk=order_id, customer_reference="")
    if without.update(customer_reference=customer):
        return customer
    return Order.objects.values_list("customer_reference", flat=True).get(pk=order_id)


def forget_customer(*, order_id: int) -> None:
    """Clear the order's customer, which the provider has deleted. The next payment gets another."""
    Order.objects.filter(pk=order_id).update(customer_reference="")


@transaction.atomic
def mark_processing(*, order_id: int, reference: str) -> None:
    """Record that the bank is confirming a payment. Until it settles the order can't be changed."""
    locked_order(order_id)
    Payment.objects.filter(reference=reference, status=Payment.Status.OPEN).update(
        status=Payment.Status.PROCESSING
    )


@transaction.atomic
def mark_open_again(*, order_id: int, reference: str, actor: str) -> None:
    """Record that the bank declined a payment that it was confirming. Another card can pay it."""
    order = locked_order(order_id)
    processing = order.payments.filter(reference=reference, status=Payment.Status.PROCESSING)
    if processing.update(status=Payment.Status.OPEN):
        _record_late_decline(order, reference=reference, actor=actor)


def _record_late_decline(order: Order, *, reference: str, actor: str) -> None:
    """Add the decline to the history and mail the recovery link to the buyer.

    The buyer may have left the page while the bank was confirming. The order stays a cart. After a
    payment of instalments by hand there is no mail: the link to `/plazos` works as before.
    """
    note(
        order,
        kind=EventKind.PAYMENT_DECLINED,
        actor=actor,
        reason=f"El banco ha rechazado el pago que estaba confirmando ({reference})",
    )
    if order.status != Order.Status.CART:
        return
    declines = order.events.filter(kind=EventKind.PAYMENT_DECLINED).count()
    queue_mail(
        key=f"payment-declined:{order.pk}:{declines}",
        template="payment_declined",
        to=order.email,
        context={"order_id": order.pk},
    )


def _renew_revision(order: Order) -> None:
    """Give the order a new revision. The caller holds its lock.

    The next checkout then has a new idempotency key: the old key would return the canceled payment.
    """
    order.revision += 1
    # With an empty digest the next checkout writes the order again, even with the same content.
    order.content_hash = ""
    order.save(update_fields=["revision", "content_hash", "updated_at"])


@transaction.atomic
def mark_canceled(*, order_id: int, reference: str, actor: str) -> None:
    """Record that the provider has canceled a payment. The order's reserved promo use is released.

    The order gets a new revision.
    """
    order = locked_order(order_id)
    payment = order.payments.open().filter(reference=reference).first()
    if payment is None:
        return
    was_processing = payment.status == Payment.Status.PROCESSING
    payment.status = Payment.Status.CANCELED
    payment.save(update_fields=["status"])
    if order.status in (Order.Status.CART, Order.Status.EXPIRED):
        promo_uses.release(order)
    _renew_revision(order)
    note(order, kind=EventKind.PAYMENT_CANCELED, actor=actor, reason=f"Pago anulado ({reference})")
    if was_processing:
        # A decline on the hosted page cancels the payment: no second card can be tried.
        _record_late_decline(order, reference=reference, actor=actor)


@transaction.atomic
def release_reservation(*, order_id: int) -> None:
    """Release the promo use that was reserved for a payment which was never opened."""
    order = locked_order(order_id)
    if order.status in (Order.Status.CART, Order.Status.EXPIRED) and not order.payments.open():
        promo_uses.release(order)
        _renew_revision(order)


@transaction.atomic
def expire(*, order_id: int) -> bool:
    """Expire a cart after 30 days. Returns False if it has been paid or has an open payment."""
    order = locked_order(order_id)
    if order.status != Order.Status.CART or order.is_open or order.payments.open().exists():
        return False
    promo_uses.release(order)
    change_status(
        order,
        Order.Status.EXPIRED,
        kind=EventKind.EXPIRED,
        actor="sistema",
        reason="Carrito sin pagar durante 30 días",
    )
    return True
