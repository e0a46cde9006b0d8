"""Invoices, the buyers' billing details, and orders that wait for an invoice.

The rules are in docs/rules.md, "Invoices".
"""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.core.models import Restore
from apps.core.money import to_cents
from apps.orders.models import Order
from apps.orders.models.order import PRICE


class SeriesCounter(models.Model):
    """The last number of a series in a year. Only `numbering.next_number` changes it."""

    series = models.CharField(max_length=1)
    year = models.PositiveSmallIntegerField()
    last_number = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = "contador de facturas"
        verbose_name_plural = "contadores de facturas"
        constraints = (
            models.UniqueConstraint(fields=("series", "year"), name="one_counter_per_series"),
        )

    def __str__(self) -> str:
        return f"{self.series}{self.year}: {self.last_number}"


class NumbersConfirmed(models.Model):
    """Staff have stated the last numbers that were given out before a restore of a backup."""

    restore = models.OneToOneField(Restore, models.CASCADE, related_name="numbers_confirmed")
    confirmed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = "numeración confirmada"
        verbose_name_plural = "numeraciones confirmadas"

    def __str__(self) -> str:
        return f"{self.confirmed_at}"


class BillingDetails(models.Model):
    """The name, tax number and address that a buyer gave for the invoice of an order."""

    order = models.OneToOneField(
        Order, models.CASCADE, related_name="billing_details", verbose_name="pedido"
    )
    name = models.CharField("nombre o razón social", max_length=120)
    tax_id = models.CharField("NIF", max_length=20)
    address = models.CharField("dirección", max_length=200)
    postal_code = models.CharField("código postal", max_length=12)
    city = models.CharField("localidad", max_length=80)
    country = models.CharField("país", max_length=2, default="ES")
    created_at = models.DateTimeField("pedida", auto_now_add=True)

    class Meta:
        verbose_name = "datos de facturación"
        verbose_name_plural = "datos de facturación"

    def __str__(self) -> str:
        return f"Datos de facturación del pedido {self.order_id}"

    def as_recipient(self) -> dict[str, str]:
        """The recipient as an invoice keeps it."""
        names = ("name", "tax_id", "address", "postal_code", "city", "country")
        return {name: getattr(self, name) for name in names}


class PendingInvoice(models.Model):
    """An order whose invoices may have to follow a change. Deleted once they are issued."""

    class Problem(models.TextChoices):
        NONE = "", "Se emite enseguida"
        SELLER_DATA = "seller_data", "Faltan los datos del emisor"
        OVER_LIMIT = "over_limit", "Pasa de 400 €: necesita los datos del comprador"
        FAILED = "failed", "No se ha podido emitir"
        RESTORED = (
            "restored",
            "Se restauró una copia: falta saber el último número de cada serie "
            "(manage.py resume_invoices)",
        )

    order = models.OneToOneField(
        Order, models.CASCADE, related_name="pending_invoice", verbose_name="pedido"
    )
    problem = models.CharField(
        "por qué espera", max_length=12, choices=Problem.choices, blank=True, default=""
    )
    created_at = models.DateTimeField("espera desde", default=timezone.now)
    # The job begins with the orders that it has not tried, or not for the longest time.
    tried_at = models.DateTimeField("último intento", null=True, blank=True)

    class Meta:
        verbose_name = "factura en espera"
        verbose_name_plural = "facturas en espera"
        ordering = ("created_at",)
        indexes = (models.Index(fields=("problem", "created_at"), name="pending_invoice_by_age"),)

    def __str__(self) -> str:
        return f"Factura del pedido {self.order_id}"


class InvoiceQuerySet(models.QuerySet["Invoice"]):
    def in_force(self) -> "InvoiceQuerySet":
        """Invoices that count: not those that another invoice replaces, nor their correctives."""
        own = Q(root=None, replaced_by=None)
        return self.filter(own | Q(root__isnull=False, root__replaced_by=None))


class Invoice(models.Model):
    """An issued invoice. It is never changed: a refund adds a corrective invoice.

    `content` is everything that the PDF shows except the recipient, as it was on that day:
    `snapshot.build_content` describes its shape. The recipient is a field of its own because it is
    erased after the time that the law prescribes.
    """

    class Kind(models.TextChoices):
        # The codes of the tax agency (Orden HAC/1177/2024, list L2).
        FULL = "F1", "Factura"
        SIMPLIFIED = "F2", "Factura simplificada"
        REPLACEMENT = "F3", "Factura en sustitución de una simplificada"
        CORRECTIVE = "R1", "Factura rectificativa"
        RECIPIENT_CORRECTIVE = "R4", "Factura rectificativa de los datos del destinatario"
        SIMPLIFIED_CORRECTIVE = "R5", "Factura rectificativa de una simplificada"

    # Those with a recipient, which a corrective of the recipient can replace.
    FULL_KINDS = (Kind.FULL, Kind.REPLACEMENT, Kind.RECIPIENT_CORRECTIVE)

    code = models.CharField("número", max_length=20, unique=True)
    series = models.CharField("serie", max_length=1)
    year = models.PositiveSmallIntegerField("año")
    number = models.PositiveIntegerField("número en la serie")
    kind = models.CharField("tipo", max_length=2, choices=Kind.choices)
    issued_on = models.DateField("fecha de expedición")
    created_at = models.DateTimeField("creada", auto_now_add=True)
    order = models.ForeignKey(
        Order, models.SET_NULL, null=True, related_name="invoices", verbose_name="pedido"
    )
    # The invoice that a corrective one corrects by differences.
    root = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        related_name="correctives",
        verbose_name="rectifica",
    )
    # The simplified invoice that this full one replaces, or the one with the wrong recipient.
    replaces = models.OneToOneField(
        "self",
        models.PROTECT,
        null=True,
        related_name="replaced_by",
        verbose_name="sustituye",
    )
    recipient = models.JSONField("destinatario", null=True)
    # A copy of the number in `recipient`, to search by.
    recipient_tax_id = models.CharField(
        "NIF del destinatario", max_length=20, blank=True, db_index=True
    )
    total = models.DecimalField("total (€)", **PRICE)
    tax = models.DecimalField("cuota de IVA (€)", **PRICE)
    content = models.JSONField("contenido")

    objects = InvoiceQuerySet.as_manager()

    class Meta:
        verbose_name = "factura"
        verbose_name_plural = "facturas"
        ordering = ("-created_at", "-pk")
        permissions = (
            ("issue_invoice", "Puede emitir facturas"),
            ("send_invoice", "Puede reenviar facturas"),
            ("read_vat_book", "Puede ver el libro de facturas expedidas"),
            ("export_vat_book", "Puede descargar el libro de facturas expedidas y sus PDF"),
        )
        constraints = (
            models.UniqueConstraint(
                fields=("series", "year", "number"), name="invoice_number_once"
            ),
        )
        indexes = (
            models.Index(fields=("-created_at", "-id"), name="invoice_by_age"),
            models.Index(fields=("issued_on",), name="invoice_by_day"),
            models.Index(fields=("kind", "-created_at"), name="invoice_by_kind"),
        )

    def __str__(self) -> str:
        return self.code

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Store a new invoice. Raises TypeError for one that is stored already."""
        if not self._state.adding:
            raise TypeError("An issued invoice is never changed")
        super().save(*args, **kwargs)

    @property
    def total_cents(self) -> int:
        return to_cents(self.total)

    @property
    def tax_cents(self) -> int:
        return to_cents(self.tax)

    @property
    def recipient_name(self) -> str:
        return str((self.recipient or {}).get("name", ""))

    @property
    def substitute(self) -> "Invoice | None":
        """The invoice that counts instead of this one, or of the one that this one corrects."""
        return getattr(self.root or self, "replaced_by", None)


class InvoiceArchive(models.Model):
    """The PDFs of a part of a period in a ZIP file. A worker makes it; it is kept for a day.

    `period` is a text that `apps.core.period.period_of` reads. `progress` is in percent.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Preparándose"
        READY = "ready", "Listo"
        FAILED = "failed", "No se ha podido preparar"

    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    requested_at = models.DateTimeField(default=timezone.now, db_index=True)
    period = models.CharField(max_length=21)
    part = models.PositiveSmallIntegerField()
    state = models.CharField(
        max_length=7, choices=State.choices, default=State.WAITING, db_default=State.WAITING
    )
    progress = models.PositiveSmallIntegerField(default=0, db_default=0)
    content = models.BinaryField(default=b"")

    class Meta:
        verbose_name = "archivo de facturas"
        verbose_name_plural = "archivos de facturas"

    def __str__(self) -> str:
        return f"facturas-{self.period}-{self.part}.zip"


class TaxEnvironment(models.TextChoices):
    """The tax agency's services, as the setting VERIFACTU names them."""

    TEST = "pruebas", "Pruebas"
    REAL = "produccion", "Real"


ENVIRONMENT: dict[str, Any] = {
    "max_length": 10,
    "choices": TaxEnvironment.choices,
    "default": TaxEnvironment.REAL,
    "db_default": TaxEnvironment.REAL,
}


# The number of the installation, as the agency's format has it (NumeroInstalacion).
FIRST_INSTALLATION = "1"
INSTALLATION: dict[str, Any] = {
    "max_length": 20,
    "default": FIRST_INSTALLATION,
    "db_default": FIRST_INSTALLATION,
}


class TaxChain(models.Model):
    """The end of the chain of tax records of one issuer in one environment of the agency.

    A shop that was restored from a backup begins a chain as a new installation: the end of the old
    one may be lost.

    Its row is locked while a record is added.
    """

    issuer = models.CharField(max_length=20)
    environment = models.CharField(**ENVIRONMENT)
    installation = models.CharField(**INSTALLATION)
    last_number = models.PositiveIntegerField(default=0)
    # The tax agency says after each message how long to wait for the next.
    next_message_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "cadena de VERI*FACTU"
        verbose_name_plural = "cadenas de VERI*FACTU"
        constraints = (
            models.UniqueConstraint(
                fields=("issuer", "environment", "installation"),
                name="one_tax_chain_per_installation",
            ),
        )

    def __str__(self) -> str:
        of = f"{self.get_environment_display()}, instalación {self.installation}"
        return f"{self.issuer} ({of}): {self.last_number}"


class TaxRecord(models.Model):
    """One VERI*FACTU record: an invoice was issued or annulled. It is chained to the one before.

    `content` has what the record says, as the agency's format has it. What is written here is never
    changed, except for the agency's answer.
    """

    class Kind(models.TextChoices):
        ISSUED = "alta", "Alta"
        ANNULLED = "anulacion", "Anulación"

    class State(models.TextChoices):
        WAITING = "waiting", "Por enviar"
        ACCEPTED = "accepted", "Aceptado"
        ACCEPTED_WITH_ERRORS = "with_errors", "Aceptado con errores"
        REJECTED = "rejected", "Rechazado"

    issuer = models.CharField("NIF del emisor", max_length=20)
    environment = models.CharField("entorno", **ENVIRONMENT)
    installation = models.CharField("instalación", **INSTALLATION)
    number = models.PositiveIntegerField("registro")
    kind = models.CharField("tipo", max_length=10, choices=Kind.choices)
    invoice = models.ForeignKey(
        Invoice, models.PROTECT, related_name="tax_records", verbose_name="factura"
    )
    generated_at = models.CharField("generado", max_length=25)
    previous_hash = models.CharField("huella anterior", max_length=64, blank=True)
    hash = models.CharField("huella", max_length=64, unique=True)
    content = models.JSONField("contenido")
    state = models.CharField("envío", max_length=12, choices=State.choices, default=State.WAITING)
    receipt = models.CharField("CSV de la Agencia", max_length=40, blank=True)
    error_code = models.CharField("código de error", max_length=10, blank=True)
    error = models.CharField("error", max_length=500, blank=True)
    sent_at = models.DateTimeField("enviado", null=True, blank=True)

    class Meta:
        verbose_name = "registro de VERI*FACTU"
        verbose_name_plural = "registros de VERI*FACTU"
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("issuer", "environment", "installation", "number"),
                name="tax_record_number_once",
            ),
        )
        indexes = (models.Index(fields=("state", "id"), name="tax_record_by_state"),)

    def __str__(self) -> str:
        return f"{self.get_kind_display()} de {self.invoice}"
