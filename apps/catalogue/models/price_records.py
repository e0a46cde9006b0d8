"""The history of prices, changes of many prices at once, and uploaded catalogues."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.catalogue.models.lessons import Lesson
from apps.catalogue.models.studies import PRICE, Subject


class PriceBatch(models.Model):
    """A change of many prices at once. It is prepared, then applied, and undone at most once."""

    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, verbose_name="quién"
    )
    created_at = models.DateTimeField("cuándo", auto_now_add=True)
    # The chosen rows, by their ids.
    subject_ids = models.JSONField(default=list)
    lesson_ids = models.JSONField(default=list)
    summary = models.CharField("cambio", max_length=120, blank=True)
    prices_count = models.PositiveIntegerField("precios", default=0)
    applied_at = models.DateTimeField("aplicado", null=True)
    undone_at = models.DateTimeField("deshecho", null=True)
    undone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name="quién lo deshizo",
    )

    class Meta:
        verbose_name = "cambio de precios en bloque"
        verbose_name_plural = "cambios de precios en bloque"
        ordering = ("-created_at", "-pk")
        indexes = (models.Index(fields=("-created_at", "-id"), name="price_batch_by_moment"),)

    def __str__(self) -> str:
        return self.summary or "Cambio sin aplicar"


class PriceChange(models.Model):
    """One change of a price: who made it, when, from and to."""

    subject = models.ForeignKey(
        Subject,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="price_changes",
        verbose_name="asignatura",
    )
    lesson = models.ForeignKey(
        Lesson,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="price_changes",
        verbose_name="lección",
    )
    before = models.DecimalField("antes (€)", **PRICE, null=True, blank=True)
    after = models.DecimalField("después (€)", **PRICE)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, verbose_name="quién"
    )
    changed_at = models.DateTimeField("cuándo", auto_now_add=True)
    batch = models.ForeignKey(
        PriceBatch,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="changes",
        verbose_name="cambio en bloque",
    )

    class Meta:
        verbose_name = "cambio de precio"
        verbose_name_plural = "cambios de precio"
        ordering = ("-changed_at", "-pk")
        constraints = (
            models.CheckConstraint(
                condition=Q(subject__isnull=False, lesson__isnull=True)
                | Q(subject__isnull=True, lesson__isnull=False),
                name="price_change_of_one_thing",
            ),
        )
        indexes = (
            models.Index(fields=("-changed_at", "-id"), name="price_change_by_moment"),
            # First prices have no price before. An import adds thousands of them.
            models.Index(
                fields=("changed_at",),
                condition=Q(before__isnull=False),
                name="price_change_of_old_price",
            ),
        )

    def __str__(self) -> str:
        return f"{self.subject or self.lesson}: {self.after} €"


class CatalogueUpload(models.Model):
    """An uploaded file: a worker reads it, staff confirm its preview, a worker imports it.

    `result` is what the file would change or has changed, or its errors. `progress` is in percent.
    """

    class State(models.TextChoices):
        READING = "reading", "Leyéndose"
        READ = "read", "Por confirmar"
        REFUSED = "refused", "Con errores"
        IMPORTING = "importing", "Importándose"
        IMPORTED = "imported", "Importado"

    uploaded_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    uploaded_at = models.DateTimeField(auto_now_add=True)
    name = models.CharField(max_length=200)
    content = models.BinaryField()
    state = models.CharField(
        max_length=10, choices=State.choices, default=State.READING, db_default=State.READING
    )
    progress = models.PositiveSmallIntegerField(default=0, db_default=0)
    result = models.JSONField(default=dict, db_default={})

    class Meta:
        verbose_name = "catálogo subido"
        verbose_name_plural = "catálogos subidos"

    def __str__(self) -> str:
        return self.name
