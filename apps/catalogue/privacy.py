"""Retention of the catalogue's working data (docs/rules.md, "Keeping and deleting data")."""

from datetime import datetime, timedelta

from apps.catalogue.models import PriceBatch
from apps.core.privacy import register_retention

DRAFTS_KEPT = timedelta(days=1)


def _purge_drafts(now: datetime) -> int:
    """Delete price changes that were prepared and never applied."""
    old = PriceBatch.objects.filter(applied_at=None, created_at__lt=now - DRAFTS_KEPT)
    return old.delete()[0]


register_retention("Cambios de precios sin aplicar de más de un día", _purge_drafts)
