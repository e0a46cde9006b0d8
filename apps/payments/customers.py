"""The Stripe customer of an order."""

from apps.orders.models import Order
from apps.orders.settlement.open_payments import forget_customer, keep_customer
from apps.payments.stripe.intents import create_customer


def drop_customer(order: Order) -> None:
    """Forget a customer that Stripe has deleted, with its cards: the next payment gets another."""
    forget_customer(order_id=order.pk)
    order.customer_reference = ""


def customer_of(order: Order) -> str:
    """The order's customer at Stripe, created where it has none yet."""
    if not order.customer_reference:
        order.customer_reference = keep_customer(
            order_id=order.pk, customer=create_customer(order_id=order.pk, email=order.email)
        )
    return order.customer_reference
