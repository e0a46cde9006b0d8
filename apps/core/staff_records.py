"""The log of staff, and the recycle bin of content that they deleted."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

# Deleted content can be brought back for this long.
DELETED_KEPT_FOR = timedelta(days=30)


class StaffAction(models.Model):
    """One entry of the log of staff: what somebody did, read or exported. Entries are only added.

    The name of the author stays after their account is gone. `staff_log` writes the entries.
    """

    class Kind(models.TextChoices):
        ADDED = "added", "Crear"
        CHANGED = "changed", "Cambiar"
        DELETED = "deleted", "Borrar"
        ACTION = "action", "Acción"
        READ = "read", "Leer"
        EXPORTED = "exported", "Exportar"

    at = models.DateTimeField("cuándo", default=timezone.now)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name="cuenta",
    )
    actor_name = models.CharField("quién", max_length=150)
    kind = models.CharField("qué", max_length=10, choices=Kind.choices)
    # The model, as "orders.order".
    about = models.CharField("tipo", max_length=100, blank=True)
    object_id = models.CharField("número", max_length=60, blank=True)
    object_repr = models.CharField("de qué", max_length=200, blank=True)
    # A Spanish sentence, then one line for each changed field: "Precio: 10 → 12".
    text = models.TextField("detalle", blank=True)

    class Meta:
        verbose_name = "actividad del equipo"
        verbose_name_plural = "actividad del equipo"
        ordering = ("-at", "-pk")
        indexes = (
            models.Index(fields=("-at", "-id"), name="staff_action_by_date"),
            models.Index(fields=("actor", "-at"), name="staff_action_by_actor"),
            models.Index(fields=("kind", "-at"), name="staff_action_by_kind"),
            models.Index(fields=("about", "object_id", "-at"), name="staff_action_by_object"),
        )

    def __str__(self) -> str:
        return f"{self.actor_name}: {self.object_repr}"


class DeletedRow(models.Model):
    """Content that staff have deleted, with the rows that went with it. Kept for 30 days.

    `core.recycle_bin` writes and restores it.
    """

    about = models.CharField("tipo", max_length=100)
    object_id = models.CharField("número", max_length=60)
    object_repr = models.CharField("qué", max_length=200)
    # Django's serialization of the rows, parents first.
    data = models.JSONField(editable=False)
    deleted_by = models.CharField("quién", max_length=150)
    deleted_at = models.DateTimeField("borrado", default=timezone.now, db_index=True)

    class Meta:
        verbose_name = "contenido borrado"
        verbose_name_plural = "papelera"
        ordering = ("-deleted_at", "-pk")

    def __str__(self) -> str:
        return self.object_repr

    @property
    def kept_until(self) -> datetime:
        return self.deleted_at + DELETED_KEPT_FOR
