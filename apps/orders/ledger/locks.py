"""The row lock of an order (docs/rules.md, "Orders and their states")."""

from apps.orders.models import Order


def locked_order(order_id: int) -> Order:
    """The order with its row locked. Every change of an order takes this lock first.

    The statement joins nothing: a merge of two students, for which it has waited, changes
    `student`, and PostgreSQL would then find no row that fits the join.
    """
    return Order.objects.select_for_update(no_key=True).get(pk=order_id)
