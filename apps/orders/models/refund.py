"""Refunds, made by the academy, and disputes, opened by cardholders at their bank."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.core.money import to_cents
from apps.orders.models.order import PRICE, PROVIDER_ID_LENGTH, Order, OrderLine
from apps.orders.models.payment import Payment
from apps.orders.models.statuses import DisputeStatus, RefundStatus


class RefundQuerySet(models.QuerySet["Refund"]):
    def unanswered(self) -> "RefundQuerySet":
        """Refunds that are recorded and that the provider has not answered yet."""
        return self.filter(status=RefundStatus.REQUESTED)

    def money_back(self) -> "RefundQuerySet":
        """Refunds whose money goes back to the buyer. Rejected refunds do not count."""
        return self.exclude(status=RefundStatus.FAILED)

    def ending_plan(self) -> "RefundQuerySet":
        """Refunds that were confirmed to end the order or its plan of instalments."""
        return self.filter(Q(ends_order=True) | Q(cancels_plan=True))


class Refund(models.Model):
    """A refund of one payment, recorded before the provider is called.

    The random `key_id` is a part of the idempotency key, because a restored database uses the same
    numbers again. Refunds that were confirmed together share a `batch`: an order paid in
    instalments is refunded payment by payment. Only `orders.refunds` changes refunds.
    """

    Status = RefundStatus

    payment = models.ForeignKey(
        Payment, models.PROTECT, related_name="refunds", verbose_name="pago"
    )
    key_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    batch = models.CharField(max_length=PROVIDER_ID_LENGTH, db_index=True, editable=False)
    amount = models.DecimalField("importe (€)", **PRICE)
    reason = models.CharField("motivo", max_length=300)
    # The lines whose access is withdrawn. A refund of all the money withdraws all access anyway.
    lines = models.ManyToManyField(
        OrderLine, related_name="refunds", blank=True, verbose_name="líneas"
    )
    cancels_plan = models.BooleanField("anula los plazos que quedan", default=False)
    # What was still to be paid for lines whose access stays, if the plan was canceled. It counts
    # towards the clerk's day. The first part of a batch has it.
    forgiven = models.DecimalField(
        "plazos perdonados (€)", **PRICE, default=0, db_default=0, editable=False
    )
    # Whether the clerk confirmed a refund of everything that was charged, which ends the order.
    ends_order = models.BooleanField(
        "devuelve todo lo cobrado", default=False, db_default=False, editable=False
    )
    # The refund that ended the plan, if this one refunds a payment that arrived afterwards.
    follows = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="followers",
        verbose_name="por la devolución",
        editable=False,
    )
    # The order that this money pays, if a line was exchanged for it.
    credited_to = models.ForeignKey(
        Order,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="credits",
        verbose_name="paga el pedido",
        editable=False,
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", editable=False
    )
    # The clerk's name, which stays after their account is deleted. For refunds made in the
    # provider's dashboard it is the provider's name.
    actor = models.CharField("quién", max_length=150)
    status = models.CharField(
        "estado", max_length=10, choices=Status.choices, default=Status.REQUESTED
    )
    reference = models.CharField("referencia", max_length=PROVIDER_ID_LENGTH, blank=True)
    # The number of idempotency keys for which the provider has stored an internal error, which it
    # repeats for a day.
    keys_given_up = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    problem = models.CharField("problema", max_length=200, blank=True)
    created_at = models.DateTimeField("pedida", default=timezone.now)
    settled_at = models.DateTimeField("resuelta", null=True, blank=True)
    # When the buyer's bank sent the money back to the provider.
    sent_back_at = models.DateTimeField("rechazada por el banco", null=True, blank=True)

    objects = RefundQuerySet.as_manager()

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
        indexes = (
            models.Index(fields=("status", "created_at"), name="refund_by_status"),
            models.Index(
                fields=("created_at",),
                include=("amount",),
                condition=~Q(status="failed"),
                name="refund_by_date",
            ),
            models.Index(fields=("created_at", "id"), name="refund_by_day"),
            models.Index(
                fields=("sent_back_at",),
                condition=Q(sent_back_at__isnull=False),
                name="refund_by_sent_back",
            ),
        )

    def __str__(self) -> str:
        return f"Devolución {self.pk}"

    @property
    def amount_cents(self) -> int:
        return to_cents(self.amount)

    @property
    def idempotency_key(self) -> str:
        return f"refund-{self.key_id}"


class DisputeQuerySet(models.QuerySet["Dispute"]):
    def open(self) -> "DisputeQuerySet":
        return self.filter(status=DisputeStatus.OPEN)


class Dispute(models.Model):
    """A cardholder's dispute of a payment. Only `orders.refunds.disputes` changes it."""

    Status = DisputeStatus

    payment = models.ForeignKey(
        Payment, models.PROTECT, related_name="disputes", verbose_name="pago"
    )
    reference = models.CharField("referencia", max_length=PROVIDER_ID_LENGTH, unique=True)
    amount = models.DecimalField("importe (€)", **PRICE)
    reason = models.CharField("motivo", max_length=60, blank=True)
    status = models.CharField("estado", max_length=10, choices=Status.choices)
    opened_at = models.DateTimeField("abierta", default=timezone.now)
    # When the bank took the money. Empty for an inquiry, which moves no money.
    withdrawn_at = models.DateTimeField("dinero retenido", null=True, blank=True)
    closed_at = models.DateTimeField("cerrada", null=True, blank=True)
    # The provider's deadline for the academy's evidence.
    respond_by = models.DateTimeField("plazo para responder", null=True, blank=True)

    objects = DisputeQuerySet.as_manager()

    class Meta:
        verbose_name = "disputa"
        verbose_name_plural = "disputas"
        ordering = ("-opened_at",)
        indexes = (models.Index(fields=("opened_at", "id"), name="dispute_by_day"),)

    def __str__(self) -> str:
        return self.reference

    @property
    def amount_cents(self) -> int:
        return to_cents(self.amount)
