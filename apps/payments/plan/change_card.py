"""Changes the card of a plan, and records what Stripe reports about it."""

from contextlib import suppress

from apps.core.errors import AcademyError
from apps.core.web.throttle import Networks
from apps.orders.errors import AlreadyPaid
from apps.orders.ledger.refused_cards import refuse_while_locked
from apps.orders.models import Order
from apps.orders.models.statuses import PLAN_RUNNING
from apps.orders.plan.card import change_card, describe_card
from apps.payments.card_testing import is_testing_cards, refuse_card_testing
from apps.payments.checkout.customers import customer_of, drop_customer
from apps.payments.stripe import cards
from apps.payments.stripe.client import PaymentNotFound


def start_card_change(order: Order, *, networks: Networks) -> cards.ProviderCard:
    """Create a card set-up at Stripe, which the student confirms with another card.

    Raises AlreadyPaid if nothing is left to pay, TooManyRequests while refused cards lock the
    order, and ProviderError.
    """
    if order.status not in PLAN_RUNNING:
        raise AlreadyPaid("Este pedido no tiene plazos pendientes.")
    refuse_while_locked(order)
    # The order's own lock counts the cards refused through the plan's link.
    refuse_card_testing(order, networks=networks, buyer_is_known=True)
    try:
        return cards.create_card_setup(order_id=order.pk, customer=customer_of(order))
    except PaymentNotFound:
        drop_customer(order)
        return cards.create_card_setup(order_id=order.pk, customer=customer_of(order))


def stop_card_testing_in_setup(order: Order, reference: str) -> None:
    """Cancel a card set-up if too many cards of its order, buyer or visitors were refused.

    One set-up accepts any number of tries, and the browser has its client secret.
    """
    order.refresh_from_db(fields=["locked_until"])
    if is_testing_cards(order):
        with suppress(AcademyError):
            cards.cancel_card_setup(reference)


def record_card(reference: str, *, actor: str, order_id: int | None = None) -> bool:
    """Charge the remaining instalments to the card of a set-up. False if already recorded.

    Called by the webhook, and by the browser with `order_id`. The set-up is fetched afresh. Raises
    PaymentNotFound if it does not belong to that order.
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
    """The name of the order's card, "Visa terminada en 4242".

    It is fetched from Stripe once, then stored. Raises ProviderError.
    """
    if order.card_reference and not order.card_label:
        order.card_label = cards.card_label(order.card_reference)
        describe_card(
            order_id=order.pk, payment_method=order.card_reference, label=order.card_label
        )
    return order.card_label
