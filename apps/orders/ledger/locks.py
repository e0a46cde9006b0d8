"""The row lock of an order (docs/rules.md, "Orders and their states")."""

from apps.orders.models import Order


def locked_order(order_id: int) -> Order:
    """The order with its row locked. Every change of an order takes this lock first."""
    return (
        Order.objects.select_for_update(no_key=True, of=("self",))
        .select_related("student")
        .get(pk=order_id)
    )
