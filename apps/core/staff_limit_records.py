"""The limits of each group of staff, and what its members gave away."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.validators import MaxValueValidator
from django.db import models
from django.utils import timezone


def _euros(label: str, euros: int) -> Any:
    return models.PositiveIntegerField(
        label, default=euros, db_default=euros, validators=[MaxValueValidator(1_000_000)]
    )


class StaffLimit(models.Model):
    """The limits of each member of a group. A group without a row has the defaults.

    `core.staff.limits` reads them.
    """

    group = models.OneToOneField(
        Group, models.CASCADE, related_name="staff_limit", verbose_name="grupo"
    )
    discount_percent = models.PositiveSmallIntegerField(
        "descuento en un pedido (%)",
        default=20,
        db_default=20,
        validators=[MaxValueValidator(100)],
    )
    discount_a_day = _euros("descuentos al día (€)", 100)
    refund_a_day = _euros("devoluciones al día (€)", 1000)
    transfer_a_day = _euros("transferencias al día (€)", 2000)
    extension_days = models.PositiveSmallIntegerField(
        "días de más en una ampliación",
        default=60,
        db_default=60,
        validators=[MaxValueValidator(730)],
        help_text="Desde el día hasta el que se vendió el acceso, también si se amplía dos veces.",
    )
    extensions_a_day = models.PositiveSmallIntegerField(
        "ampliaciones al día", default=20, db_default=20, validators=[MaxValueValidator(10_000)]
    )

    class Meta:
        verbose_name = "límite del equipo"
        verbose_name_plural = "límites del equipo"
        ordering = ("group__name",)

    def __str__(self) -> str:
        return self.group.name


class StaffDiscount(models.Model):
    """Money that a member of staff gave away on their own, in euros. Rows are only added."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", editable=False
    )
    amount = models.DecimalField("importe (€)", max_digits=8, decimal_places=2)
    what = models.CharField("en qué", max_length=120)
    created_at = models.DateTimeField("cuándo", default=timezone.now)

    class Meta:
        verbose_name = "descuento del equipo"
        verbose_name_plural = "descuentos del equipo"
        indexes = (models.Index(fields=("user", "created_at"), name="staff_discount_by_day"),)

    def __str__(self) -> str:
        return self.what


class StaffExtension(models.Model):
    """Accesses that a member of staff let end later on their own. Rows are only added."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", editable=False
    )
    count = models.PositiveSmallIntegerField("accesos")
    created_at = models.DateTimeField("cuándo", default=timezone.now)

    class Meta:
        verbose_name = "ampliación del equipo"
        verbose_name_plural = "ampliaciones del equipo"
        indexes = (models.Index(fields=("user", "created_at"), name="staff_extension_by_day"),)

    def __str__(self) -> str:
        return f"{self.count} accesos"
