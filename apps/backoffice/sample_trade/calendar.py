"""The moments of a year of trade."""

from datetime import UTC, date, datetime, time, timedelta
from random import Random

from django.utils import timezone

DAYS = 365
# How busy each month is, January first: most students buy when a semester begins.
BUSY = (1.0, 1.9, 1.3, 0.8, 0.9, 0.6, 0.5, 0.8, 1.8, 2.0, 1.2, 0.7)
WEEKEND = 0.7
# From the first to the last day of the year the shop grows by this share.
GROWTH = 0.5
HOURS = {8: 1, 9: 2, 10: 3, 11: 3, 12: 3, 13: 2, 14: 1, 15: 2, 16: 3, 17: 4, 18: 4, 19: 5, 20: 6,
         21: 7, 22: 6, 23: 3, 0: 1}  # fmt: skip


def moments(rng: Random, count: int, *, now: datetime) -> list[datetime]:
    """Return `count` moments of the last year before `now`, oldest first."""
    days = [timezone.localdate(now) - timedelta(days=back) for back in range(DAYS, 0, -1)]
    weights = [_weight(day, share=place / DAYS) for place, day in enumerate(days)]
    chosen = rng.choices(days, weights, k=count)
    return sorted(at(day, rng) for day in chosen)


def at(day: date, rng: Random) -> datetime:
    """Return a moment of this day at which people are awake."""
    hour = rng.choices(list(HOURS), list(HOURS.values()))[0]
    return at_hour(day, hour, rng.randrange(60), rng.randrange(60))


def at_hour(day: date, hour: int, minute: int = 0, second: int = 0) -> datetime:
    """Return this local time in UTC: 30 days after a local time may be 30 days and an hour."""
    local = timezone.make_aware(datetime.combine(day, time(hour, minute, second)))
    return local.astimezone(UTC)


def _weight(day: date, *, share: float) -> float:
    weekend = WEEKEND if day.weekday() >= 5 else 1
    return BUSY[day.month - 1] * weekend * (1 + GROWTH * share)
