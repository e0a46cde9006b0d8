"""The clock of the sample shop: its services are told that it is another moment."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from django.utils import timezone

# Tells what happens at a moment in the sample shop.
Tell = Callable[[Any, datetime], object]


@contextmanager
def clock_at(moment: datetime) -> Iterator[None]:
    """Within the block it is this moment for everything that asks `timezone.now()`.

    That is every service, and every column with `auto_now` or a default of `timezone.now`. The
    function asks `datetime` of its own module, which is replaced here: replacing the function
    itself would miss the columns' defaults. Nothing may be rendered within the block.
    """

    class Stopped(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return moment.astimezone(tz)

    module: Any = timezone
    running, module.datetime = module.datetime, Stopped
    try:
        yield
    finally:
        module.datetime = running


def local(day: date, hour: int, minute: int = 0) -> datetime:
    """This time of day in Europe/Madrid, in UTC. The hours used are not those of a clock change."""
    return timezone.make_aware(datetime.combine(day, time(hour, minute))).astimezone(UTC)


def days_before(now: datetime, days: int, hour: int = 12, minute: int = 0) -> datetime:
    return local(timezone.localdate(now) - timedelta(days=days), hour, minute)
