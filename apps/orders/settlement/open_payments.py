"""Payments that are open at the provider, and what closes them without money."""

from django.db import transaction

from apps.core.mail.outbox import queue_mail
from apps.core.money import to_euros
from apps.orders.ledger.history import note
from apps.orders.ledger.locks import locked_order
from apps.orders.ledger.states import change_status
from apps.orders.models import Order, Payment
from apps.orders.models.statuses import EventKind
from apps.orders.promo import uses as promo_uses


@transaction.atomic
def open_payment(
    *, order_id: int, revision: int, reference: str, amount_cents: int, session: str = ""
) -> bool:
    """Keep a payment that was just opened at the provider as the order's one open payment.

    False where the order has moved on meanwhile (another revision, paid, another open payment):
    then the caller cancels it at the provider, where nobody has been given its secret. `session`
    is the hosted page's, which is the `reference`, too, until the payment has succeeded.
    """
    order = locked_order(order_id)
    if order.status != Order.Status.CART or order.revision != revision:
        return False
    others = order.payments.open()
    if others.exists():
        return others.filter(reference=reference).exists()
    Payment.objects.create(
        order=order,
        reference=reference,
        session=session,
        amount=to_euros(amount_cents),
        status=Payment.Status.OPEN,
    )
    # Reconciliation asks the provider about orders that changed lately.
    order.save(update_fields=["updated_at"])
    return True


def keep_customer(*, order_id: int, customer: str) -> str:
    """Keep the order's customer; the one it has, where another call was faster.

    A payment of any other customer is not this order's: see `keep_foreign_payment`.
    """
    Order.objects.filter(pk=order_id, customer_reference="").update(customer_reference=customer)
    return Order.objects.values_list("customer_reference", flat=True).get(pk=order_id)


def forget_customer(*, order_id: int) -> None:
    """The provider does not know the order's customer any more: the next payment gets a new one."""
    Order.objects.filter(pk=order_id).update(customer_reference="")


@transaction.atomic
def mark_processing(*, order_id: int, reference: str) -> None:
    """The bank is still confirming: the payment stays open and the order can't be changed."""
    locked_order(order_id)
    Payment.objects.filter(reference=reference, status=Payment.Status.OPEN).update(
        status=Payment.Status.PROCESSING
    )


@transaction.atomic
def mark_open_again(*, order_id: int, reference: str, actor: str) -> None:
    """The bank has declined a payment that it was confirming. Another card can pay it."""
    order = locked_order(order_id)
    processing = order.payments.filter(reference=reference, status=Payment.Status.PROCESSING)
    if processing.update(status=Payment.Status.OPEN):
        _record_late_decline(order, reference=reference, actor=actor)


def _record_late_decline(order: Order, *, reference: str, actor: str) -> None:
    """Mail the recovery link to a buyer whose bank took its time to decline.

    The buyer may have left the page. The order stays a cart. A payment of instalments by hand gets
    no mail: the link of its plan works as before.
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


@transaction.atomic
def mark_canceled(*, order_id: int, reference: str, actor: str) -> None:
    """The provider confirms that a payment can no longer succeed: its promo use is given back.

    The next checkout gets a new revision, because the canceled payment belongs to this one's key.
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
    order.revision += 1
    # No content any more that a payment was opened for: the next checkout writes it anew.
    order.content_hash = ""
    order.save(update_fields=["revision", "content_hash", "updated_at"])
    note(order, kind=EventKind.PAYMENT_CANCELED, actor=actor, reason=f"Pago anulado ({reference})")
    if was_processing:
        # A hosted page takes no second card: its payment ends with the decline.
        _record_late_decline(order, reference=reference, actor=actor)


@transaction.atomic
def release_reservation(*, order_id: int) -> None:
    """Give back a promo use that was reserved for a payment which was never opened."""
    order = locked_order(order_id)
    if order.status in (Order.Status.CART, Order.Status.EXPIRED) and not order.payments.open():
        promo_uses.release(order)
        order.revision += 1
        order.content_hash = ""
        order.save(update_fields=["revision", "content_hash", "updated_at"])


@transaction.atomic
def expire(*, order_id: int) -> bool:
    """Close a cart whose 30 days are over; False where it has been paid or reopened meanwhile."""
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
