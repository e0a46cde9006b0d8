"""Payments at the provider."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Right, Upper
from django.utils import timezone

from apps.orders.models.instalment import Instalment
from apps.orders.models.order import PRICE, PROVIDER_ID_LENGTH, Order
from apps.orders.models.statuses import PAYMENT_OPEN, REFUNDED_BY_HAND, PaymentKind, PaymentStatus

# The buyer's success page shows the last eight characters of the payment's or the session's id.
END_OF_REFERENCE = Upper(Right("reference", 8))
END_OF_SESSION = Upper(Right("session", 8))


class PaymentQuerySet(models.QuerySet["Payment"]):
    def open(self) -> "PaymentQuerySet":
        return self.filter(status__in=PAYMENT_OPEN)

    def unmatched(self) -> "PaymentQuerySet":
        """Payments that belong to no order and that staff have not attended to."""
        return self.filter(order=None).exclude(flag="")

    def transfers(self) -> "PaymentQuerySet":
        """Bank transfers that staff have recorded."""
        return self.filter(kind=PaymentKind.TRANSFER, status=PaymentStatus.SUCCEEDED)

    def ending_in(self, end: str) -> "PaymentQuerySet":
        """Payments whose id, or whose Checkout Session's id, ends in these eight characters."""
        # One query for each index: joined by OR, PostgreSQL would read all payments.
        by_end = [
            self.alias(end=ending).filter(end=end.upper()).order_by().values("pk")
            for ending in (END_OF_REFERENCE, END_OF_SESSION)
        ]
        return self.filter(pk__in=by_end[0].union(by_end[1]))

    def named(self, provider_id: str) -> "PaymentQuerySet":
        """Payments with this id at the provider: of the payment, or of its Checkout Session."""
        return self.filter(Q(reference=provider_id) | Q(session=provider_id))


class Payment(models.Model):
    """One payment at the provider, open or settled. An order has at most one open payment.

    A payment without an order belongs to no order of the shop. It is stored and left alone.
    """

    Kind = PaymentKind
    Status = PaymentStatus

    order = models.ForeignKey(
        Order, models.PROTECT, null=True, blank=True, related_name="payments", verbose_name="pedido"
    )
    # The instalments that it pays. Several if the student pays all the rest at once.
    instalments = models.ManyToManyField(
        Instalment, related_name="payments", blank=True, verbose_name="plazos"
    )
    # The provider's id of the payment. A payment on the hosted page has none before the buyer pays:
    # until then this is the id of its Checkout Session. A free order and a bank transfer have an id
    # of the shop's own. Nothing is read from an id: `kind` says what the payment is.
    reference = models.CharField("referencia", max_length=PROVIDER_ID_LENGTH, unique=True)
    kind = models.CharField(
        "forma",
        max_length=10,
        choices=Kind.choices,
        default=Kind.CARD,
        db_default=Kind.CARD,
        editable=False,
    )
    # The id of the Checkout Session. Empty if the card is typed into the shop's own dialog.
    session = models.CharField(
        "sesión",
        max_length=PROVIDER_ID_LENGTH,
        blank=True,
        default="",
        db_default="",
        db_index=True,
    )
    # Wider than any price of the shop: another shop on the account may charge pesos or yen.
    amount = models.DecimalField("importe (€)", max_digits=16, decimal_places=2)
    currency = models.CharField("moneda", max_length=3, default="eur")
    status = models.CharField("estado", max_length=10, choices=Status.choices)
    # The sum of the refunds that are requested, pending or succeeded.
    refunded = models.DecimalField("devuelto (€)", **PRICE, default=0)
    payment_method = models.CharField("tarjeta guardada", max_length=PROVIDER_ID_LENGTH, blank=True)
    flag = models.CharField("atención", max_length=200, blank=True)
    # Another shop on the same account took the money: the metadata are not this shop's.
    of_other_shop = models.BooleanField("de otra tienda", default=False, db_default=False)
    created_at = models.DateTimeField("creado", auto_now_add=True)
    # When reconciliation last looked this payment up at the provider.
    checked_at = models.DateTimeField(null=True, editable=False)
    # The moment of the success at the provider, which reports and the balance count by.
    succeeded_at = models.DateTimeField("cobrado", null=True, blank=True)
    # When the shop recorded the success.
    recorded_at = models.DateTimeField(null=True, editable=False)

    objects = PaymentQuerySet.as_manager()

    class Meta:
        verbose_name = "pago"
        verbose_name_plural = "pagos"
        ordering = ("-created_at",)
        permissions = (("recreate_order", "Puede crear de nuevo el pedido de un cobro"),)
        constraints = (
            models.UniqueConstraint(
                fields=("order",),
                condition=Q(status__in=("open", "processing")),
                name="one_open_payment_per_order",
            ),
            models.CheckConstraint(condition=Q(amount__gte=0), name="payment_not_negative"),
            # The database refuses to refund more than was paid, so that no bug can.
            models.CheckConstraint(
                condition=Q(refunded__gte=0, refunded__lte=models.F("amount")),
                name="payment_refunded_within_amount",
            ),
        )
        indexes = (
            models.Index(fields=("created_at", "id"), name="payment_by_day"),
            # The takings of a day, week or month, with the amounts in the index.
            models.Index(
                fields=("succeeded_at",),
                include=("amount",),
                condition=Q(status="succeeded", currency="eur", order__isnull=False),
                name="payment_by_success",
            ),
            # Payments that no total adds up, with their refunds and disputes.
            models.Index(
                fields=("succeeded_at",), condition=~Q(currency="eur"), name="payment_not_in_euros"
            ),
            models.Index(fields=("created_at",), condition=~Q(flag=""), name="payment_flagged"),
            models.Index(END_OF_REFERENCE, name="payment_by_end_of_reference"),
            models.Index(END_OF_SESSION, name="payment_by_end_of_session"),
        )

    def __str__(self) -> str:
        return self.reference

    @property
    def is_transfer(self) -> bool:
        """Whether it is a bank transfer, which Stripe knows nothing of."""
        return self.kind == PaymentKind.TRANSFER

    @property
    def is_refunded_by_hand(self) -> bool:
        """Whether staff refund it at their bank, because Stripe knows nothing of it."""
        return self.kind in REFUNDED_BY_HAND

    @property
    def is_free(self) -> bool:
        """Whether there was nothing to pay."""
        return self.kind == PaymentKind.FREE

    @property
    def is_past_its_time(self) -> bool:
        """Whether the payment was opened more than OPEN_PAYMENT_MINUTES ago."""
        life = timedelta(minutes=settings.OPEN_PAYMENT_MINUTES)
        return self.created_at + life < timezone.now()

    @property
    def intent_reference(self) -> str:
        """The id of the PaymentIntent. Empty while only a Checkout Session exists."""
        return "" if self.reference == self.session else self.reference
