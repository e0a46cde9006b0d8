"""Scheduled jobs of the admin's start page, "Hoy"."""

from datetime import time, timedelta

from apps.backoffice.today.stored_takings import check_days, keep_days
from apps.backoffice.today.takings import first_day
from apps.core.jobs import job


@job("keep_takings", "Sumar la recaudación de los días que terminan", when=timedelta(minutes=5))
def keep_takings() -> str:
    count = keep_days(first_day())
    return f"Días sumados: {count}" if count else ""


@job("check_takings", "Comprobar la recaudación de cada día", when=time(4, 50))
def check_takings() -> str:
    """Add up the kept days anew. A wrong one fails the job, which staff see on "Hoy" and by mail.

    `keep_takings` then stores the right sum.
    """
    count = check_days(first_day())
    return f"Días comprobados: {count}" if count else ""
