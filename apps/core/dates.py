from datetime import date, datetime, time

from django.utils import timezone


def today() -> date:
    """The date in Europe/Madrid on the server, never the visitor's (docs/rules.md, "Money and
    time")."""
    return timezone.localdate()


def midnight(day: date) -> datetime:
    """The first moment of a day in Europe/Madrid."""
    return timezone.make_aware(datetime.combine(day, time.min))


def month_start() -> datetime:
    """The first moment of this month."""
    return midnight(today().replace(day=1))
