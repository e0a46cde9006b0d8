from datetime import date
from typing import Any, Self

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from apps.catalogue.models import Degree, Subject, University
from apps.core.money import to_cents
from apps.pricing.rules import CampaignTerms, PromoTerms
from apps.students.models import Student

MONTHS = [
    (1, "enero"), (2, "febrero"), (3, "marzo"), (4, "abril"), (5, "mayo"), (6, "junio"),
    (7, "julio"), (8, "agosto"), (9, "septiembre"), (10, "octubre"), (11, "noviembre"),
    (12, "diciembre"),
]  # fmt: skip
DAY = [MinValueValidator(1), MaxValueValidator(31)]


class CampaignQuerySet(models.QuerySet["Campaign"]):
    def in_force(self, day: date) -> CampaignTerms | None:
        """Return the terms of the campaign that runs on this day, or None.

        If several run, the one with the largest percentage counts.
        """
        running = [campaign for campaign in self.filter(active=True) if campaign.runs_on(day)]
        best = max(running, key=lambda campaign: (campaign.percent, -campaign.pk), default=None)
        return best.terms(day) if best else None


class Campaign(models.Model):
    """A discount that runs every year between two days."""

    name = models.CharField("nombre", max_length=60, help_text="p. ej. Agosto")
    percent = models.PositiveSmallIntegerField(
        "porcentaje", validators=[MinValueValidator(1), MaxValueValidator(90)]
    )
    first_month = models.PositiveSmallIntegerField("desde el mes", choices=MONTHS)
    first_day = models.PositiveSmallIntegerField("desde el día", validators=DAY)
    last_month = models.PositiveSmallIntegerField("hasta el mes", choices=MONTHS)
    last_day = models.PositiveSmallIntegerField("hasta el día", validators=DAY)
    active = models.BooleanField("activa", default=True)
    calculator = models.BooleanField("en la calculadora", default=True)
    cart = models.BooleanField("en el carrito", default=False)
    banner = models.BooleanField("en el aviso de la portada", default=False)
    prices_include_it = models.BooleanField(
        "los precios ya la incluyen",
        default=True,
        help_text="Sí: el carrito muestra un precio de lista y la campaña lo devuelve al precio. "
        "No: la campaña se descuenta del precio.",
    )

    objects = CampaignQuerySet.as_manager()

    class Meta:
        verbose_name = "campaña"
        verbose_name_plural = "campañas"
        ordering = ("first_month", "first_day")
        constraints = (
            models.CheckConstraint(
                condition=Q(percent__gte=1, percent__lte=90), name="campaign_percent_sane"
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.percent} %)"

    def runs_on(self, day: date) -> bool:
        first, last = (self.first_month, self.first_day), (self.last_month, self.last_day)
        now = (day.month, day.day)
        # The campaign runs across New Year.
        return first <= now <= last if first <= last else now >= first or now <= last

    def ends_on(self, day: date) -> date:
        """Return the last day of the run that includes `day`."""
        year = day.year + ((self.last_month, self.last_day) < (day.month, day.day))
        for last_day in range(self.last_day, 27, -1):
            try:
                return date(year, self.last_month, last_day)
            except ValueError:  # 31 June or 29 February: use the last day of the month.
                continue
        return date(year, self.last_month, self.last_day)

    def terms(self, day: date) -> CampaignTerms:
        return CampaignTerms(
            name=self.name,
            percent=self.percent,
            calculator=self.calculator,
            cart=self.cart,
            prices_include_it=self.prices_include_it,
            ends_on=self.ends_on(day),
        )


class PromoCodeQuerySet(models.QuerySet["PromoCode"]):
    def with_code(self, code: str) -> Self:
        return self.filter(code=code.strip().upper())


class PromoCode(models.Model):
    """A discount code. `promo_checks` has the rules that refuse it."""

    class Kind(models.TextChoices):
        PERCENT = "PORCENTAJE", "Porcentaje"
        FIXED = "FIJO", "Importe fijo"

    code = models.CharField("código", max_length=40, unique=True)
    kind = models.CharField("tipo", max_length=10, choices=Kind.choices)
    value = models.DecimalField(
        "valor", max_digits=8, decimal_places=2, help_text="Porcentaje (0–100) o euros"
    )
    active = models.BooleanField("activo", default=True)
    valid_from = models.DateTimeField("válido desde", null=True, blank=True)
    valid_until = models.DateTimeField("válido hasta", null=True, blank=True)
    max_uses = models.PositiveIntegerField(
        "usos en total", null=True, blank=True, help_text="Vacío: sin límite"
    )
    max_uses_per_student = models.PositiveIntegerField(
        "usos por alumno", null=True, blank=True, help_text="Vacío: sin límite"
    )
    minimum_cart = models.DecimalField(
        "carrito mínimo (€)", max_digits=8, decimal_places=2, default=0
    )
    universities = models.ManyToManyField(
        University, blank=True, verbose_name="solo para universidades"
    )
    degrees = models.ManyToManyField(Degree, blank=True, verbose_name="solo para grados")
    subjects = models.ManyToManyField(Subject, blank=True, verbose_name="solo para asignaturas")
    is_referral_code = models.BooleanField("código de amigo", default=False)
    student = models.ForeignKey(
        Student,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="promo_codes",
        verbose_name="pertenece a",
    )
    note = models.CharField("nota", max_length=200, blank=True)
    created_at = models.DateTimeField("creado", auto_now_add=True)
    # Reserved and used uses, counted under the row's lock. The check constraint below refuses a use
    # above the limit even if the code is wrong.
    uses_taken = models.PositiveIntegerField("usos", default=0, editable=False)

    objects = PromoCodeQuerySet.as_manager()

    class Meta:
        verbose_name = "código promocional"
        verbose_name_plural = "códigos promocionales"
        ordering = ("-created_at",)
        constraints = (
            models.CheckConstraint(
                condition=Q(max_uses__isnull=True) | Q(uses_taken__lte=F("max_uses")),
                name="promo_never_used_too_often",
                violation_error_message="El código ya se ha usado más veces que ese límite.",
            ),
            models.CheckConstraint(condition=Q(value__gt=0), name="promo_value_positive"),
            models.CheckConstraint(
                condition=~Q(kind="PORCENTAJE") | Q(value__lte=100),
                name="promo_percent_sane",
                violation_error_message="Un porcentaje no puede pasar de 100.",
            ),
            models.CheckConstraint(
                condition=Q(is_referral_code=False) | Q(student__isnull=False),
                name="promo_referral_has_owner",
                violation_error_message="Un código de amigo necesita su alumno.",
            ),
            models.UniqueConstraint(
                fields=("student",),
                condition=Q(is_referral_code=True),
                name="one_referral_code_each",
            ),
        )

    def __str__(self) -> str:
        return self.code

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.code = self.code.strip().upper()
        super().save(*args, **kwargs)

    def clean(self) -> None:
        """Check the limit here: `uses_taken` is in no form, so Django skips its constraint."""
        if self.max_uses is not None and self.uses_taken > self.max_uses:
            raise ValidationError(
                {"max_uses": "El código ya se ha usado más veces que ese límite."}
            )

    def terms(self) -> PromoTerms:
        # Percentages have two decimals, so to_cents gives hundredths of a percent.
        return PromoTerms(
            kind="PORCENTAJE" if self.kind == self.Kind.PERCENT else "FIJO",
            value=to_cents(self.value),
            is_referral=self.is_referral_code,
        )
