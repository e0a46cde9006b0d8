"""The lines of an order that refunds have left."""

from django.db.models import QuerySet

from apps.orders.models import Order, OrderLine, Refund


def lines_left(order: Order) -> QuerySet[OrderLine]:
    """The order's lines whose access has not been withdrawn by a refund."""
    carried_out = Refund.objects.exclude(reference="").filter(payment__order=order)
    return order.lines.exclude(refunds__in=carried_out)
