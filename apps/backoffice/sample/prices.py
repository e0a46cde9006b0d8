"""Two price rises of the last year, which end at the prices that the sample catalogue has now.

Written directly: the first prices, which the sample catalogue has recorded today.
"""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from functools import partial

from django.db.models import F

from apps.backoffice.sample.clock import Tell, clock_at, days_before
from apps.backoffice.sample.shop import SampleShop
from apps.catalogue.bulk_prices import (
    Operation,
    PriceFormula,
    apply_batch,
    fingerprint,
    prepare_batch,
    preview,
)
from apps.catalogue.models import PriceChange, Subject

RISE = PriceFormula(Operation.EUROS_UP, 600)
OPENED, RISES = 370, (230, 95)
BEFORE = Decimal(6 * len(RISES))


def price_rises(shop: SampleShop) -> Iterator[tuple[datetime, Tell]]:
    """Date the first prices a year back, from before the rises, and return the rises."""
    firsts = PriceChange.objects.filter(before=None)
    firsts.update(changed_at=days_before(shop.now, OPENED, 9))
    ids = list(Subject.objects.filter(final_price__gt=BEFORE).values_list("pk", flat=True))
    firsts.filter(subject__in=ids).update(after=F("after") - BEFORE)
    Subject._base_manager.filter(pk__in=ids).update(final_price=F("final_price") - BEFORE)
    for days in RISES:
        yield days_before(shop.now, days, 10), partial(_raise, ids=ids)


def _raise(shop: SampleShop, at: datetime, *, ids: list[int]) -> None:
    with clock_at(at):
        batch = prepare_batch(shop.clerk, subject_ids=ids)
        apply_batch(
            batch_id=batch.pk,
            formula=RISE,
            with_lessons=False,
            expected=fingerprint(preview(batch, RISE, with_lessons=False)),
            user=shop.clerk,
            is_confirmed=True,
        )
