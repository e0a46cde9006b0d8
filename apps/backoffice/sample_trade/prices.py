"""Price changes of the last year, which end at the prices that the sample catalogue has now."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from apps.backoffice.sample_trade.calendar import at_hour
from apps.backoffice.sample_trade.insertion import given_moments
from apps.catalogue.models import Lesson, PriceChange, Subject
from apps.core.money import to_cents

CHANGED_EVERY = 3
STEP = Decimal(6)
# The day of each change, counted back from today, and how many steps the price was lower before.
CHANGES = ((230, 2), (95, 1))


@dataclass
class PriceBook:
    """The price of each subject at each moment of the sample year, in cents."""

    _changes: dict[int, list[tuple[datetime, int]]] = field(default_factory=dict)

    def learn(self, subject: Subject, moment: datetime, cents: int) -> None:
        self._changes.setdefault(subject.pk, []).append((moment, cents))

    def at(self, subject: Subject, moment: datetime) -> int:
        """The subject's price at this moment."""
        charged = to_cents(subject.final_price)
        for since, cents in self._changes.get(subject.pk, []):
            if since <= moment:
                charged = cents
        return charged


def change_prices(rng: Random, subjects: list[Subject], *, now: datetime, user: Any) -> PriceBook:
    """Date the first prices a year back, and add rises of every third subject since."""
    book = PriceBook()
    today = now.date()
    opened_at = at_hour(today - timedelta(days=370), 9)
    first_prices = PriceChange.objects.filter(before=None)
    first_prices.filter(subject__in=subjects).update(changed_at=opened_at)
    lessons = Lesson.objects.filter(subject__in=subjects)
    first_prices.filter(lesson__in=lessons).update(changed_at=opened_at)
    changes, firsts = [], []
    for subject in subjects[::CHANGED_EVERY]:
        price = subject.final_price - CHANGES[0][1] * STEP
        book.learn(subject, opened_at, to_cents(price))
        firsts.append((subject.pk, price))
        for days, steps in CHANGES:
            after = subject.final_price - (steps - 1) * STEP
            moment = at_hour(today - timedelta(days=days), 10, rng.randrange(60))
            book.learn(subject, moment, to_cents(after))
            changes.append(
                PriceChange(
                    subject=subject, before=price, after=after, changed_by=user, changed_at=moment
                )
            )
            price = after
    for pk, price in firsts:
        first_prices.filter(subject=pk).update(after=price)
    with given_moments(PriceChange):
        PriceChange.objects.bulk_create(changes)
    return book
