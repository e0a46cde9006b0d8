"""Which prices were charged lately. EU law allows only those as crossed-out prices."""

from collections import defaultdict
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from apps.catalogue.models import Lesson, PriceChange, Subject
from apps.core.money import list_price_cents, to_cents

PRICE_HISTORY_WINDOW = timedelta(days=30)


def recently_charged_prices(rows: QuerySet[Subject] | QuerySet[Lesson]) -> dict[int, set[int]]:
    """Return the prices in cents of the last 30 days for each subject or lesson, by its id.

    The price at the start of the 30 days is included. Runs two queries.
    """
    field = rows.model.price_field
    link = "lesson" if rows.model is Lesson else "subject"
    charged: dict[int, set[int]] = defaultdict(set)
    for pk, price in rows.order_by().values_list("pk", field):
        charged[pk].add(to_cents(price))
    changes = PriceChange.objects.filter(
        changed_at__gte=timezone.now() - PRICE_HISTORY_WINDOW,
        **{f"{link}__in": rows.order_by().values("pk")},
    )
    for pk, before, after in changes.values_list(f"{link}_id", "before", "after"):
        charged[pk].update(to_cents(price) for price in (before, after) if price is not None)
    return dict(charged)


def unproven_list_prices(subjects: QuerySet[Subject]) -> set[int]:
    """Return the ids of subjects whose crossed-out price was not charged in the last 30 days."""
    charged = recently_charged_prices(subjects)
    prices = subjects.order_by().exclude(total_discounts=0)
    return {
        pk
        for pk, price, percent in prices.values_list("pk", "final_price", "total_discounts")
        if list_price_cents(to_cents(price), percent) not in charged[pk]
    }
