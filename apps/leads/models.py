"""Leads: the forms that visitors send, and that staff work through."""

from datetime import datetime
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Count, F, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from apps.catalogue.models import Degree, Subject
from apps.core.few_rows import FewRows
from apps.core.models import LegalText
from apps.leads.announced.models import UniversityNotice as UniversityNotice
from apps.leads.withdrawal.models import Withdrawal
from apps.pricing.models import PromoCode
from apps.pricing.payment_type import PaymentType

__all__ = [
    "Attachment",
    "Lead",
    "LeadConsent",
    "Quote",
    "QuoteDiscount",
    "QuoteSubject",
    "RequestedSubject",
    "StaffDegree",
    "SubjectRequest",
    "Withdrawal",
]

# Wider than one price: it holds the sum of six of the largest prices.
EUROS: dict[str, Any] = {"max_digits": 10, "decimal_places": 2}


class LeadQuerySet(models.QuerySet["Lead"]):
    def visible_to(self, user: Any) -> "LeadQuerySet":
        """The leads that an account may read: all, or those of its degrees or assigned to it.

        The permission to read leads at all is asked before.
        """
        if user.has_perm("leads.view_all_leads"):
            return self
        degrees = StaffDegree.objects.filter(user=user.pk).values("degree")
        return self.filter(Q(degree__in=degrees) | Q(assigned_to=user.pk))

    def unanswered(self) -> "LeadQuerySet":
        """The leads that nobody has answered or closed."""
        return self.filter(status=Lead.Status.NEW)

    def mark_answered(self) -> int:
        """Mark the leads as answered now. Leads answered before keep their date."""
        return self.exclude(status=Lead.Status.ANSWERED).update(
            status=Lead.Status.ANSWERED, answered_at=Coalesce("answered_at", timezone.now())
        )


class Lead(models.Model):
    """One form that a visitor sent, or what staff opened for the person of one.

    Data of only some kinds of form is in the models below.
    """

    class Kind(models.TextChoices):
        CONTACT = "contact", "Contacto"
        QUOTE = "quote", "Presupuesto"
        DISCOUNT = "discount", "Código de descuento"
        FREE_SUBJECT = "free_subject", "Asignatura gratis"
        SUBJECT_REQUEST = "subject_request", "Asignatura que falta"
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
    # By the quoted subjects or the typed career. Teachers answer the leads of their degrees.
    degree = models.ForeignKey(
        Degree,
        models.SET_NULL,
        null=True,
        blank=True,
        db_index=False,
        related_name="leads",
        verbose_name="grado",
    )
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
    # Whether staff opened it, to send the person of another lead a further quote.
    opened_by_staff = models.BooleanField(default=False, db_default=False, editable=False)
    # The path of the page that the form was sent from. Empty if the browser did not say.
    page = models.CharField("página", max_length=200, blank=True, default="", db_default="")
    created_at = models.DateTimeField("recibida", auto_now_add=True)
    answered_at = models.DateTimeField("respondida", null=True, blank=True)

    objects = LeadQuerySet.as_manager()

    class Meta:
        verbose_name = "solicitud"
        verbose_name_plural = "solicitudes"
        ordering = ("-created_at", "-pk")
        permissions = (
            ("export_lead", "Puede exportar solicitudes"),
            ("answer_lead", "Puede responder solicitudes y enviar presupuestos"),
            ("assign_lead", "Puede asignar solicitudes"),
            ("give_lead_code", "Puede dar un código personal desde una solicitud"),
            ("view_all_leads", "Puede ver las solicitudes de todos los grados"),
        )
        # Each filter of the list with the list's order.
        indexes = (
            models.Index(fields=("status", "-created_at", "-id"), name="lead_by_status"),
            models.Index(fields=("-created_at", "-id"), name="lead_by_date"),
            models.Index(fields=("kind", "-created_at", "-id"), name="lead_by_kind"),
            models.Index(fields=("assigned_to", "-created_at", "-id"), name="lead_by_assignee"),
            models.Index(fields=("degree", "-created_at", "-id"), name="lead_by_degree"),
            models.Index(fields=("email",), name="lead_by_email"),
            models.Index(fields=("phone",), name="lead_by_phone"),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.name or self.email}"

    def move_to(self, status: str) -> None:
        """Set the status, and the date of the first answer. Does not save."""
        self.status = status
        if status == self.Status.ANSWERED and self.answered_at is None:
            self.answered_at = timezone.now()


class StaffDegree(models.Model):
    """A degree whose leads an account of staff may read without the permission to read all."""

    # The bin brings the degree back without its teachers: editors give nobody a right.
    stays_deleted = True

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="lead_degrees", verbose_name="cuenta"
    )
    degree = models.ForeignKey(Degree, models.CASCADE, related_name="+", verbose_name="grado")

    class Meta:
        verbose_name = "grado que atiende"
        verbose_name_plural = "grados que atiende"
        constraints = (
            models.UniqueConstraint(fields=("user", "degree"), name="staff_degree_once"),
        )

    def __str__(self) -> str:
        return str(self.degree)


class LeadEntry(models.Model):
    """One entry of the conversation about a lead: an answer, a note, or what staff did with it.

    The page that shows a form makes its `key_id` up, so that a second click adds nothing.
    """

    class Kind(models.TextChoices):
        ANSWER = "answer", "Respuesta"
        NOTE = "note", "Nota interna"
        ASSIGNED = "assigned", "Asignación"
        STATUS = "status", "Estado"
        QUOTE = "quote", "Presupuesto"
        CODE = "code", "Código"

    lead = models.ForeignKey(Lead, models.CASCADE, related_name="entries", verbose_name="solicitud")
    kind = models.CharField("tipo", max_length=10, choices=Kind.choices)
    key_id = models.UUIDField(default=uuid4, editable=False)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", editable=False
    )
    # The author's name, which stays after their account is deleted.
    author_name = models.CharField("quién", max_length=150)
    subject = models.CharField("asunto", max_length=160, blank=True)
    body = models.TextField("texto")
    created_at = models.DateTimeField("cuándo", auto_now_add=True)

    class Meta:
        verbose_name = "anotación"
        verbose_name_plural = "anotaciones"
        ordering = ("created_at", "pk")
        constraints = (
            models.UniqueConstraint(fields=("key_id",), name="lead_entry_once_per_form"),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()} de {self.author_name}"

    @property
    def mail_key(self) -> str:
        """The key of the mail that carries this answer."""
        return f"lead-answer:{self.pk}"


class AnswerTemplate(FewRows):
    """A text that staff begin an answer with. `{nombre}` stands for the visitor's name."""

    name = models.CharField("nombre", max_length=80, unique=True)
    subject = models.CharField("asunto", max_length=160)
    body = models.TextField(
        "texto",
        max_length=5000,
        help_text="Escribe {nombre} donde deba ir el nombre de la persona.",
    )
    active = models.BooleanField("se ofrece", default=True)
    position = models.PositiveSmallIntegerField("orden", default=1)

    class Meta:
        verbose_name = "plantilla de respuesta"
        verbose_name_plural = "plantillas de respuesta"
        ordering = ("position", "name")

    def __str__(self) -> str:
        return self.name

    def text_for(self, lead: Lead) -> str:
        """The text with the visitor's first name, or without a name if there is none."""
        name = lead.name.split()[0] if lead.name else ""
        return self.body.replace(" {nombre}", f" {name}" if name else "").replace("{nombre}", name)


class LeadConsent(models.Model):
    """A consent that came with a form, with its wording and the version of the legal text.

    `students.Consent` needs a student, and a visitor is not one yet.
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
    """A file that came with a form. It has a random name outside the public folders."""

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


class RequestedSubject(models.Model):
    """A subject that the catalogue lacks. Requests for the same subject share one row."""

    # As the first visitor typed them. Staff may correct them.
    name = models.CharField("asignatura", max_length=160)
    career = models.CharField("carrera", max_length=160)
    university = models.CharField("universidad", max_length=160)
    key = models.CharField(max_length=620, editable=False)
    subject = models.ForeignKey(
        Subject,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="requested_subjects",
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
            # A request after the publication opens a new row, which is published separately.
            models.UniqueConstraint(
                fields=("key",),
                condition=Q(published_at__isnull=True),
                name="requested_subject_open_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.career}, {self.university})"

    @staticmethod
    def counts() -> dict[str, Count]:
        """Return annotations: the number of requests, and of their distinct addresses."""
        return {
            "requests_count": Count("requests"),
            "addresses_count": Count("requests__lead__email", distinct=True),
        }


class SubjectRequest(models.Model):
    """One visitor's request for a subject, as typed."""

    lead = models.OneToOneField(Lead, models.CASCADE, related_name="subject_request")
    requested_subject = models.ForeignKey(RequestedSubject, models.PROTECT, related_name="requests")
    university = models.CharField("universidad", max_length=160)
    subject_name = models.CharField("asignatura", max_length=160)

    class Meta:
        verbose_name = "petición"
        verbose_name_plural = "peticiones"
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.subject_name


class Quote(models.Model):
    """A quote as it was sent, with all its lines.

    `binding_price` is what the academy charges until `valid_until` for exactly these subjects and
    this payment type. `final_price` also includes the discounts that staff still have to check.
    """

    class DateRange(models.TextChoices):
        AUGUST = "august", "Agosto"
        SEPTEMBER = "september", "Septiembre"
        OTHER = "other", "Otra fecha"

    lead = models.OneToOneField(Lead, models.CASCADE, related_name="quote")
    payment_type = models.CharField("forma de pago", max_length=12, choices=PaymentType.choices)
    date_range = models.CharField("fecha", max_length=10, choices=DateRange.choices)
    was_invited = models.BooleanField("invitado por un amigo", default=False)
    friend_code = models.CharField("código de amigo", max_length=40, blank=True)
    # The friend code, if it exists and this visitor could use it.
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
    kind = models.CharField(max_length=16, editable=False)
    name = models.CharField("descuento", max_length=80)
    amount = models.DecimalField("importe", **EUROS)
    is_subject_to_check = models.BooleanField("sujeto a comprobación", default=False)

    class Meta:
        verbose_name = "descuento"
        verbose_name_plural = "descuentos"
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.name
