"""Uses of promo codes by orders."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.orders.models.order import Order
from apps.orders.models.statuses import PromoUseStatus
from apps.pricing.models import PromoCode
from apps.students.models import Student


class PromoUse(models.Model):
    """A use of a promo code by an order: reserved while a payment is open, used once paid."""

    Status = PromoUseStatus

    promo_code = models.ForeignKey(
        PromoCode, models.PROTECT, related_name="promo_uses", verbose_name="código"
    )
    order = models.ForeignKey(
        Order, models.PROTECT, related_name="promo_uses", verbose_name="pedido"
    )
    student = models.ForeignKey(
        Student, models.PROTECT, related_name="promo_uses", verbose_name="alumno"
    )
    status = models.CharField("estado", max_length=10, choices=Status.choices)
    reserved_at = models.DateTimeField("reservado", default=timezone.now)
    used_at = models.DateTimeField("usado", null=True, blank=True)

    class Meta:
        verbose_name = "uso de código"
        verbose_name_plural = "usos de códigos"
        ordering = ("-reserved_at",)
        constraints = (
            models.UniqueConstraint(
                fields=("order",),
                condition=Q(status__in=("reserved", "used")),
                name="one_code_per_order",
            ),
        )
        indexes = (
            models.Index(fields=("status", "reserved_at"), name="promo_use_by_status"),
            models.Index(fields=("reserved_at", "id"), name="promo_use_by_day"),
        )

    def __str__(self) -> str:
        return f"{self.promo_code} en {self.order}"
