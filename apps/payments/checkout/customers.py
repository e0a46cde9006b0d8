"""The Stripe customer of an order (docs/decisions/0005-a-stripe-customer-for-each-order.md)."""

from apps.orders.models import Order
from apps.orders.settlement.open_payments import forget_customer, keep_customer
from apps.payments.stripe.intents import create_customer


def drop_customer(order: Order) -> None:
    """Clear an order's customer that Stripe has deleted. The next payment creates another."""
    forget_customer(order_id=order.pk)
    order.customer_reference = ""


def customer_of(order: Order) -> str:
    """The id of the order's customer at Stripe. Creates the customer if there is none yet."""
    if not order.customer_reference:
        order.customer_reference = keep_customer(
            order_id=order.pk, customer=create_customer(order_id=order.pk, email=order.email)
        )
    return order.customer_reference
