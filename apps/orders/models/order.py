"""Orders with their lines, discounts and history."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from apps.catalogue.models import Lesson, Subject
from apps.catalogue.vat import Vat, vat_note
from apps.core.identity import email_identity, phone_identity
from apps.core.keyed_digest import keyed_digest, keyed_digests, matches
from apps.core.money import to_cents, to_euros
from apps.orders.models.statuses import (
    EVER_PAID,
    PAYMENT_OPEN,
    SOLD,
    EventKind,
    OrderStatus,
    PaymentKind,
    PaymentStatus,
    RefusalKind,
)
from apps.pricing.instalments import InstalmentPlan
from apps.pricing.models import PromoCode
from apps.pricing.payment_type import PaymentType
from apps.students.models import Student

PRICE: dict[str, Any] = {"max_digits": 8, "decimal_places": 2}
CART_LIFE = timedelta(days=30)
CUSTOMER_AFTER = timedelta(days=1)
# Stripe's ids are opaque: up to 255 characters of any kind (https://docs.stripe.com/upgrades).
PROVIDER_ID_LENGTH = 255
_LINK_SALT = "orders.link"
_ORDER_KEY_SALT = "orders.order-key"


# Stripe takes no card payment below 0.50 EUR: such a total is completed without a card.
CARD_MINIMUM_CENTS = 50


class OrderQuerySet(models.QuerySet["Order"]):
    def money_was_paid_for(self, student_id: int) -> "OrderQuerySet":
        """Orders that the student, or the giver of a gift to them, paid with money."""
        return self.money_was_paid().filter(Q(student=student_id) | Q(gift__recipient=student_id))

    def money_was_paid(self) -> "OrderQuerySet":
        """Orders for which money was paid at some time, whatever was refunded since."""
        return self.filter(status__in=EVER_PAID, total_amount__gte=to_euros(CARD_MINIMUM_CENTS))

    def free_by_code(self) -> "OrderQuerySet":
        """Orders that a code alone has paid, and not what an exchange or bought lessons left."""
        free = self.filter(
            total_amount__lt=to_euros(CARD_MINIMUM_CENTS), payments__kind=PaymentKind.FREE
        )
        credited = OrderLine.objects.filter(order=OuterRef("pk"), credit__gt=0)
        return free.filter(~Exists(credited))

    def has_customer(self, email: str) -> bool:
        """Whether money was paid for an order of this address's student a day ago or earlier.

        A mailbox of one's own and a sign-in cost a stranger nothing. This does.
        """
        student = Student.objects.with_email(email)
        if student is None:
            return False
        paid = self.money_was_paid().filter(student=student, status__in=SOLD)
        return paid.filter(paid_at__lt=timezone.now() - CUSTOMER_AFTER).exists()

    def needing_attention(self) -> "OrderQuerySet":
        """Orders that are flagged or disputed."""
        return self.filter(~Q(flag="") | Q(disputed_at__isnull=False))

    def bought_twice(self) -> "OrderQuerySet":
        """Flagged orders that gave their student nothing new."""
        twice = OrderEvent.objects.filter(order=OuterRef("pk"), kind=EventKind.BOUGHT_TWICE)
        return self.filter(~Q(flag=""), Exists(twice))

    def awaiting_transfer(self) -> "OrderQuerySet":
        """Open orders that wait for a bank transfer, agreed by staff or chosen by the buyer."""
        return self.filter(status=OrderStatus.CART, by_staff__paid_by="transfer")

    def canceled(self) -> "OrderQuerySet":
        """Orders that staff have canceled, and for which no payment has arrived since."""
        return self.filter(status=OrderStatus.EXPIRED, by_staff__canceled_at__isnull=False)

    def student_id(self) -> int | None:
        """The id of the student of the first of these orders. None if there is none."""
        return self.order_by("pk").values_list("student_id", flat=True).first()

    def with_key(self, order_key: UUID | None) -> "OrderQuerySet":
        """The order that a page made up this key for."""
        if order_key is None:
            return self.none()
        return self.filter(order_key_digest__in=keyed_digests(_ORDER_KEY_SALT, str(order_key)))


def order_key_digest(order_key: UUID | None) -> str | None:
    """What is stored of the key that a page makes up for its order."""
    return keyed_digest(_ORDER_KEY_SALT, str(order_key)) if order_key else None


class Order(models.Model):
    """A purchase, from the first checkout on. Only `orders.ledger.states` changes its status."""

    Status = OrderStatus

    student = models.ForeignKey(
        Student, models.PROTECT, related_name="orders", verbose_name="alumno"
    )
    status = models.CharField(
        "estado", max_length=20, choices=Status.choices, default=Status.CART, editable=False
    )
    payment_type = models.CharField("forma de pago", max_length=12, choices=PaymentType.choices)
    instalment_count = models.PositiveSmallIntegerField(
        "número de plazos", default=3, db_default=3, editable=False
    )
    instalment_every_days = models.PositiveSmallIntegerField(
        "días entre plazos", default=20, db_default=20, editable=False
    )
    total_amount = models.DecimalField("total (€)", **PRICE, validators=[MinValueValidator(0)])
    # The contact data as typed. They are never copied from or to an existing student.
    email = models.EmailField("correo")
    phone = models.CharField("teléfono", max_length=16)
    # The normalized address and phone (`core.identity`), for limits that count per person.
    email_identity = models.CharField(
        max_length=254, default="", db_default="", db_index=True, editable=False
    )
    phone_identity = models.CharField(
        max_length=16, default="", db_default="", db_index=True, editable=False
    )
    first_name = models.CharField("nombre", max_length=80, blank=True)
    last_name = models.CharField("apellidos", max_length=120, blank=True)
    promo_code = models.ForeignKey(
        PromoCode,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="orders",
        verbose_name="código promocional",
    )
    # The reward in euros for the owner of the friend code; 0 without one. It is stored when the
    # order is placed, so that later changes of the rewards do not affect it.
    promised_reward = models.DecimalField(
        "recompensa por amigo (€)", **PRICE, default=0, db_default=0, editable=False
    )
    # The number of the quote whose price binds for this order. No foreign key: `apps.leads` has the
    # quotes, and this app may not import it.
    quote_number = models.PositiveBigIntegerField(
        "presupuesto", null=True, blank=True, db_index=True, editable=False
    )
    # The digest of a UUID that the page makes up for its first checkout. If the answer is lost, the
    # next attempt finds the order by that key. The key is as secret as the token.
    order_key_digest = models.CharField(  # noqa: DJ001  (unique, and most orders have none)
        max_length=64, null=True, unique=True, editable=False
    )
    # A part of the idempotency keys of the order's payments, and of the data that its token is
    # derived from. The order's number is not enough: a restored or copied database gives the same
    # number to another order.
    idempotency_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    # Incremented with each change of the order's content. The idempotency key of a payment is
    # `order-<idempotency_id>-<revision>`, plus `keys_given_up` if that is not 0.
    revision = models.PositiveIntegerField("versión del contenido", default=1, editable=False)
    # The number of idempotency keys for which Stripe has stored an internal error, which it repeats
    # for a day.
    keys_given_up = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    # The digest of the content that the revision stands for (`PricedCheckout.digest`).
    content_hash = models.CharField(max_length=64, default="", editable=False)
    customer_reference = models.CharField(
        "cliente en Stripe", max_length=PROVIDER_ID_LENGTH, blank=True, editable=False
    )
    # The card that instalments are charged to: saved by the first payment, or changed by the
    # student. If `card_refusal` is set, it is not charged any more.
    card_reference = models.CharField(
        "tarjeta", max_length=PROVIDER_ID_LENGTH, blank=True, editable=False
    )
    card_label = models.CharField("tarjeta (texto)", max_length=60, blank=True, editable=False)
    card_refusal = models.CharField(
        "rechazo de la tarjeta", max_length=20, choices=RefusalKind.choices, blank=True
    )
    refused_cards = models.PositiveSmallIntegerField(
        "tarjetas rechazadas", default=0, editable=False
    )
    locked_until = models.DateTimeField("bloqueado hasta", null=True, blank=True, editable=False)
    reminders_accepted = models.BooleanField("acepta avisos", default=False)
    saved_for_later = models.BooleanField("guardado por el alumno", default=False)
    reminders_stopped_at = models.DateTimeField("no quiere avisos", null=True, blank=True)
    flag = models.CharField("atención", max_length=200, blank=True)
    disputed_at = models.DateTimeField("disputado", null=True, blank=True)
    # The member of staff who sees to it that what is outstanding is paid.
    cared_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name="quién lo lleva",
    )
    created_at = models.DateTimeField("creado", auto_now_add=True)
    updated_at = models.DateTimeField("actualizado", auto_now=True)
    # When reconciliation last listed the payments of the order's customer.
    checked_at = models.DateTimeField(null=True, editable=False)
    paid_at = models.DateTimeField("pagado", null=True, blank=True)

    objects = OrderQuerySet.as_manager()

    class Meta:
        verbose_name = "pedido"
        verbose_name_plural = "pedidos"
        ordering = ("-created_at",)
        permissions = (
            ("refund_order", "Puede devolver pagos"),
            # Not "view_…": whoever views orders need not see what the academy earns.
            ("read_takings", "Puede ver la recaudación"),
            ("resend_order_mail", "Puede reenviar los correos de un pedido"),
            ("export_order", "Puede exportar pedidos y líneas"),
        )
        constraints = (
            models.CheckConstraint(
                condition=Q(total_amount__gte=0), name="order_total_not_negative"
            ),
        )
        indexes = (
            models.Index(fields=("status", "created_at"), name="order_by_status"),
            models.Index(
                fields=("customer_reference",),
                condition=~Q(customer_reference=""),
                name="order_by_customer",
            ),
            models.Index(
                fields=("paid_at",), condition=Q(paid_at__isnull=False), name="order_by_payment"
            ),
            models.Index(
                fields=("created_at",),
                condition=~Q(flag="") | Q(disputed_at__isnull=False),
                name="order_flagged",
            ),
            models.Index(fields=("created_at", "id"), name="order_by_day"),
        )

    def __str__(self) -> str:
        return f"Pedido {self.pk}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save the order, and update the identities of its address and phone."""
        self.email_identity = email_identity(self.email)
        self.phone_identity = phone_identity(self.phone)
        fields = kwargs.get("update_fields")
        if fields is not None and {"email", "phone"} & set(fields):
            kwargs["update_fields"] = {*fields, "email_identity", "phone_identity"}
        super().save(*args, **kwargs)

    @property
    def auth_token(self) -> str:
        """The token that opens the cart: derived under SECRET_KEY, and not in the database."""
        return keyed_digest(_LINK_SALT, str(self.idempotency_id))

    def opens_with(self, token: str) -> bool:
        """Whether this is the order's token, under SECRET_KEY or one of its predecessors."""
        return matches(_LINK_SALT, str(self.idempotency_id), token)

    @property
    def total_cents(self) -> int:
        return to_cents(self.total_amount)

    @property
    def is_locked(self) -> bool:
        """Whether refused cards lock the order at the moment."""
        return self.locked_until is not None and self.locked_until > timezone.now()

    @property
    def instalment_plan(self) -> InstalmentPlan:
        """The plan that the order was sold with. Only orders in instalments use it."""
        return InstalmentPlan(self.instalment_count, self.instalment_every_days)

    @property
    def vat_note(self) -> str:
        """What may be said of the VAT of the total. Uses prefetched lines and subjects."""
        return vat_note({line.vat or line.subject.vat for line in self.lines.all()})

    @property
    def payment_type_label(self) -> str:
        """The payment type in Spanish, with the number of instalments: "3 plazos"."""
        if self.in_instalments:
            return f"{self.instalment_count} plazos"
        return str(PaymentType.FULL.label)

    @property
    def main_payment(self) -> Any:
        """The payment that represents the order: the first that succeeded, else the open one.

        Without either it is the latest payment, or None. Unflagged payments come before flagged
        ones. Uses prefetched payments.
        """
        return min(self.payments.all(), key=_payment_rank, default=None)

    @property
    def stripe_payment_intent_id(self) -> str:
        """The id of the order's payment at Stripe. Empty if there is none."""
        payment = self.main_payment
        return str(payment.intent_reference) if payment else ""

    @property
    def stripe_session_id(self) -> str:
        """The id of the Checkout Session of the order's payment. Empty if there is none."""
        payment = self.main_payment
        return str(payment.session) if payment else ""

    @property
    def in_instalments(self) -> bool:
        return self.payment_type == PaymentType.INSTALMENTS

    @property
    def is_open(self) -> bool:
        """Whether the order can still be changed and paid: a cart of less than 30 days."""
        return self.status == self.Status.CART and timezone.now() < self.created_at + CART_LIFE


def _payment_rank(payment: Any) -> tuple[bool, bool, bool, float]:
    """The sort key of an order's payments: `main_payment` comes first."""
    succeeded = payment.status == PaymentStatus.SUCCEEDED
    at = payment.succeeded_at if succeeded and payment.succeeded_at else payment.created_at
    return (
        not succeeded,
        succeeded and bool(payment.flag),
        payment.status not in PAYMENT_OPEN,
        at.timestamp() if succeeded else -at.timestamp(),
    )


def sellable_subjects() -> Q:
    """The subjects that staff may choose for a new order."""
    return Q(pk__in=Subject.objects.on_sale().order_by().values("pk"))


def sellable_lessons() -> Q:
    """The lessons that staff may choose for a new order, each on its own."""
    lessons = Lesson.objects.on_sale().filter(subject__complete_only=False)
    return Q(pk__in=lessons.order_by().values("pk"))


class OrderLine(models.Model):
    """A subject or lesson of an order, with its price and names at the time of the order."""

    order = models.ForeignKey(Order, models.CASCADE, related_name="lines", verbose_name="pedido")
    subject = models.ForeignKey(
        Subject,
        models.PROTECT,
        limit_choices_to=sellable_subjects,
        verbose_name="asignatura",
    )
    lesson = models.ForeignKey(
        Lesson,
        models.PROTECT,
        null=True,
        blank=True,
        limit_choices_to=sellable_lessons,
        verbose_name="lección",
    )
    name = models.CharField("nombre", max_length=160)
    subject_name = models.CharField("asignatura (nombre)", max_length=160)
    degree_name = models.CharField("grado", max_length=160)
    university_name = models.CharField("universidad", max_length=160)
    list_price = models.DecimalField("precio de lista (€)", **PRICE)
    price = models.DecimalField("precio (€)", **PRICE)
    # The VAT at the time of the order. Empty for orders from before it was stored.
    vat = models.CharField(
        "IVA", max_length=13, choices=Vat.choices, blank=True, default="", db_default=""
    )
    # What was paid before for lessons of the whole subject, and made it cheaper.
    credit = models.DecimalField(
        "ya pagado por lecciones (€)", **PRICE, default=0, db_default=0, editable=False
    )
    # The line's part of the order's total, if a credit of some line makes it another one than the
    # prices would (`ledger.lines.shares_of`).
    net = models.DecimalField("parte del total (€)", **PRICE, null=True, editable=False)

    class Meta:
        verbose_name = "línea"
        verbose_name_plural = "líneas"
        ordering = ("pk",)
        constraints = (
            models.CheckConstraint(
                condition=Q(price__gte=0, list_price__gte=0), name="order_line_not_negative"
            ),
            models.UniqueConstraint(
                fields=("order", "subject"),
                condition=Q(lesson__isnull=True),
                name="order_subject_once",
            ),
            models.UniqueConstraint(
                fields=("order", "lesson"),
                condition=Q(lesson__isnull=False),
                name="order_lesson_once",
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def key(self) -> tuple[int, int | None]:
        """Ids of the subject and of the lesson bought. The lesson is None for a whole subject."""
        return self.subject_id, self.lesson_id


class UsedQuote(models.Model):
    """The order that was paid with a quote. The number is unique: a quote is for one purchase."""

    number = models.PositiveBigIntegerField("presupuesto", unique=True)
    order = models.OneToOneField(
        Order, models.PROTECT, related_name="used_quote", verbose_name="pedido"
    )

    class Meta:
        verbose_name = "presupuesto usado"
        verbose_name_plural = "presupuestos usados"

    def __str__(self) -> str:
        return f"Presupuesto n.º {self.number}"


class OrderDiscount(models.Model):
    """One discount of an order, as shown to the buyer. The amount is positive."""

    order = models.ForeignKey(
        Order, models.CASCADE, related_name="discounts", verbose_name="pedido"
    )
    name = models.CharField("descuento", max_length=80)
    amount = models.DecimalField("importe (€)", **PRICE)

    class Meta:
        verbose_name = "descuento"
        verbose_name_plural = "descuentos"
        ordering = ("pk",)
        constraints = (
            models.CheckConstraint(condition=Q(amount__gt=0), name="order_discount_positive"),
        )

    def __str__(self) -> str:
        return self.name


class OrderEvent(models.Model):
    """One entry of an order's history: time, actor, kind and text. Entries are only ever added.

    `external_id` is the id of an object at the provider (an event, a set-up). With the kind it is
    unique, so that a repeated report adds no second entry.
    """

    Kind = EventKind

    order = models.ForeignKey(Order, models.PROTECT, related_name="events", verbose_name="pedido")
    at = models.DateTimeField("cuándo", auto_now_add=True)
    kind = models.CharField("tipo", max_length=30, choices=EventKind.choices)
    external_id = models.CharField(max_length=255, blank=True, default="", editable=False)
    actor = models.CharField("quién", max_length=80)
    from_status = models.CharField("de", max_length=20, blank=True, choices=OrderStatus.choices)
    to_status = models.CharField("a", max_length=20, blank=True, choices=OrderStatus.choices)
    # A Spanish sentence. It may contain an id of the provider's, which may be long.
    reason = models.CharField("motivo", max_length=600)

    class Meta:
        verbose_name = "suceso"
        verbose_name_plural = "historial"
        ordering = ("at", "pk")
        indexes = (models.Index(fields=("at", "id"), name="order_event_by_day"),)
        constraints = (
            models.UniqueConstraint(
                fields=("kind", "external_id"),
                condition=~Q(external_id=""),
                name="order_event_once_per_external_id",
            ),
        )

    def __str__(self) -> str:
        return self.reason
