from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.safestring import SafeString

from apps.core.backup_record import Backup as Backup
from apps.core.legal.placeholders import OWNER_FIELDS, check_placeholders, fill_placeholders
from apps.core.render_memory import remembered
from apps.core.restore_record import Restore as Restore
from apps.core.retries import LEASE, RetriedWork, unleased
from apps.core.staff_limit_records import StaffDiscount as StaffDiscount
from apps.core.staff_limit_records import StaffExtension as StaffExtension
from apps.core.staff_limit_records import StaffLimit as StaffLimit
from apps.core.staff_records import DeletedRow as DeletedRow
from apps.core.staff_records import StaffAction as StaffAction
from apps.core.ways_to_pay import TakesPayments

# Only https or a path of this site. A browser reads "//host" and "/\host" as another site's
# address.
PORTAL_ADDRESS = RegexValidator(
    r"^(https://[^\s/\\]\S*|/(?![/\\])\S*)\Z",
    "Así: https://aula.midominio.es, o /aula en este sitio.",
)
VIMEO = RegexValidator(r"^https://vimeo\.com/\d+$", "Así: https://vimeo.com/123456789.")
# The processes that send signs of life, with their names for staff. Workers have the names of their
# queues (TASKS in academy/settings.py).
PROCESSES = {
    "clock": "Reloj de tareas programadas",
    "access": "Altas en el aula",
    "mail": "Envío de correos",
    "provider": "Eventos de Stripe",
}
SILENT_AFTER = timedelta(minutes=2)
# A mail that waits for longer than this needs a person.
MAIL_WAITS_TOO_LONG = timedelta(minutes=15)
CHAT_GREETING = "Hola, me gustaría recibir más información."


class RateCount(models.Model):
    """A rate limit's counter for one visitor in one time window. Deleted after it expires."""

    slot = models.CharField(max_length=120, unique=True)
    times = models.PositiveIntegerField(default=0)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = "contador de un límite"
        verbose_name_plural = "contadores de límites"

    def __str__(self) -> str:
        return self.slot


# Whom visitors write to, where they sign in, who sells, how else they pay, and which invoices they
# get. A wrong value leads customers or their money elsewhere.
IDENTITY_FIELDS = (
    "support_email",
    "support_phone",
    "whatsapp_url",
    "marketplace_url",
    "portal_url",
    "portal_profile_url",
    "classroom_progress",
    "bizum",
    "paypal",
    "transfer",
    "other_payments",
    "legal_name",
    "tax_id",
    "legal_address",
    "simplified_invoices",
)


class HasClaims(models.Model):
    """The owner's statements about the academy on its pages (`apps.pages.claims`)."""

    teachers_count = models.PositiveSmallIntegerField(
        "profesores",
        default=16,
        db_default=16,
        help_text="Cuántos sois. Si en «Profesores» hay más fichas, cuentan las fichas.",
    )
    average_grade_note = models.CharField(
        "nota media: escala y curso",
        max_length=60,
        default="sobre 10, curso 2024-2025",
        db_default="sobre 10, curso 2024-2025",
    )

    class Meta:
        abstract = True


class SiteSettings(TakesPayments, HasClaims):
    """Settings that the owner edits in the admin. A single row, created on first use."""

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
        validators=[VIMEO],
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
    classroom_progress = models.BooleanField(
        "progreso en el aula",
        default=False,
        db_default=False,
        help_text="Trae de Moodle qué ha hecho cada alumno y cuándo entró por última vez. Lo ve en "
        "su cuenta, y el equipo, en los desistimientos y los informes. Al encenderlo, pulsa "
        "«Comprobar Moodle»: necesita un permiso más.",
    )
    legal_name = models.CharField("titular", max_length=120, default="Academia Faro, S. L.")
    tax_id = models.CharField("NIF", max_length=20, default="B00000000")
    legal_address = models.CharField("domicilio social", max_length=200, default="Madrid, España")
    simplified_invoices = models.BooleanField(
        "facturas simplificadas",
        default=False,
        db_default=False,
        help_text="Emite una factura simplificada por cada pedido de hasta 400 € cuyo comprador "
        "no pide factura. Vale para los pedidos que se paguen desde ahora.",
    )

    # The academy's own subject and paragraph of mails, by template (`core.mail.own_words`).
    mail_words = models.JSONField(default=dict, db_default={}, editable=False)

    class Meta:
        verbose_name = verbose_name_plural = "ajustes del sitio"
        permissions = (
            ("change_identity", "Puede cambiar contacto, enlaces del aula, titular y facturas"),
            ("change_mail_words", "Puede cambiar las palabras de los correos"),
        )

    def __str__(self) -> str:
        return "Ajustes del sitio"

    @property
    def chat_url(self) -> str:
        """The chat link with a prefilled greeting."""
        separator = "&" if "?" in self.whatsapp_url else "?"
        return f"{self.whatsapp_url}{separator}{urlencode({'text': CHAT_GREETING})}"

    @property
    def portal(self) -> str:
        """The URL of the classroom: the owner's if set, else `PORTAL_URL`. May be a path here."""
        return self.portal_url or settings.PORTAL_URL

    @property
    def portal_profile(self) -> str:
        """The URL of the student's profile page in the classroom."""
        return self.portal_profile_url or settings.PORTAL_PROFILE_URL

    @classmethod
    @remembered
    def current(cls) -> "SiteSettings":
        return cls._default_manager.get_or_create(pk=1)[0]


class LegalTextQuerySet(models.QuerySet["LegalText"]):
    def current(self, kind: str) -> "LegalText":
        """The current version: the newest of its kind."""
        return self.filter(kind=kind).latest("version")

    def current_ids(self) -> dict[str, int]:
        """The id of the current version of each kind, read without the texts."""
        return dict(self.order_by("version").values_list("kind", "pk"))

    def version_or_current(self, kind: str, version: str) -> "LegalText":
        """The version with that number, as mails link to it, else the current version."""
        number = int(version) if version.isascii() and version.isdigit() and len(version) < 6 else 0
        return self.filter(kind=kind, version=number).first() or self.current(kind)


class LegalText(models.Model):
    """One version of one legal text. Consents refer to it, so it is never changed or deleted."""

    class Kind(models.TextChoices):
        TERMS = "terminos", "Términos y condiciones"
        PRIVACY = "privacidad", "Política de privacidad"
        COOKIES = "cookies", "Política de cookies"
        NOTICE = "aviso-legal", "Aviso legal"
        ACCESSIBILITY = "accesibilidad", "Accesibilidad"

    kind = models.CharField("texto", max_length=20, choices=Kind.choices)
    version = models.PositiveIntegerField("versión", default=1)
    title = models.CharField("título", max_length=120)
    body = models.TextField("contenido (HTML)", validators=[check_placeholders])
    published_on = models.DateField("fecha")
    # The numbers of the sale on that day. A version says what its readers accepted.
    numbers = models.JSONField(
        "números", default=dict, db_default=Value({}, models.JSONField()), editable=False
    )

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
        """The body with the owner's current data in its placeholders."""
        owner = SiteSettings.current()
        fields = {name: getattr(owner, name) for name in OWNER_FIELDS}
        return fill_placeholders(self.body, {**self.numbers, **fields})


class MailQuerySet(models.QuerySet["Mail"]):
    def stuck(self) -> "MailQuerySet":
        """Mails that failed for good, and mails that have waited for more than 15 minutes."""
        since = timezone.now() - MAIL_WAITS_TOO_LONG
        return self.filter(
            Q(status=Mail.Status.FAILED) | Q(status=Mail.Status.QUEUED, created_at__lt=since)
        )

    def withheld(self) -> "MailQuerySet":
        """Mails about which staff have to decide: send them, or never."""
        return self.filter(status=Mail.Status.WITHHELD)


class Mail(RetriedWork):
    """A queued e-mail, stored in the transaction that makes it due.

    `key` identifies the occasion ("order-confirmation:12"), so the same mail is never queued twice.
    Delivery is at least once, with the same Message-ID on every attempt.
    """

    class Status(models.TextChoices):
        QUEUED = "queued", "Pendiente"
        SENT = "sent", "Enviado"
        FAILED = "failed", "Fallido"
        DROPPED = "dropped", "Ya no procede"
        # The mailbox's budget of mails that strangers can cause was used up.
        WITHHELD = "withheld", "Retenido"

    OPEN = Status.QUEUED

    key = models.CharField("motivo", max_length=120, unique=True)
    template = models.CharField("plantilla", max_length=60)
    to = models.EmailField("destinatario")
    context = models.JSONField("datos", default=dict)
    message_id = models.CharField("Message-ID", max_length=120)
    # The id that the mail provider's API gave it, by which its events name it.
    provider_id = models.CharField(max_length=200, blank=True, db_default="", editable=False)
    status = models.CharField(
        "estado", max_length=10, choices=Status.choices, default=Status.QUEUED
    )
    created_at = models.DateTimeField("creado", auto_now_add=True)
    sent_at = models.DateTimeField("enviado", null=True, blank=True)
    # The academy's own words that it was sent with. None in one that was sent before there was this
    # column, or that is not sent yet: it is shown with today's.
    sent_words = models.JSONField(null=True, editable=False)
    # Delayed because the mail server was unreachable, not because of this mail.
    waits_for_server = models.BooleanField("espera al servidor", default=False)

    objects = MailQuerySet.as_manager()

    class Meta:
        verbose_name = "correo"
        verbose_name_plural = "correos"
        ordering = ("-created_at",)
        indexes = (
            models.Index(fields=("status", "due_at"), name="mail_by_due"),
            models.Index(fields=("created_at", "id"), name="mail_by_day"),
            # The mails of one student.
            models.Index(fields=("to", "created_at"), name="mail_by_recipient"),
            models.Index(
                fields=("provider_id",), condition=~Q(provider_id=""), name="mail_by_provider_id"
            ),
            # The mails about one order.
            models.Index(KeyTransform("order_id", "context"), name="mail_by_order"),
        )

    def __str__(self) -> str:
        return f"Correo a {self.to}"

    @property
    def is_stuck(self) -> bool:
        """Whether the mail waits for a decision of staff."""
        return self.status in (self.Status.FAILED, self.Status.WITHHELD)

    @classmethod
    def claim_waiting(cls, *, before: "Mail") -> "Mail | None":
        """Lease the oldest mail that waits for the mail server and is older than `before`.

        Unlike `claim` this ignores `due_at`. Returns None if there is no such mail.
        """
        now = timezone.now()
        waiting = cls._waiting(now).filter(pk__lt=before.pk)
        first = waiting.order_by("pk").first()
        if first is None:
            return None
        claimed = waiting.filter(pk=first.pk).update(
            leased_until=now + LEASE, attempts=F("attempts") + 1
        )
        return cls.objects.get(pk=first.pk) if claimed else None

    @classmethod
    def any_waiting(cls) -> bool:
        """Whether mails wait for the mail server."""
        return cls._waiting(timezone.now()).exists()

    def release(self) -> None:
        """Undo `claim`: drop the lease and don't count the attempt."""
        type(self).objects.filter(pk=self.pk, leased_until=self.leased_until).update(
            leased_until=None, attempts=F("attempts") - 1
        )

    @classmethod
    def wake_waiting(cls) -> list[int]:
        """Make mails that wait for the mail server due now; return their ids, oldest first."""
        now = timezone.now()
        waiting = cls._waiting(now).filter(due_at__gt=now)
        pks = list(waiting.order_by("pk").values_list("pk", flat=True))
        # One update per mail, so that two concurrent workers never wake the same one.
        return [pk for pk in pks if waiting.filter(pk=pk).update(due_at=now)]

    @classmethod
    def _waiting(cls, now: datetime) -> "models.QuerySet[Mail]":
        return cls.objects.filter(unleased(now), status=cls.OPEN, waits_for_server=True)


class ScheduledJob(models.Model):
    """The schedule, lease and last result of a job that `manage.py clock` runs (`core.jobs`)."""

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


class HeartbeatQuerySet(models.QuerySet["Heartbeat"]):
    def silent(self) -> "HeartbeatQuerySet":
        """Processes without a sign of life for two minutes, or without any so far.

        A sign from the future counts as none: the machine's clock was wrong for a while.
        """
        now = timezone.now()
        heard = Q(seen_at__gte=now - SILENT_AFTER, seen_at__lte=now + SILENT_AFTER)
        return self.filter(Q(seen_at=None) | ~heard, name__in=PROCESSES)


class Heartbeat(models.Model):
    """The last sign of life of a process that runs beside the web process.

    `workers.heartbeats` writes it. After each migration every process of `PROCESSES` has its row.
    """

    name = models.CharField("proceso", max_length=40, unique=True)
    seen_at = models.DateTimeField("última señal", null=True, blank=True)

    objects = HeartbeatQuerySet.as_manager()

    class Meta:
        verbose_name = "proceso"
        verbose_name_plural = "procesos"
        ordering = ("name",)

    def __str__(self) -> str:
        return PROCESSES.get(self.name, self.name)

    @property
    def is_alive(self) -> bool:
        return self.seen_at is not None and abs(timezone.now() - self.seen_at) <= SILENT_AFTER


class Incident(models.Model):
    """Something wrong with the installation, and how often. One row for each kind of it."""

    name = models.CharField("incidencia", max_length=40, unique=True)
    times = models.PositiveBigIntegerField("veces", default=0)
    last_at = models.DateTimeField("última vez", default=timezone.now)

    class Meta:
        verbose_name = "incidencia"
        verbose_name_plural = "incidencias"
        ordering = ("-last_at",)

    def __str__(self) -> str:
        return self.name


class PublicChange(models.Model):
    """A committed change of what public pages show. Database triggers write it.

    `core.page_cache` reads it to find out whether its pages are still true.
    """

    at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = "cambio público"
        verbose_name_plural = "cambios públicos"

    def __str__(self) -> str:
        return f"{self.at}"
