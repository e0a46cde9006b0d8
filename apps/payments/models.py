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
        indexes = (
            models.Index(fields=("processed_at",), name="event_by_processed"),
            models.Index(fields=("received_at", "id"), name="event_by_day"),
        )

    def __str__(self) -> str:
        return f"{self.kind} ({self.event_id})"


class Payout(models.Model):
    """A payment of Stripe's to the academy's bank account."""

    reference = models.CharField("payout", max_length=PROVIDER_ID_LENGTH, unique=True)
    amount_cents = models.BigIntegerField("importe (céntimos)")
    currency = models.CharField("moneda", max_length=3)
    status = models.CharField("estado", max_length=20)
    arrives_on = models.DateField("llega al banco")
    created_at = models.DateTimeField("creado", db_index=True)

    class Meta:
        verbose_name = "ingreso de Stripe"
        verbose_name_plural = "ingresos de Stripe"
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return self.reference


class BalanceEntry(models.Model):
    """A movement of the academy's balance at Stripe, as Stripe reports it. Never changed.

    `kind` is Stripe's reporting category: charge, refund, dispute, payout…
    """

    reference = models.CharField("movimiento", max_length=PROVIDER_ID_LENGTH, unique=True)
    kind = models.CharField("tipo", max_length=60)
    amount_cents = models.BigIntegerField("importe (céntimos)")
    fee_cents = models.BigIntegerField("comisión (céntimos)")
    net_cents = models.BigIntegerField("neto (céntimos)")
    currency = models.CharField("moneda", max_length=3)
    # The id of the charge, refund, dispute or payout that caused it.
    source = models.CharField("origen", max_length=PROVIDER_ID_LENGTH, blank=True)
    # `Payment.reference`, which the shop may learn of later than Stripe.
    payment_reference = models.CharField("pago", max_length=PROVIDER_ID_LENGTH, blank=True)
    # A charge of another shop on the same account, or a refund or dispute of one.
    of_other_shop = models.BooleanField("de otra tienda", default=False, db_default=False)
    payout = models.ForeignKey(
        Payout, models.SET_NULL, null=True, related_name="entries", verbose_name="ingreso"
    )
    created_at = models.DateTimeField("cuándo", db_index=True)

    class Meta:
        verbose_name = "movimiento de Stripe"
        verbose_name_plural = "movimientos de Stripe"
        ordering = ("created_at", "pk")
        permissions = (
            ("view_reports", "Puede ver los informes"),
            ("export_reports", "Puede exportar los informes"),
        )

    def __str__(self) -> str:
        return self.reference


class AuditDifference(models.Model):
    """A difference that the last nightly audit found (docs/rules.md, "Money audit")."""

    text = models.TextField("diferencia")
    found_at = models.DateTimeField("encontrada", auto_now_add=True)

    class Meta:
        verbose_name = "diferencia de la auditoría"
        verbose_name_plural = "diferencias de la auditoría"
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.text
