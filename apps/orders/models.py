import secrets
from datetime import timedelta
from typing import Any

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.catalogue.models import Lesson, Subject
from apps.core.money import to_cents
from apps.orders.returned import Dispute as Dispute
from apps.orders.returned import Refund as Refund
from apps.pricing.models import PromoCode
from apps.students.models import Student

PRICE: dict[str, Any] = {"max_digits": 8, "decimal_places": 2}
CART_LIFE = timedelta(days=30)


def new_token() -> str:
    """256 random bits (decisions.md, "Orders")."""
    return secrets.token_urlsafe(32)


class PaymentType(models.TextChoices):
    FULL = "full_payment", "Pago completo"
    INSTALMENTS = "installment", "3 plazos"


class Order(models.Model):
    """A purchase, from the first checkout on. Its status changes in `orders.states` alone."""

    class Status(models.TextChoices):
        CART = "cart", "Carrito"
        PAYING = "paying", "Pagando a plazos"
        OVERDUE = "overdue", "Plazo vencido"
        PAID = "paid", "Pagado"
        PARTIALLY_REFUNDED = "partially_refunded", "Devuelto en parte"
        REFUNDED = "refunded", "Devuelto"
        EXPIRED = "expired", "Caducado"

    student = models.ForeignKey(
        Student, models.PROTECT, related_name="orders", verbose_name="alumno"
    )
    status = models.CharField(
        "estado", max_length=20, choices=Status.choices, default=Status.CART, editable=False
    )
    payment_type = models.CharField("forma de pago", max_length=12, choices=PaymentType.choices)
    total_amount = models.DecimalField("total (€)", **PRICE, validators=[MinValueValidator(0)])
    # What was typed into this order: never from, nor into, an existing student's data.
    email = models.EmailField("correo")
    phone = models.CharField("teléfono", max_length=16)
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
    # The number of the quote whose price this order has; quotes live in an app of their own.
    quote_number = models.PositiveBigIntegerField(
        "presupuesto", null=True, blank=True, db_index=True, editable=False
    )
    auth_token = models.CharField(max_length=64, default=new_token, editable=False)
    # Made up by the page that asks for the first time: where the answer is lost, its next try finds
    # the order by it. As secret as the token.
    order_key = models.UUIDField(null=True, unique=True, editable=False)
    # Grows with each change of what is to be paid: the idempotency key is `order-<id>-<revision>`.
    revision = models.PositiveIntegerField(default=1, editable=False)
    # What the revision stands for: a digest of lines, prices, code, contact and payment type.
    content_hash = models.CharField(max_length=64, default="", editable=False)
    customer_reference = models.CharField(
        "cliente en Stripe", max_length=80, blank=True, editable=False
    )
    stripe_payment_intent_id = models.CharField("pago", max_length=80, blank=True, db_index=True)
    stripe_session_id = models.CharField("sesión de pago", max_length=80, blank=True, db_index=True)
    # The card that instalments are charged to: what the first payment saved, or what the student
    # put in its place. With a refusal that no second try can mend, it is not charged any more.
    card_reference = models.CharField("tarjeta", max_length=80, blank=True, editable=False)
    card_label = models.CharField("tarjeta (texto)", max_length=60, blank=True, editable=False)
    card_refusal = models.CharField("rechazo de la tarjeta", max_length=60, blank=True)
    refused_cards = models.PositiveSmallIntegerField(
        "tarjetas rechazadas", default=0, editable=False
    )
    locked_until = models.DateTimeField("bloqueado hasta", null=True, blank=True, editable=False)
    reminders_accepted = models.BooleanField("acepta avisos", default=False)
    saved_for_later = models.BooleanField("guardado por el alumno", default=False)
    reminders_stopped_at = models.DateTimeField("no quiere avisos", null=True, blank=True)
    flag = models.CharField("atención", max_length=200, blank=True)
    disputed_at = models.DateTimeField("disputado", null=True, blank=True)
    created_at = models.DateTimeField("creado", auto_now_add=True)
    updated_at = models.DateTimeField("actualizado", auto_now=True)
    paid_at = models.DateTimeField("pagado", null=True, blank=True)

    class Meta:
        verbose_name = "pedido"
        verbose_name_plural = "pedidos"
        ordering = ("-created_at",)
        permissions = (("refund_order", "Puede devolver pagos"),)
        constraints = (
            models.CheckConstraint(
                condition=Q(total_amount__gte=0), name="order_total_not_negative"
            ),
        )
        indexes = (models.Index(fields=("status", "created_at"), name="order_by_status"),)

    def __str__(self) -> str:
        return f"Pedido {self.pk}"

    @property
    def total_cents(self) -> int:
        return to_cents(self.total_amount)

    @property
    def reference(self) -> str:
        """How the classroom and the consents name this order."""
        return f"pedido-{self.pk}"

    @property
    def is_open(self) -> bool:
        """Whether it can still be changed and paid: a cart within its 30 days."""
        return self.status == self.Status.CART and timezone.now() < self.created_at + CART_LIFE


class OrderLine(models.Model):
    """One thing bought, with its price, names and rules as they were."""

    order = models.ForeignKey(Order, models.CASCADE, related_name="lines", verbose_name="pedido")
    subject = models.ForeignKey(Subject, models.PROTECT, verbose_name="asignatura")
    lesson = models.ForeignKey(
        Lesson, models.PROTECT, null=True, blank=True, verbose_name="lección"
    )
    name = models.CharField("nombre", max_length=160)
    subject_name = models.CharField("asignatura (nombre)", max_length=160)
    degree_name = models.CharField("grado", max_length=160)
    university_name = models.CharField("universidad", max_length=160)
    list_price = models.DecimalField("precio de lista (€)", **PRICE)
    price = models.DecimalField("precio (€)", **PRICE)

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


class UsedQuote(models.Model):
    """The order that a quote was bought with. The unique number allows for no second one."""

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
    """One discount of an order, as the buyer was shown it. Positive."""

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
    """What happened to an order: time, actor and reason. Only ever added to."""

    order = models.ForeignKey(Order, models.PROTECT, related_name="events", verbose_name="pedido")
    at = models.DateTimeField("cuándo", auto_now_add=True)
    actor = models.CharField("quién", max_length=80)
    from_status = models.CharField("de", max_length=20, blank=True)
    to_status = models.CharField("a", max_length=20, blank=True)
    reason = models.CharField("motivo", max_length=300)

    class Meta:
        verbose_name = "suceso"
        verbose_name_plural = "historial"
        ordering = ("at", "pk")

    def __str__(self) -> str:
        return self.reason


class Instalment(models.Model):
    """One of the three payments of an order in instalments."""

    class Status(models.TextChoices):
        DUE = "due", "Pendiente"
        PAID = "paid", "Pagado"
        FAILED = "failed", "Rechazado"
        # By a refund of the whole order, or a dispute that was lost: nobody pays it any more.
        CANCELED = "canceled", "Anulado"

    # Nothing more is to be paid for these.
    SETTLED = (Status.PAID, Status.CANCELED)

    order = models.ForeignKey(
        Order, models.CASCADE, related_name="instalments", verbose_name="pedido"
    )
    number = models.PositiveSmallIntegerField("plazo")
    amount = models.DecimalField("importe (€)", **PRICE)
    due_on = models.DateField("vence")
    status = models.CharField("estado", max_length=8, choices=Status.choices, default=Status.DUE)
    # The day of the next try; empty where nothing is charged by itself any more.
    charge_on = models.DateField("próximo cobro", null=True, blank=True)
    first_refused_on = models.DateField("primer rechazo", null=True, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True, editable=False)
    noticed_at = models.DateTimeField("aviso previo", null=True, blank=True)
    paid_at = models.DateTimeField("pagado", null=True, blank=True)

    class Meta:
        verbose_name = "plazo"
        verbose_name_plural = "plazos"
        ordering = ("order", "number")
        constraints = (
            models.UniqueConstraint(fields=("order", "number"), name="instalment_number_once"),
            models.CheckConstraint(condition=Q(amount__gte=0), name="instalment_not_negative"),
        )
        indexes = (models.Index(fields=("status", "charge_on"), name="instalment_by_charge"),)

    def __str__(self) -> str:
        return f"Plazo {self.number} de 3"

    @property
    def amount_cents(self) -> int:
        return to_cents(self.amount)


class InstalmentAttempt(models.Model):
    """One try to have an instalment paid, kept before the provider is asked.

    Its number is in the idempotency key `instalment-<id>-<number>`. A payment by hand that takes
    several instalments is an attempt of the first of them.
    """

    class Kind(models.TextChoices):
        AUTOMATIC = "automatic", "Cobro automático"
        BY_HAND = "by_hand", "Pago del alumno"

    class Outcome(models.TextChoices):
        # Begun, and nobody knows yet what came of it.
        STARTED = "started", "Sin confirmar"
        OPEN = "open", "Abierto"
        PROCESSING = "processing", "En proceso"
        SUCCEEDED = "succeeded", "Cobrado"
        REFUSED = "refused", "Rechazado"
        # The provider knows nothing of it, or has canceled it: no money moved.
        VOID = "void", "Sin efecto"

    instalment = models.ForeignKey(
        Instalment, models.CASCADE, related_name="attempts", verbose_name="plazo"
    )
    number = models.PositiveSmallIntegerField("intento")
    kind = models.CharField("tipo", max_length=10, choices=Kind.choices)
    outcome = models.CharField(
        "resultado", max_length=10, choices=Outcome.choices, default=Outcome.STARTED
    )
    amount = models.DecimalField("importe (€)", **PRICE)
    payment_method = models.CharField("tarjeta", max_length=80, blank=True)
    reference = models.CharField("referencia", max_length=80, blank=True)
    error_code = models.CharField("error", max_length=60, blank=True)
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
            # Whatever the code does: nobody charges an instalment beside a try that is not settled.
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


class PaymentQuerySet(models.QuerySet["Payment"]):
    def open(self) -> "PaymentQuerySet":
        return self.filter(status__in=(Payment.Status.OPEN, Payment.Status.PROCESSING))


class Payment(models.Model):
    """One payment at the provider, open or settled. At most one of an order is open.

    Without an order it is money that is not ours to act on: kept and left alone.
    """

    class Status(models.TextChoices):
        OPEN = "open", "Abierto"
        PROCESSING = "processing", "En proceso"
        SUCCEEDED = "succeeded", "Cobrado"
        CANCELED = "canceled", "Anulado"

    order = models.ForeignKey(
        Order, models.PROTECT, null=True, blank=True, related_name="payments", verbose_name="pedido"
    )
    # Those that it pays; several where the student pays the rest at once.
    instalments = models.ManyToManyField(
        Instalment, related_name="payments", blank=True, verbose_name="plazos"
    )
    reference = models.CharField("referencia", max_length=80, unique=True)
    # Larger than any price of ours: another shop on the account may take pesos or yen.
    amount = models.DecimalField("importe (€)", max_digits=16, decimal_places=2)
    currency = models.CharField("moneda", max_length=3, default="eur")
    status = models.CharField("estado", max_length=10, choices=Status.choices)
    # What of it was given back or is about to be: the refunds that have not failed.
    refunded = models.DecimalField("devuelto (€)", **PRICE, default=0)
    payment_method = models.CharField("tarjeta guardada", max_length=80, blank=True)
    flag = models.CharField("atención", max_length=200, blank=True)
    created_at = models.DateTimeField("creado", auto_now_add=True)
    succeeded_at = models.DateTimeField("cobrado", null=True, blank=True)

    objects = PaymentQuerySet.as_manager()

    class Meta:
        verbose_name = "pago"
        verbose_name_plural = "pagos"
        ordering = ("-created_at",)
        constraints = (
            models.UniqueConstraint(
                fields=("order",),
                condition=Q(status__in=("open", "processing")),
                name="one_open_payment_per_order",
            ),
            models.CheckConstraint(condition=Q(amount__gte=0), name="payment_not_negative"),
            # Whatever the code does: nobody gets back more than was paid.
            models.CheckConstraint(
                condition=Q(refunded__gte=0, refunded__lte=models.F("amount")),
                name="payment_refunded_within_amount",
            ),
        )

    def __str__(self) -> str:
        return self.reference


class ReferralReward(models.Model):
    """What a student earns with a friend's first order: held 30 days, then owed, then paid.

    One for each order and for each friend. Its status changes in `orders.referrals` alone.
    """

    class Status(models.TextChoices):
        HELD = "held", "Retenida"
        OWED = "owed", "Por pagar"
        PAID = "paid", "Pagada"
        CANCELLED = "cancelled", "Anulada"

    student = models.ForeignKey(
        Student, models.PROTECT, related_name="referral_rewards", verbose_name="alumno"
    )
    friend = models.ForeignKey(Student, models.PROTECT, related_name="+", verbose_name="amigo")
    order = models.OneToOneField(
        Order, models.PROTECT, related_name="referral_reward", verbose_name="pedido del amigo"
    )
    promo_code = models.ForeignKey(
        PromoCode, models.PROTECT, related_name="rewards", verbose_name="código"
    )
    amount = models.DecimalField("importe (€)", **PRICE)
    status = models.CharField(
        "estado", max_length=10, choices=Status.choices, default=Status.HELD, editable=False
    )
    created_at = models.DateTimeField("ganada", auto_now_add=True)
    held_until = models.DateTimeField("retenida hasta")
    owed_at = models.DateTimeField("por pagar desde", null=True, blank=True)
    paid_at = models.DateTimeField("pagada el", null=True, blank=True)
    # The name and not the account: who paid stays known when the account is gone.
    paid_by = models.CharField("pagada por", max_length=150, blank=True)
    cancelled_at = models.DateTimeField("anulada el", null=True, blank=True)
    cancel_reason = models.CharField("motivo de la anulación", max_length=200, blank=True)

    class Meta:
        verbose_name = "recompensa por amigo"
        verbose_name_plural = "recompensas por amigos"
        ordering = ("-created_at",)
        permissions = (("pay_referralreward", "Puede dar recompensas por pagadas"),)
        constraints = (
            models.UniqueConstraint(
                fields=("friend",),
                condition=~Q(status="cancelled"),
                name="one_reward_per_friend",
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="reward_positive"),
            models.CheckConstraint(
                condition=~Q(student=models.F("friend")), name="reward_not_for_oneself"
            ),
            models.CheckConstraint(
                condition=~Q(status__in=("owed", "paid")) | Q(owed_at__isnull=False),
                name="reward_owed_since",
            ),
            models.CheckConstraint(
                condition=(Q(status="paid") & Q(paid_at__isnull=False) & ~Q(paid_by=""))
                | (~Q(status="paid") & Q(paid_at__isnull=True) & Q(paid_by="")),
                name="reward_paid_by_whom",
            ),
            models.CheckConstraint(
                condition=Q(status="cancelled", cancelled_at__isnull=False)
                | (~Q(status="cancelled") & Q(cancelled_at__isnull=True)),
                name="reward_cancelled_when",
            ),
        )
        indexes = (models.Index(fields=("status", "held_until"), name="reward_by_status"),)

    def __str__(self) -> str:
        return f"{self.student} por {self.order}"


class Redemption(models.Model):
    """A use of a promo code by an order: reserved with its payment, used when it is paid."""

    class Status(models.TextChoices):
        RESERVED = "reserved", "Reservado"
        USED = "used", "Usado"
        RELEASED = "released", "Liberado"

    promo_code = models.ForeignKey(
        PromoCode, models.PROTECT, related_name="redemptions", verbose_name="código"
    )
    order = models.ForeignKey(
        Order, models.PROTECT, related_name="redemptions", verbose_name="pedido"
    )
    student = models.ForeignKey(
        Student, models.PROTECT, related_name="redemptions", verbose_name="alumno"
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
        indexes = (models.Index(fields=("status", "reserved_at"), name="redemption_by_status"),)

    def __str__(self) -> str:
        return f"{self.promo_code} en {self.order}"
