from django.db import models
from django.utils import timezone


class RestoreQuerySet(models.QuerySet["Restore"]):
    def real(self) -> "RestoreQuerySet":
        """The restores after which the shop went on selling."""
        return self.filter(is_rehearsal=False)


class Restore(models.Model):
    """A backup that was loaded into this database. `manage.py restore` writes it.

    What was done between `backup_made_at`, the moment of the backup, and `restored_at` is lost.
    """

    restored_at = models.DateTimeField(default=timezone.now)
    backup_made_at = models.DateTimeField()
    is_rehearsal = models.BooleanField()

    objects = RestoreQuerySet.as_manager()

    class Meta:
        verbose_name = "restauración"
        verbose_name_plural = "restauraciones"

    def __str__(self) -> str:
        return f"{self.restored_at}"
