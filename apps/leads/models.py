"""What visitors ask for in the forms, as rows that staff work through (decisions.md, "Forms")."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Count, F, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from apps.catalogue.models import Subject
from apps.core.models import LegalText
from apps.pricing.models import PromoCode

# Wider than one price: six of the largest have to fit.
EUROS: dict[str, Any] = {"max_digits": 10, "decimal_places": 2}


class LeadQuerySet(models.QuerySet["Lead"]):
    def mark_answered(self) -> int:
        """Note that somebody answered, now; an earlier answer keeps its moment."""
        return self.exclude(status=Lead.Status.ANSWERED).update(
            status=Lead.Status.ANSWERED, answered_at=Coalesce("answered_at", timezone.now())
        )


class Lead(models.Model):
    """One form that a visitor sent. What only some forms have stands in rows of its own below."""

    class Kind(models.TextChoices):
        CONTACT = "contact", "Contacto"
        QUOTE = "quote", "Presupuesto"
        DISCOUNT = "discount", "Código de descuento"
        FREE_SUBJECT = "free_subject", "Asignatura gratis"
        MISSING_SUBJECT = "missing_subject", "Asignatura que falta"
        PREVIEW = "preview", "Consulta con archivo"

    class Status(models.TextChoices):
        NEW = "new", "Nueva"
        ANSWERED = "answered", "Respondida"
        CLOSED = "closed", "Cerrada"

    kind = models.CharField("formulario", max_length=16, choices=Kind.choices)
    status = models.CharField("estado", max_length=10, choices=Status.choices, default=Status.NEW)
    name = models.CharField("nombre", max_length=120, blank=True)
    email = models.EmailField("correo", max_length=254)
    phone = models.CharField("teléfono", max_length=30, blank=True)
    career = models.CharField("carrera", max_length=160, blank=True)
    message = models.TextField("mensaje", blank=True)
    promo_code = models.ForeignKey(
        PromoCode,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="leads",
        verbose_name="código enviado",
    )
    assigned_to = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="leads",
        verbose_name="asignada a",
    )
    note = models.TextField("nota interna", blank=True)
    created_at = models.DateTimeField("recibida", auto_now_add=True)
    answered_at = models.DateTimeField("respondida", null=True, blank=True)

    objects = LeadQuerySet.as_manager()

    class Meta:
        verbose_name = "solicitud"
        verbose_name_plural = "solicitudes"
        ordering = ("-created_at", "-pk")
        indexes = (
            models.Index(fields=("status", "-created_at"), name="lead_by_status"),
            models.Index(fields=("-created_at",), name="lead_by_date"),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.name or self.email}"

    def move_to(self, status: str) -> None:
        """Change the status, with the moment of the first answer. Does not save."""
        self.status = status
        if status == self.Status.ANSWERED and self.answered_at is None:
            self.answered_at = timezone.now()


class LeadConsent(models.Model):
    """What the sender of a form accepted, in which version and which words.

    A visitor is no student yet, so `students.Consent` has no place for it.
    """

    lead = models.ForeignKey(Lead, models.CASCADE, related_name="consents")
    legal_text = models.ForeignKey(LegalText, models.PROTECT, verbose_name="versión del texto")
    wording = models.CharField("texto de la casilla", max_length=300)
    accepted_at = models.DateTimeField("aceptado", auto_now_add=True)

    class Meta:
        verbose_name = "aceptación"
        verbose_name_plural = "aceptaciones"

    def __str__(self) -> str:
        return self.wording


class Attachment(models.Model):
    """A file that came with a form: kept under a random name, outside the public folders."""

    lead = models.OneToOneField(Lead, models.CASCADE, related_name="attachment")
    stored_name = models.CharField(max_length=40, unique=True)
    original_name = models.CharField("archivo", max_length=160)
    size = models.PositiveIntegerField("tamaño (bytes)")
    created_at = models.DateTimeField("recibido", auto_now_add=True)

    class Meta:
        verbose_name = "archivo adjunto"
        verbose_name_plural = "archivos adjuntos"

    def __str__(self) -> str:
        return self.original_name


class WantedSubject(models.Model):
    """A subject that visitors miss. Requests for the same one, however written, join here."""

    # As the first visitor wrote them; staff may mend them.
    name = models.CharField("asignatura", max_length=160)
    career = models.CharField("carrera", max_length=160)
    university = models.CharField("universidad", max_length=160)
    key = models.CharField(max_length=620, editable=False)
    subject = models.ForeignKey(
        Subject,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="wanted",
        verbose_name="asignatura del catálogo",
        help_text="El correo de aviso la nombra y enlaza a ella.",
    )
    created_at = models.DateTimeField("pedida desde", auto_now_add=True)
    published_at = models.DateTimeField("publicada", null=True, blank=True, editable=False)

    class Meta:
        verbose_name = "asignatura pedida"
        verbose_name_plural = "asignaturas pedidas"
        ordering = ("-created_at",)
        constraints = (
            # Who asks after it was published opens a new one, and is told in their turn.
            models.UniqueConstraint(
                fields=("key",),
                condition=Q(published_at__isnull=True),
                name="wanted_subject_open_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.career}, {self.university})"

    @staticmethod
    def counts() -> dict[str, Count]:
        """Annotations: how many requests there are, and from how many different addresses."""
        return {
            "requests_count": Count("requests"),
            "addresses_count": Count("requests__lead__email", distinct=True),
        }


class SubjectRequest(models.Model):
    """What one visitor typed when they missed a subject."""

    lead = models.OneToOneField(Lead, models.CASCADE, related_name="subject_request")
    wanted = models.ForeignKey(WantedSubject, models.PROTECT, related_name="requests")
    university = models.CharField("universidad", max_length=160)
    subject_name = models.CharField("asignatura", max_length=160)

    class Meta:
        verbose_name = "petición"
        verbose_name_plural = "peticiones"
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.subject_name


class Quote(models.Model):
    """A budget as it was sent, with everything that the offer rests on.

    `binding_price` is what the academy charges until `valid_until` for exactly these subjects and
    this payment type; `final_price` counts lines too that still have to be checked (decisions.md,
    "Calculator").
    """

    class DateRange(models.TextChoices):
        AUGUST = "august", "Agosto"
        SEPTEMBER = "september", "Septiembre"
        OTHER = "other", "Otra fecha"

    class PaymentType(models.TextChoices):
        FULL = "full_payment", "Pago completo"
        INSTALMENTS = "installment", "A plazos"

    lead = models.OneToOneField(Lead, models.CASCADE, related_name="quote")
    payment_type = models.CharField("forma de pago", max_length=12, choices=PaymentType.choices)
    date_range = models.CharField("fecha", max_length=10, choices=DateRange.choices)
    was_invited = models.BooleanField("invitado por un amigo", default=False)
    friend_code = models.CharField("código de amigo", max_length=40, blank=True)
    # The code that it is, where it is a real one that this visitor could use.
    friend_promo = models.ForeignKey(
        PromoCode, models.SET_NULL, null=True, blank=True, related_name="quotes"
    )
    invitees = models.PositiveSmallIntegerField("amigos invitados", default=0)
    base_price = models.DecimalField("precio base", **EUROS)
    final_price = models.DecimalField("precio final", **EUROS)
    binding_price = models.DecimalField("precio garantizado", **EUROS)
    valid_until = models.DateTimeField("garantizado hasta")

    class Meta:
        verbose_name = "presupuesto"
        verbose_name_plural = "presupuestos"
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(
                condition=Q(final_price__gte=0, binding_price__gte=F("final_price")),
                name="quote_binds_without_unchecked_lines",
            ),
        )

    def __str__(self) -> str:
        return f"Presupuesto n.º {self.pk}"

    def binds_at(self, moment: datetime) -> bool:
        return moment <= self.valid_until


class QuoteSubject(models.Model):
    quote = models.ForeignKey(Quote, models.CASCADE, related_name="subjects")
    subject = models.ForeignKey(
        Subject, models.SET_NULL, null=True, related_name="+", verbose_name="en el catálogo"
    )
    name = models.CharField("asignatura", max_length=160)
    price = models.DecimalField("precio", **EUROS)

    class Meta:
        verbose_name = "asignatura"
        verbose_name_plural = "asignaturas"
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.name


class QuoteDiscount(models.Model):
    quote = models.ForeignKey(Quote, models.CASCADE, related_name="discounts")
    name = models.CharField("descuento", max_length=80)
    amount = models.DecimalField("importe", **EUROS)
    is_subject_to_check = models.BooleanField("sujeto a comprobación", default=False)

    class Meta:
        verbose_name = "descuento"
        verbose_name_plural = "descuentos"
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.name
