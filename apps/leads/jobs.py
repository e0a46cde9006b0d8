"""Scheduled jobs of the forms."""

from datetime import timedelta

from apps.core.jobs import job
from apps.leads.announced.waiting import queue_opening_mails


@job("tell_of_universities", "Avisar de universidades que abren", when=timedelta(minutes=15))
def tell_of_universities() -> str:
    """Mail those who wait for a university that has its first subject on sale."""
    count = queue_opening_mails()
    return f"Avisos de universidades: {count}" if count else ""
