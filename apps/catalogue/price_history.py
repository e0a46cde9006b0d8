"""Which prices were charged lately. EU law allows only those as crossed-out prices.

Directive 98/6/EC, article 6a: the earlier price of a reduction is the lowest price of the 30 days
before it.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import DecimalField, ExpressionWrapper, F, Max, Sum
from django.utils import timezone

from apps.catalogue.models import PriceChange, Subject, University
from apps.core.money import list_price_cents, to_cents

PRICE_HISTORY_WINDOW = timedelta(days=30)


def has_proven_list_price(subject: Subject) -> bool:
    """Whether a card may cross out the subject's list price: it was the lowest earlier price."""
    listed = list_price_cents(to_cents(subject.final_price), subject.total_discounts)
    return listed == to_cents(lowest_earlier_prices({subject.pk: subject.final_price})[subject.pk])


def lowest_earlier_prices(prices: Mapping[int, Decimal]) -> dict[int, Decimal]:
    """Return the lowest price of the 30 days before the current one, by the subject's id.

    `prices` are the current ones. A subject whose price has not changed in the last 30 days has
    its current price. Runs one query.
    """
    now = timezone.now()
    # Each change ends the time of the price before it. A price has one row, however often it was
    # charged: the last time counts.
    charged = (
        PriceChange.objects.filter(
            subject__in=list(prices),
            before__isnull=False,
            # The current price may be 30 days old, and the time before it counts 30 more.
            changed_at__gte=now - 2 * PRICE_HISTORY_WINDOW,
        )
        .order_by()
        .values_list("subject", "before")
        .annotate(ended_at=Max("changed_at"))
    )
    by_subject: dict[int, list[tuple[Decimal, datetime]]] = defaultdict(list)
    for subject_id, before, ended_at in charged:
        by_subject[subject_id].append((before, ended_at))
    lowest = dict(prices)
    for subject_id, history in by_subject.items():
        reduced_at = max(ended_at for _, ended_at in history)
        if reduced_at >= now - PRICE_HISTORY_WINDOW:
            since = reduced_at - PRICE_HISTORY_WINDOW
            lowest[subject_id] = min(before for before, ended_at in history if ended_at >= since)
    return lowest


def proven_list_price_counts(percent: int) -> tuple[int, int]:
    """Count the subjects whose list price, price / (1 - percent), was charged in the last 30 days.

    Returns that number and the number of subjects on sale. It reads only the price changes of those
    30 days and stored counts, however large the catalogue is.
    """
    proven = (
        PriceChange.objects.filter(
            changed_at__gte=timezone.now() - PRICE_HISTORY_WINDOW,
            before__isnull=False,
            subject__in=Subject.objects.on_sale(),
        )
        .annotate(
            difference=ExpressionWrapper(
                F("before") * (100 - percent) - F("subject__final_price") * 100,
                output_field=DecimalField(max_digits=14, decimal_places=4),
            )
        )
        # Equal after rounding to the cent: half a cent, times the divisor.
        .filter(
            difference__gte=-Decimal(100 - percent) / 200,
            difference__lte=Decimal(100 - percent) / 200,
        )
    )
    on_sale = University.objects.open().aggregate(sum=Sum("subjects_count"))["sum"] or 0
    return proven.order_by().values("subject").distinct().count(), on_sale
