"""Instalments of an order, and each attempt to have one paid."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.core.dates import today
from apps.core.money import to_cents
from apps.orders.models.order import PRICE, PROVIDER_ID_LENGTH, Order
from apps.orders.models.statuses import (
    INSTALMENT_UNPAID,
    AttemptKind,
    AttemptOutcome,
    InstalmentStatus,
    RefusalKind,
)


class InstalmentQuerySet(models.QuerySet["Instalment"]):
    def unpaid(self) -> "InstalmentQuerySet":
        """Instalments that are still to be paid, due or refused."""
        return self.filter(status__in=INSTALMENT_UNPAID)

    def late(self) -> "InstalmentQuerySet":
        """Unpaid instalments that the bank refused, or whose day has passed."""
        return self.unpaid().filter(Q(status=InstalmentStatus.FAILED) | Q(due_on__lt=today()))


class Instalment(models.Model):
    """One payment of an order in instalments."""

    Status = InstalmentStatus

    order = models.ForeignKey(
        Order, models.CASCADE, related_name="instalments", verbose_name="pedido"
    )
    number = models.PositiveSmallIntegerField("plazo")
    amount = models.DecimalField("importe (€)", **PRICE)
    due_on = models.DateField("vence")
    status = models.CharField("estado", max_length=8, choices=Status.choices, default=Status.DUE)
    # The day of the next automatic charge. Empty if there is none.
    charge_on = models.DateField("próximo cobro", null=True, blank=True)
    first_refused_on = models.DateField("primer rechazo", null=True, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True, editable=False)
    noticed_at = models.DateTimeField("aviso previo", null=True, blank=True)
    paid_at = models.DateTimeField("pagado", null=True, blank=True)

    objects = InstalmentQuerySet.as_manager()

    class Meta:
        verbose_name = "plazo"
        verbose_name_plural = "plazos"
        ordering = ("order", "number")
        constraints = (
            models.UniqueConstraint(fields=("order", "number"), name="instalment_number_once"),
            models.CheckConstraint(condition=Q(amount__gte=0), name="instalment_not_negative"),
        )
        indexes = (
            models.Index(fields=("status", "charge_on"), name="instalment_by_charge"),
            models.Index(fields=("due_on", "id"), name="instalment_by_due"),
            models.Index(
                fields=("due_on",),
                condition=Q(status__in=("due", "failed")),
                name="instalment_unpaid",
            ),
        )

    def __str__(self) -> str:
        return f"Plazo {self.number} de {self.order.instalment_count}"

    @property
    def amount_cents(self) -> int:
        return to_cents(self.amount)

    @property
    def is_late(self) -> bool:
        """As `InstalmentQuerySet.late`."""
        is_over = self.status == self.Status.FAILED or self.due_on < today()
        return self.status in INSTALMENT_UNPAID and is_over


class InstalmentAttempt(models.Model):
    """One attempt to charge or pay an instalment. It is stored before the provider is called.

    `plan.attempts.charge_key` makes its idempotency key. A payment of several instalments by hand
    is an attempt of the first of them.
    """

    Kind = AttemptKind
    Outcome = AttemptOutcome

    instalment = models.ForeignKey(
        Instalment, models.CASCADE, related_name="attempts", verbose_name="plazo"
    )
    number = models.PositiveSmallIntegerField("intento")
    kind = models.CharField("tipo", max_length=10, choices=Kind.choices)
    outcome = models.CharField(
        "resultado", max_length=10, choices=Outcome.choices, default=Outcome.STARTED
    )
    amount = models.DecimalField("importe (€)", **PRICE)
    payment_method = models.CharField("tarjeta", max_length=PROVIDER_ID_LENGTH, blank=True)
    reference = models.CharField("referencia", max_length=PROVIDER_ID_LENGTH, blank=True)
    error_code = models.CharField("error", max_length=60, blank=True)
    # Why the card was declined. Empty for declines from before it was stored.
    refusal = models.CharField(
        "motivo", max_length=20, choices=RefusalKind.choices, blank=True, default="", db_default=""
    )
    started_at = models.DateTimeField("empezado", default=timezone.now)
    finished_at = models.DateTimeField("terminado", null=True, blank=True)

    class Meta:
        verbose_name = "intento de cobro"
        verbose_name_plural = "intentos de cobro"
        ordering = ("instalment", "number")
        constraints = (
            models.UniqueConstraint(
                fields=("instalment", "number"), name="instalment_attempt_number_once"
            ),
            # The database allows one unsettled automatic attempt, so that no bug charges twice.
            models.UniqueConstraint(
                fields=("instalment",),
                condition=Q(kind="automatic", outcome__in=("started", "processing")),
                name="one_unsettled_charge_per_instalment",
            ),
        )

    def __str__(self) -> str:
        return f"{self.instalment}, intento {self.number}"

    @property
    def amount_cents(self) -> int:
        return to_cents(self.amount)
