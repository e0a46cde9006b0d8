"""Price rises of the last year, which end at the prices that the sample catalogue has now.

Written directly: the price of a subject that is on sale today changes today.
"""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from apps.backoffice.sample.clock import days_before
from apps.backoffice.sample.year import given_moments
from apps.catalogue.models import PriceChange, Subject
from apps.leads.models import QuoteSubject
from apps.orders.models import OrderLine

STEP = Decimal(6)
OPENED = 370
# The day of each rise, counted back from today, and how many steps the price was lower before.
RISES = ((230, 2), (95, 1))


def raise_prices(clerk: Any, now: Any) -> None:
    """Date the first prices a year back, and add rises of the subjects that nobody has bought.

    Those that were bought or quoted keep their price: a sale of the past has the price of today.
    """
    firsts = PriceChange.objects.filter(before=None)
    firsts.update(changed_at=days_before(now, OPENED, 9))
    priced = [*OrderLine.objects.values("subject"), *QuoteSubject.objects.values("subject")]
    subjects = Subject.objects.on_sale().exclude(pk__in={row["subject"] for row in priced})
    rises = []
    for number, subject in enumerate(subjects.order_by("pk")):
        price = subject.final_price - RISES[0][1] * STEP
        firsts.filter(subject=subject).update(after=price)
        for days, steps in RISES:
            after = subject.final_price - (steps - 1) * STEP
            at = days_before(now, days, 10) + timedelta(minutes=number)
            rises.append(
                PriceChange(
                    subject=subject, before=price, after=after, changed_by=clerk, changed_at=at
                )
            )
            price = after
    with given_moments(PriceChange):
        PriceChange.objects.bulk_create(rises)
