from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.safestring import SafeString

from apps.core.legal.placeholders import check_placeholders, fill_placeholders
from apps.core.owed import LEASE, Owed

if TYPE_CHECKING:
    from apps.core.mail.registry import RenderedMail

# No other scheme, and no "//host", which a browser takes for another site's address.
PORTAL_ADDRESS = RegexValidator(
    r"^(https://[^\s/]\S*|/(?!/)\S*)\Z", "Así: https://aula.midominio.es, o /aula en este sitio."
)
CHAT_GREETING = "Hola, me gustaría recibir más información."


class RateCount(models.Model):
    """How often one visitor did one thing in one window of time. It lives as long as that."""

    slot = models.CharField(max_length=120, unique=True)
    times = models.PositiveIntegerField(default=0)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.slot


class SiteSettings(models.Model):
    """What the owner may want to change without a developer. One row, made when first asked for."""

    support_email = models.EmailField("correo de soporte", default="hola@academia.example")
    support_phone = models.CharField("teléfono", max_length=30, default="+34 910 000 000")
    whatsapp_url = models.URLField(
        "enlace de chat", blank=True, default="https://wa.me/34910000000"
    )
    marketplace_url = models.URLField(
        "enlace a las reseñas",
        default="https://resenas.example/academia-faro",
        help_text="La página del portal de clases con las valoraciones de la academia.",
    )
    video_url = models.URLField(
        "vídeo de la portada",
        default="https://vimeo.com/76979871",
        validators=[
            RegexValidator(r"^https://vimeo\.com/\d+$", "Así: https://vimeo.com/123456789.")
        ],
        help_text="La dirección del vídeo en Vimeo.",
    )
    portal_url = models.CharField(
        "dirección del aula",
        max_length=200,
        blank=True,
        validators=[PORTAL_ADDRESS],
        help_text="Adónde lleva «Iniciar sesión». Vacío: la de la configuración (PORTAL_URL).",
    )
    portal_profile_url = models.CharField(
        "dirección del perfil en el aula",
        max_length=200,
        blank=True,
        validators=[PORTAL_ADDRESS],
        help_text="Vacío: la de la configuración (PORTAL_PROFILE_URL).",
    )
    legal_name = models.CharField("titular", max_length=120, default="Academia Faro, S. L.")
    tax_id = models.CharField("NIF", max_length=20, default="B00000000")
    legal_address = models.CharField("domicilio social", max_length=200, default="Madrid, España")

    class Meta:
        verbose_name = verbose_name_plural = "ajustes del sitio"

    def __str__(self) -> str:
        return "Ajustes del sitio"

    @property
    def chat_url(self) -> str:
        """The chat with a greeting typed already (site spec, section 2, "Floating help widget")."""
        separator = "&" if "?" in self.whatsapp_url else "?"
        return f"{self.whatsapp_url}{separator}{urlencode({'text': CHAT_GREETING})}"

    @property
    def portal(self) -> str:
        """The virtual classroom: the owner's address, else the setting's. A path is this site's."""
        return self.portal_url or settings.PORTAL_URL

    @property
    def portal_profile(self) -> str:
        """The student's profile page there."""
        return self.portal_profile_url or settings.PORTAL_PROFILE_URL

    @classmethod
    def current(cls) -> "SiteSettings":
        return cls._default_manager.get_or_create(pk=1)[0]


class LegalTextQuerySet(models.QuerySet["LegalText"]):
    def current(self, kind: str) -> "LegalText":
        """The version in force: the newest of its kind."""
        return self.filter(kind=kind).latest("version")

    def asked_for(self, kind: str, version: str) -> "LegalText":
        """The version with that number, as mails link it, else the one in force."""
        number = int(version) if version.isascii() and version.isdigit() and len(version) < 6 else 0
        return self.filter(kind=kind, version=number).first() or self.current(kind)


class LegalText(models.Model):
    """One version of one legal text. Consents refer to it, so a version never changes or goes."""

    class Kind(models.TextChoices):
        TERMS = "terminos", "Términos y condiciones"
        PRIVACY = "privacidad", "Política de privacidad"
        COOKIES = "cookies", "Política de cookies"
        NOTICE = "aviso-legal", "Aviso legal"

    kind = models.CharField("texto", max_length=20, choices=Kind.choices)
    version = models.PositiveIntegerField("versión", default=1)
    title = models.CharField("título", max_length=120)
    body = models.TextField("contenido (HTML)", validators=[check_placeholders])
    published_on = models.DateField("fecha")

    objects = LegalTextQuerySet.as_manager()

    class Meta:
        verbose_name = "texto legal"
        verbose_name_plural = "textos legales"
        ordering = ("kind", "-version")
        constraints = (
            models.UniqueConstraint(fields=("kind", "version"), name="legal_text_version_once"),
        )

    def __str__(self) -> str:
        return f"{self.title} (versión {self.version})"

    def html(self) -> SafeString:
        """The body with the owner's data of today in the places that it leaves for them."""
        return fill_placeholders(self.body, SiteSettings.current())


class Mail(Owed):
    """An e-mail that is owed, written in the transaction that makes it due.

    `key` names the occasion ("order-confirmation:12"): the same occasion never makes a second one.
    Delivery is at least once, with the same Message-ID on every try (decisions.md).
    """

    class Status(models.TextChoices):
        QUEUED = "queued", "Pendiente"
        SENT = "sent", "Enviado"
        FAILED = "failed", "Fallido"
        DROPPED = "dropped", "Ya no procede"

    OPEN = Status.QUEUED

    key = models.CharField("motivo", max_length=120, unique=True)
    template = models.CharField("plantilla", max_length=60)
    to = models.EmailField("destinatario")
    context = models.JSONField("datos", default=dict)
    message_id = models.CharField("Message-ID", max_length=120)
    status = models.CharField(
        "estado", max_length=10, choices=Status.choices, default=Status.QUEUED
    )
    created_at = models.DateTimeField("creado", auto_now_add=True)
    sent_at = models.DateTimeField("enviado", null=True, blank=True)
    # Put off because the mail server could not be reached at all, through no fault of its own.
    waits_for_server = models.BooleanField("espera al servidor", default=False)

    class Meta:
        verbose_name = "correo"
        verbose_name_plural = "correos"
        ordering = ("-created_at",)
        indexes = (models.Index(fields=("status", "due_at"), name="mail_by_due"),)

    def __str__(self) -> str:
        return f"{self.template} → {self.to}"

    @classmethod
    def claim_waiting(cls, *, before: "Mail") -> "Mail | None":
        """The oldest that waits for the server and is older than `before`, due or not, as `claim`
        does; None where there is none that is in nobody's hands.
        """
        now = timezone.now()
        free = cls._waiting(now).filter(pk__lt=before.pk)
        first = free.order_by("pk").first()
        if first is None:
            return None
        claimed = free.filter(pk=first.pk).update(
            leased_until=now + LEASE, attempts=F("attempts") + 1
        )
        return cls.objects.get(pk=first.pk) if claimed else None

    def hand_back(self) -> None:
        """Let go of what was claimed and not tried, as if it had not been claimed."""
        type(self).objects.filter(pk=self.pk, leased_until=self.leased_until).update(
            leased_until=None, attempts=F("attempts") - 1
        )

    @classmethod
    def wake_waiting(cls) -> list[int]:
        """Make due what waits for the server; return the ids that were not, oldest first."""
        now = timezone.now()
        asleep = cls._waiting(now).filter(due_at__gt=now)
        pks = list(asleep.order_by("pk").values_list("pk", flat=True))
        # One by one, so that of two workers each wakes what the other has not.
        return [pk for pk in pks if asleep.filter(pk=pk).update(due_at=now)]

    @classmethod
    def _waiting(cls, now: datetime) -> "models.QuerySet[Mail]":
        free = Q(leased_until=None) | Q(leased_until__lte=now)
        return cls.objects.filter(free, status=cls.OPEN, waits_for_server=True)

    def rendered(self) -> "RenderedMail":
        """The mail as staff may read it: with its one-time links only where nothing is sent.

        Under the file backend the admin is the mailbox; with a provider the links are the
        student's alone. Raises ObjectDoesNotExist where what the mail is about is gone.
        """
        from apps.core.mail.registry import render_mail  # It reads SiteSettings from this module.

        kept_here = settings.EMAIL_BACKEND == "apps.core.mail.backends.FileBackend"
        return render_mail(self.template, self.context, reveal=kept_here)


class ScheduledJob(models.Model):
    """When a job of the clock is due, who holds it, and how it went last (`core.jobs`)."""

    name = models.CharField("tarea", max_length=60, unique=True)
    due_at = models.DateTimeField("próxima vez", db_index=True)
    leased_until = models.DateTimeField(null=True, blank=True, editable=False)
    started_at = models.DateTimeField("última vez", null=True, blank=True)
    finished_at = models.DateTimeField("terminada", null=True, blank=True)
    duration = models.DurationField("duración", null=True, blank=True)
    failures = models.PositiveIntegerField("fallos seguidos", default=0)
    last_error = models.CharField("último error", max_length=1000, blank=True)
    last_result = models.CharField("último resultado", max_length=300, blank=True)

    class Meta:
        verbose_name = "tarea programada"
        verbose_name_plural = "tareas programadas"
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
