from datetime import date

from django.utils import timezone


def today() -> date:
    """The date in Europe/Madrid on the server, never the visitor's (docs/rules.md, "Money and
    time")."""
    return timezone.localdate()
