"""The card of a plan: changing it, and what Stripe says of it."""

from contextlib import suppress

from apps.core.errors import AcademyError
from apps.orders.errors import AlreadyPaid
from apps.orders.ledger.refused_cards import refuse_while_locked
from apps.orders.models import Order
from apps.orders.models.statuses import PLAN_RUNNING
from apps.orders.plan.card import change_card, describe_card
from apps.payments.card_testing import (
    is_testing_cards,
    record_refusal,
    refuse_card_testing,
)
from apps.payments.customers import customer_of, drop_customer
from apps.payments.stripe import cards
from apps.payments.stripe.client import PaymentNotFound


def start_card_change(order: Order, *, visitor: str) -> cards.ProviderCard:
    """A setup that the student confirms with another card.

    Raises AlreadyPaid, TooManyRequests after too many refused cards, ProviderError.
    """
    if order.status not in PLAN_RUNNING:
        raise AlreadyPaid("Este pedido no tiene plazos pendientes.")
    refuse_while_locked(order)
    refuse_card_testing(order, visitor=visitor)
    try:
        return cards.create_card_setup(order_id=order.pk, customer=customer_of(order))
    except PaymentNotFound:
        drop_customer(order)
        return cards.create_card_setup(order_id=order.pk, customer=customer_of(order))


def count_refused_setup(
    reference: str, *, refusal_id: str, reason: str, fingerprint: str, actor: str
) -> bool:
    """Count a card that a setup was refused; False where the setup is not of this shop.

    A setup takes card after card, so one that is refused for a locked order ends: the browser
    holds its secret. Raises ProviderError where the provider can't be asked.
    """
    try:
        setup = cards.retrieve_card_setup(reference)
    except PaymentNotFound:
        return False
    order = Order.objects.filter(pk=setup.order_id, customer_reference=setup.customer).first()
    if order is None or not setup.customer:
        return False
    record_refusal(
        order, refusal_id=refusal_id, reason=reason, fingerprint=fingerprint, actor=actor
    )
    order.refresh_from_db(fields=["locked_until"])
    if is_testing_cards(order):
        with suppress(AcademyError):
            cards.cancel_card_setup(reference)
    return True


def record_card(reference: str, *, actor: str, order_id: int | None = None) -> bool:
    """Take the card of a setup for the instalments to come, once; False where there is nothing new.

    From the webhook, or from the browser for that order alone; the setup is fetched afresh. Raises
    PaymentNotFound where it is not of our order.
    """
    setup = cards.retrieve_card_setup(reference)
    order = Order.objects.filter(pk=setup.order_id, customer_reference=setup.customer).first()
    if order is None or not setup.customer or order_id not in (None, order.pk):
        raise PaymentNotFound
    if not setup.saved or order.status not in PLAN_RUNNING:
        return False
    return change_card(
        order_id=order.pk,
        payment_method=setup.payment_method,
        label=cards.card_label(setup.payment_method),
        setup_reference=setup.reference,
        actor=actor,
    )


def name_card(order: Order) -> str:
    """How the order's card is called, asked of the provider once. Raises what that raises."""
    if order.card_reference and not order.card_label:
        order.card_label = cards.card_label(order.card_reference)
        describe_card(
            order_id=order.pk, payment_method=order.card_reference, label=order.card_label
        )
    return order.card_label
