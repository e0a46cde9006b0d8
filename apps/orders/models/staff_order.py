"""Orders that staff have made, and the bank transfers that paid them."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Upper

from apps.core.money import to_cents
from apps.orders.models.order import PRICE, Order


class StaffOrder(models.Model):
    """What staff agreed for an order: how it is paid, and a discount with its reason.

    The agreed total binds while the order is open (`offer.offer`).
    """

    class PaidBy(models.TextChoices):
        LINK = "link", "Enlace de pago con tarjeta"
        TRANSFER = "transfer", "Transferencia"

    order = models.OneToOneField(
        Order, models.CASCADE, related_name="by_staff", verbose_name="pedido"
    )
    paid_by = models.CharField("se paga con", max_length=10, choices=PaidBy.choices)
    discount = models.DecimalField("descuento (€)", **PRICE, default=0, db_default=0)
    agreed = models.DecimalField("total acordado (€)", **PRICE, default=0, db_default=0)
    reason = models.CharField("motivo del descuento", max_length=300, blank=True)
    actor = models.CharField("quién", max_length=150)
    created_at = models.DateTimeField("creado", auto_now_add=True)

    class Meta:
        verbose_name = "pedido del equipo"
        verbose_name_plural = "pedidos del equipo"

    def __str__(self) -> str:
        return self.reference

    @property
    def reference(self) -> str:
        """What the buyer writes on the transfer. The search of orders understands it."""
        return f"PEDIDO-{self.order_id}"


class TransferReceipt(models.Model):
    """A transfer that staff have seen on the bank account. Its payments carry the money."""

    order = models.ForeignKey(
        Order, models.PROTECT, related_name="transfer_receipts", verbose_name="pedido"
    )
    amount = models.DecimalField("importe (€)", **PRICE)
    received_on = models.DateField("recibida el")
    # The bank's own reference of the movement: the same one is never recorded twice,
    # in capitals or not.
    proof = models.CharField("justificante del banco", max_length=120)
    form_key = models.UUIDField(unique=True, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", editable=False
    )
    # The clerk's name, which stays after their account is deleted.
    actor = models.CharField("quién", max_length=150)
    created_at = models.DateTimeField("apuntada", auto_now_add=True)

    class Meta:
        verbose_name = "transferencia recibida"
        verbose_name_plural = "transferencias recibidas"
        ordering = ("-created_at", "-pk")
        constraints = (
            models.CheckConstraint(condition=Q(amount__gt=0), name="transfer_positive"),
            models.UniqueConstraint(Upper("proof"), name="transfer_proof_once"),
        )
        indexes = (models.Index(fields=("created_at", "id"), name="transfer_by_day"),)

    def __str__(self) -> str:
        return self.proof

    @property
    def amount_cents(self) -> int:
        return to_cents(self.amount)
