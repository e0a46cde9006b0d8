"""Finding the open order that a checkout continues."""

from apps.core.money import to_euros
from apps.orders.checkout.request import Checkout
from apps.orders.errors import (
    AlreadyPaid,
    OrderNotFound,
    PaymentInProgress,
)
from apps.orders.ledger.refused_cards import refuse_while_locked
from apps.orders.models import Order, Payment
from apps.orders.models.order import CARD_MINIMUM_CENTS
from apps.orders.models.statuses import EVER_PAID


def open_order(*, order_id: int, token: str, lock: bool = False) -> Order:
    """The cart with this id and token, with its row locked if `lock` is true.

    Raises OrderNotFound if id and token do not match or the cart has expired, and AlreadyPaid if it
    is paid. The token is compared in constant time. It opens nothing after the order has left
    `cart` (docs/rules.md, "Orders and their states").
    """
    # A lock without a join, as in `locked_order`: another checkout may change the code meanwhile.
    rows = Order.objects
    orders = rows.select_for_update(no_key=True) if lock else rows.select_related("promo_code")
    order = orders.filter(pk=order_id).first()
    if order is None or not order.opens_with(token):
        raise OrderNotFound
    if order.status in EVER_PAID:
        # Without the payment's reference: it opens the paid order, and the token must not.
        raise AlreadyPaid
    if not order.is_open:
        raise OrderNotFound
    return order


def credentials(checkout: Checkout) -> tuple[int, str] | None:
    """The id and token of the order that a checkout names by id or by `order_key`, if any.

    Raises OrderNotFound for the key of an order that staff have made: it is the key of their form,
    and would make them the order's buyer.
    """
    if checkout.order_id is not None:
        return checkout.order_id, checkout.token
    if checkout.order_key is None:
        return None
    order = Order.objects.with_key(checkout.order_key).select_related("by_staff").first()
    if order is None:
        return None
    by_staff = getattr(order, "by_staff", None)
    if by_staff is not None and not (by_staff.by_buyer or by_staff.was_a_cart):
        raise OrderNotFound
    return order.pk, order.auth_token


def completed_before(checkout: Checkout) -> Order | None:
    """The free order that an identical earlier checkout has completed, if any.

    A double click sends the same checkout twice, and both requests get the same answer. Only a
    checkout with the same items, and a total that no card can pay, counts as identical.
    """
    order_id_and_token = credentials(checkout)
    if order_id_and_token is None or checkout.expected_total_cents >= CARD_MINIMUM_CENTS:
        return None
    order = Order.objects.filter(
        pk=order_id_and_token[0],
        status__in=EVER_PAID,
        total_amount__lt=to_euros(CARD_MINIMUM_CENTS),
    ).first()
    if order is None or not order.opens_with(order_id_and_token[1]):
        return None
    requested = {
        (item.subject_id, lesson)
        for item in checkout.items
        for lesson in item.lesson_ids or (None,)
    }
    return order if requested == set(order.lines.values_list("subject_id", "lesson_id")) else None


def lock_existing_order(checkout: Checkout) -> Order | None:
    """The open order that a checkout names, with its row locked. None if it names none.

    Raises the errors of `open_order`, TooManyRequests while refused cards lock the order, and
    PaymentInProgress while the bank confirms a payment of it.
    """
    order_id_and_token = credentials(checkout)
    if order_id_and_token is None:
        return None
    order = open_order(order_id=order_id_and_token[0], token=order_id_and_token[1], lock=True)
    refuse_while_locked(order)
    processing = order.payments.filter(status=Payment.Status.PROCESSING).first()
    if processing is not None:
        raise PaymentInProgress(payment_intent_id=processing.reference)
    return order
