from django.db import models

from apps.orders.models.order import PROVIDER_ID_LENGTH


class ProviderEvent(models.Model):
    """A webhook event of Stripe. It is stored once, as received; the worker acts on it later."""

    event_id = models.CharField("evento", max_length=PROVIDER_ID_LENGTH, unique=True)
    kind = models.CharField("tipo", max_length=60)
    livemode = models.BooleanField("real", default=False)
    payload = models.JSONField("contenido")
    received_at = models.DateTimeField("recibido", auto_now_add=True)
    processed_at = models.DateTimeField("tratado", null=True, blank=True)
    attempts = models.PositiveSmallIntegerField("intentos", default=0)
    outcome = models.CharField("resultado", max_length=300, blank=True)

    class Meta:
        verbose_name = "evento de Stripe"
        verbose_name_plural = "eventos de Stripe"
        ordering = ("-received_at",)
        indexes = (models.Index(fields=("processed_at",), name="event_by_processed"),)

    def __str__(self) -> str:
        return f"{self.kind} ({self.event_id})"
