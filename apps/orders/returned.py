"""Money that went back: refunds, which the academy makes, and disputes, which it suffers.

Models of their own file, a part of `orders.models`.
"""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.core.money import to_cents

AMOUNT: dict[str, Any] = {"max_digits": 8, "decimal_places": 2}


class Refund(models.Model):
    """Money given back of one payment, written down before the provider is asked.

    Its number is in the idempotency key `refund-<id>`. What was confirmed together has one `batch`:
    an order paid in instalments is given back payment by payment. Changes in `orders.refunds`.
    """

    class Status(models.TextChoices):
        REQUESTED = "requested", "Pedida"
        PENDING = "pending", "En camino"
        SUCCEEDED = "succeeded", "Devuelta"
        # Refused at once (it has no reference then), or sent back by the buyer's bank.
        FAILED = "failed", "Fallida"
        # Sent back by the bank, and given to the buyer in another way.
        OUTSIDE = "outside", "Devuelta por otra vía"

    payment = models.ForeignKey(
        "orders.Payment", models.PROTECT, related_name="refunds", verbose_name="pago"
    )
    batch = models.CharField(max_length=80, db_index=True, editable=False)
    amount = models.DecimalField("importe (€)", **AMOUNT)
    reason = models.CharField("motivo", max_length=300)
    # Lines whose access goes with the money. All access goes with all the money.
    lines = models.ManyToManyField(
        "orders.OrderLine", related_name="refunds", blank=True, verbose_name="líneas"
    )
    cancels_plan = models.BooleanField("anula los plazos que quedan", default=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", editable=False
    )
    # The name, which stays when the account goes; "Stripe" for what was done in its dashboard.
    actor = models.CharField("quién", max_length=150)
    status = models.CharField(
        "estado", max_length=10, choices=Status.choices, default=Status.REQUESTED
    )
    reference = models.CharField("referencia", max_length=80, blank=True)
    problem = models.CharField("problema", max_length=200, blank=True)
    created_at = models.DateTimeField("pedida", default=timezone.now)
    settled_at = models.DateTimeField("resuelta", null=True, blank=True)

    class Meta:
        verbose_name = "devolución"
        verbose_name_plural = "devoluciones"
        ordering = ("-created_at", "-pk")
        constraints = (
            models.CheckConstraint(condition=Q(amount__gt=0), name="refund_positive"),
            models.UniqueConstraint(fields=("batch", "payment"), name="refund_once_per_batch"),
            models.UniqueConstraint(
                fields=("reference",), condition=~Q(reference=""), name="refund_reference_once"
            ),
        )
        indexes = (models.Index(fields=("status", "created_at"), name="refund_by_status"),)

    def __str__(self) -> str:
        return f"Devolución {self.pk}"

    @property
    def amount_cents(self) -> int:
        return to_cents(self.amount)

    @property
    def idempotency_key(self) -> str:
        return f"refund-{self.pk}"


class Dispute(models.Model):
    """A payment that its cardholder takes back through their bank. Changes in `orders.disputes`."""

    class Status(models.TextChoices):
        OPEN = "open", "Abierta"
        WON = "won", "Ganada"
        LOST = "lost", "Perdida"

    payment = models.ForeignKey(
        "orders.Payment", models.PROTECT, related_name="disputes", verbose_name="pago"
    )
    reference = models.CharField("referencia", max_length=80, unique=True)
    amount = models.DecimalField("importe (€)", **AMOUNT)
    reason = models.CharField("motivo", max_length=60, blank=True)
    status = models.CharField("estado", max_length=10, choices=Status.choices)
    opened_at = models.DateTimeField("abierta", default=timezone.now)
    closed_at = models.DateTimeField("cerrada", null=True, blank=True)

    class Meta:
        verbose_name = "disputa"
        verbose_name_plural = "disputas"
        ordering = ("-opened_at",)

    def __str__(self) -> str:
        return self.reference

    @property
    def amount_cents(self) -> int:
        return to_cents(self.amount)
