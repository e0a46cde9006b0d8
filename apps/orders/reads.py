"""Questions that staff ask about orders."""

from django.db.models import CharField, Exists, OuterRef, QuerySet, Value
from django.db.models.functions import Cast, Concat

from apps.classroom.models import Provisioning
from apps.orders.models import Order

PAID_FOR = (Order.Status.PAID, Order.Status.PAYING, Order.Status.OVERDUE)


def paid_without_access() -> QuerySet[Order]:
    """Orders that have been paid, at least in part, and whose classroom access does not stand."""
    reference = Concat(Value("pedido-"), Cast(OuterRef("pk"), CharField()))
    access = Provisioning.objects.filter(reference=reference, status=Provisioning.Status.CREATED)
    return Order.objects.filter(~Exists(access), status__in=PAID_FOR)
