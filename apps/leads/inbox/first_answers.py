"""How long visitors wait for the first answer."""

from datetime import timedelta
from statistics import median

from django.utils import timezone

from apps.leads.models import Lead

PERIOD = timedelta(days=30)
# The newest leads of the period decide, so that the list of leads stays quick.
MOST = 1_000


def median_first_answer() -> timedelta | None:
    """The median time to the first answer of the leads of the last 30 days; None without any.

    Leads that staff opened are left out: nobody waited for an answer.
    """
    since = timezone.now() - PERIOD
    recent = Lead.objects.filter(created_at__gte=since, opened_by_staff=False)
    moments = recent.values_list("created_at", "answered_at")[:MOST]
    seconds = [(answered - created).total_seconds() for created, answered in moments if answered]
    return timedelta(seconds=median(seconds)) if seconds else None


def in_words(wait: timedelta) -> str:
    """The time in Spanish: "45 min", "3 h 20 min", "1 día 4 h", "2 días"."""
    minutes = int(wait.total_seconds() // 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days > 1:
        return f"{days} días"
    if days:
        return f"1 día {hours} h" if hours else "1 día"
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min"
