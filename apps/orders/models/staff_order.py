"""Orders that staff have made, and the bank transfers that paid them."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Upper
from django.utils import timezone

from apps.core.dates import today
from apps.core.money import to_cents
from apps.orders.models.order import PRICE, Order, OrderLine
from apps.orders.models.statuses import OrderStatus

# A discount of more than this is large: it asks for the password, and is shown on "Hoy" for days.
LARGE_DISCOUNT_PERCENT = 25
LARGE_DISCOUNT_DAYS = 7
# The `actor` of a row that the buyer of a cart has made, by choosing a transfer.
BUYER = "comprador"
# How long a transfer that the buyer has chosen is awaited.
TRANSFER_LIFE = timedelta(days=10)


def is_large_discount(discount_cents: int, *, agreed_cents: int) -> bool:
    """Whether a discount is large for an order that costs `agreed_cents` after it."""
    return discount_cents * 100 > (agreed_cents + discount_cents) * LARGE_DISCOUNT_PERCENT


class StaffOrderQuerySet(models.QuerySet["StaffOrder"]):
    def awaiting_approval(self) -> "StaffOrderQuerySet":
        """Open orders whose discount a second person has to approve."""
        return self.filter(awaits_approval=True, refused_by="", order__status=OrderStatus.CART)

    def refused(self) -> "StaffOrderQuerySet":
        """Open orders whose discount a second person has refused, until they are edited."""
        waiting = self.filter(awaits_approval=True, order__status=OrderStatus.CART)
        return waiting.exclude(refused_by="")

    def waiting_exchanges(self, order: Order) -> "StaffOrderQuerySet":
        """Open orders for which a line of `order` is going to be exchanged."""
        return self.filter(
            exchanged_line__order=order, exchanged_at=None, order__status=OrderStatus.CART
        )

    def large_discounts(self) -> "StaffOrderQuerySet":
        """Large discounts of the last days, whoever gave them, that are paid or may be paid."""
        since = timezone.now() - timedelta(days=LARGE_DISCOUNT_DAYS)
        return self.filter(
            created_at__gte=since,
            discount__gt=0,
            agreed__lt=F("discount") * (100 - LARGE_DISCOUNT_PERCENT) / LARGE_DISCOUNT_PERCENT,
            awaits_approval=False,
            renewal=False,
        ).exclude(order__status=OrderStatus.EXPIRED)


class StaffOrder(models.Model):
    """What staff agreed for an order: how it is paid, and a discount with its reason.

    The agreed total binds while the order is open (`offer.offer`), unless it waits for approval.
    The buyer of a cart may choose a transfer, too: then `by_buyer` is true, and no total is agreed.
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
    # How much of its discounts has counted towards the day of whoever gave them. An edit counts
    # only what it adds to that.
    counted = models.DecimalField(
        "contado en el límite del día (€)", **PRICE, default=0, db_default=0, editable=False
    )
    # Who agreed the present terms: the clerk who made the order, or who edited its price last.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", editable=False
    )
    # The clerk's name, which stays after their account is deleted.
    actor = models.CharField("quién", max_length=150)
    # Whether the discount is above the clerk's limit and nobody has approved it yet.
    awaits_approval = models.BooleanField("espera aprobación", default=False, db_default=False)
    approved_by = models.CharField("aprobado por", max_length=150, default="", db_default="")
    # Who refused to approve it, and why. The order goes on waiting until it is edited.
    refused_by = models.CharField("rechazado por", max_length=150, default="", db_default="")
    refusal = models.CharField(
        "motivo del rechazo", max_length=300, default="", db_default="", blank=True
    )
    # The line of another order that is exchanged for this one, and how much of what was paid for it
    # pays this order. While the order is open, `agreed` is what is left to pay.
    exchanged_line = models.ForeignKey(
        OrderLine,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="exchanges",
        verbose_name="a cambio de",
        editable=False,
    )
    credit = models.DecimalField("ya pagado (€)", **PRICE, default=0, db_default=0, editable=False)
    exchanged_at = models.DateTimeField("cambiado", null=True, blank=True, editable=False)
    by_buyer = models.BooleanField("lo eligió el comprador", default=False, db_default=False)
    # A student buys again what ends, at the price of a renewal: nobody of staff gave a discount.
    renewal = models.BooleanField("renovación", default=False, db_default=False)
    # When staff canceled the order, which is "expired" since. An order whose time is up has none.
    canceled_at = models.DateTimeField("anulado", null=True, blank=True, editable=False)
    # When the present terms were agreed: an edit of them renews it.
    created_at = models.DateTimeField("acordado", auto_now_add=True)

    objects = StaffOrderQuerySet.as_manager()

    class Meta:
        verbose_name = "pedido del equipo"
        verbose_name_plural = "pedidos del equipo"
        permissions = (
            ("approve_stafforder", "Puede aprobar descuentos de otros"),
            ("exchange_orderline", "Puede cambiar un curso comprado por otro"),
        )
        constraints = (
            # The database refuses to exchange a line twice, so that no bug can.
            models.UniqueConstraint(
                fields=("exchanged_line",),
                condition=Q(exchanged_at__isnull=False),
                name="line_exchanged_once",
            ),
        )
        indexes = (
            models.Index(
                fields=("order",),
                condition=Q(awaits_approval=True),
                name="staff_order_to_approve",
            ),
            models.Index(
                fields=("created_at",),
                condition=Q(discount__gt=0),
                name="staff_order_with_discount",
            ),
            models.Index(
                fields=("order",),
                condition=Q(canceled_at__isnull=False),
                name="staff_order_canceled",
            ),
        )

    def __str__(self) -> str:
        return self.reference

    @property
    def reference(self) -> str:
        """What the buyer writes on the transfer. The search of orders understands it."""
        return f"PEDIDO-{self.order_id}"

    @property
    def was_a_cart(self) -> bool:
        """Whether a visitor made the order. It stays so when staff change how it is paid."""
        return self.user_id is None and self.actor == BUYER

    @property
    def can_be_edited(self) -> bool:
        """Whether staff agree lines and price: no cart of a visitor, renewal or exchange."""
        return not (self.was_a_cart or self.renewal or self.exchanged_line_id)

    @property
    def given_cents(self) -> int:
        """The cents that staff give away with the order: their discount, or that of an exchange.

        An exchange is not edited, so that what it has counted is what it gives. The price of a
        renewal is nobody's discount.
        """
        if self.renewal:
            return 0
        return to_cents(self.counted if self.exchanged_line_id else self.discount)

    @property
    def version(self) -> str:
        """Another text after each change of the order's content, of its buyer or of what is agreed.

        A form or button that was opened with an older one is refused.
        """
        order, waits = self.order, "espera" if self.awaits_approval else ""
        agreed = (self.paid_by, waits, self.approved_by, self.refused_by)
        return "|".join(map(str, (order.revision, order.email, *agreed)))


def is_renewal(order: Order) -> bool:
    """Whether the order buys again what its student has."""
    row: StaffOrder | None = getattr(order, "by_staff", None)
    return row is not None and row.renewal


def is_canceled(order: Order) -> bool:
    """Whether staff have canceled the order, and no payment has arrived since."""
    row: StaffOrder | None = getattr(order, "by_staff", None)
    is_expired = order.status == OrderStatus.EXPIRED
    return is_expired and row is not None and row.canceled_at is not None


def is_personal(order: Order) -> bool:
    """Whether the price of the order is for its student alone (docs/rules.md, "Personal prices").

    That is the price of a renewal, of an exchange, and of a discount that a second person approves.
    """
    row: StaffOrder | None = getattr(order, "by_staff", None)
    if row is None:
        return False
    has_approver = row.awaits_approval or bool(row.approved_by)
    return row.renewal or row.exchanged_line_id is not None or has_approver


def exchange_of(order: Order) -> dict[str, Any] | None:
    """What the buyer reads of the line that was exchanged for the order. None if none was."""
    row: StaffOrder | None = getattr(order, "by_staff", None)
    if row is None or row.exchanged_line is None:
        return None
    return {"name": row.exchanged_line.name, "credit": row.credit}


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


class OrderNoteQuerySet(models.QuerySet["OrderNote"]):
    def waiting(self) -> "OrderNoteQuerySet":
        """Notes with a day that nobody has ticked off."""
        return self.filter(due_on__isnull=False, done_at=None)

    def due(self) -> "OrderNoteQuerySet":
        """Notes whose day has come."""
        return self.waiting().filter(due_on__lte=today())


class OrderNote(models.Model):
    """A note of staff about an order. With `due_on` it waits until somebody ticks it off."""

    order = models.ForeignKey(Order, models.CASCADE, related_name="notes", verbose_name="pedido")
    text = models.CharField("nota", max_length=1000)
    due_on = models.DateField("volver el", null=True, blank=True)
    # Names, which stay after the accounts are deleted.
    actor = models.CharField("quién", max_length=150)
    created_at = models.DateTimeField("escrita", auto_now_add=True)
    done_at = models.DateTimeField("hecha", null=True, blank=True)
    done_by = models.CharField("hecha por", max_length=150, blank=True)
    # Made up by the form, so that a second click adds no second note.
    form_key = models.UUIDField(unique=True, editable=False)

    objects = OrderNoteQuerySet.as_manager()

    class Meta:
        verbose_name = "nota"
        verbose_name_plural = "notas"
        ordering = ("due_on", "pk")
        indexes = (
            models.Index(
                fields=("due_on",), condition=Q(done_at=None), name="order_note_waiting_by_day"
            ),
        )

    def __str__(self) -> str:
        return f"Nota {self.pk}"
