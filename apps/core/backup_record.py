from datetime import timedelta

from django.apps import apps as current_apps
from django.apps.registry import Apps
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

ONLY_ROW = 1


class BackupQuerySet(models.QuerySet["Backup"]):
    def late(self) -> "BackupQuerySet":
        """The row, if the last backup is older than BACKUP_MAX_AGE_HOURS or there is none."""
        if not settings.BACKUP_MAX_AGE_HOURS:
            return self.none()
        since = timezone.now() - timedelta(hours=settings.BACKUP_MAX_AGE_HOURS)
        return self.filter(Q(made_at=None) | Q(made_at__lt=since))


class Backup(models.Model):
    """The last backup that was completed. There is one row, which `migrate` creates."""

    made_at = models.DateTimeField("última copia", null=True, blank=True)
    archive = models.CharField("archivo", max_length=300, blank=True, default="", db_default="")
    size_bytes = models.BigIntegerField("tamaño (bytes)", default=0, db_default=0)
    encrypted = models.BooleanField("cifrada", default=False, db_default=False)

    objects = BackupQuerySet.as_manager()

    class Meta:
        verbose_name = "copia de seguridad"
        verbose_name_plural = "copias de seguridad"

    def __str__(self) -> str:
        return self.archive or "Ninguna"


def create_backup_row(apps: Apps = current_apps, **kwargs: object) -> None:
    """Create the row of a shop that was never backed up (post_migrate handler)."""
    try:
        rows = apps.get_model("core", "Backup")._default_manager
    except LookupError:  # Migrating backwards: the model is gone.
        return
    rows.get_or_create(pk=ONLY_ROW)
