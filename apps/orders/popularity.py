"""How often each subject is bought: the order "Más elegidas" of lists and search."""

from collections import defaultdict
from datetime import timedelta

from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from apps.catalogue.models import Subject
from apps.orders.models import OrderLine
from apps.orders.models.statuses import SOLD

COUNTED = timedelta(days=365)


@transaction.atomic
def refresh_popularity() -> int:
    """Store the paid orders of the last year for each subject; return how many have changed."""
    orders_of = dict(
        OrderLine.objects.filter(
            order__status__in=SOLD, order__paid_at__gt=timezone.now() - COUNTED
        )
        .order_by()
        .values_list("subject")
        .annotate(orders=Count("order", distinct=True))
    )
    stored = dict(
        Subject.objects.filter(popularity__gt=0).order_by().values_list("pk", "popularity")
    )
    changed: dict[int, list[int]] = defaultdict(list)
    for subject_id in stored.keys() | orders_of.keys():
        orders = orders_of.get(subject_id, 0)
        if stored.get(subject_id, 0) != orders:
            changed[orders].append(subject_id)
    return sum(
        Subject.objects.filter(pk__in=ids).update(popularity=orders)
        for orders, ids in changed.items()
    )
