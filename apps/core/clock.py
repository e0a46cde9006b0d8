from datetime import date

from django.utils import timezone


def today() -> date:
    """Today in Europe/Madrid on the server, never the visitor's clock (decisions.md, "Money")."""
    return timezone.localdate()
