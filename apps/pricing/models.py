from calendar import monthrange
from datetime import date
from typing import Any, Self

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Count, F, OuterRef, Q, Subquery, Sum

from apps.catalogue.models import Degree, Subject, University
from apps.core.money import to_cents
from apps.pricing.rules import CampaignTerms, PromoTerms
from apps.students.models import Student

MONTHS = [
    (1, "enero"), (2, "febrero"), (3, "marzo"), (4, "abril"), (5, "mayo"), (6, "junio"),
    (7, "julio"), (8, "agosto"), (9, "septiembre"), (10, "octubre"), (11, "noviembre"),
    (12, "diciembre"),
]  # fmt: skip
LEAP_YEAR = 2028
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
    """A discount that runs once between two dates, or every year between two days."""

    name = models.CharField("nombre", max_length=60, help_text="p. ej. Agosto")
    percent = models.PositiveSmallIntegerField(
        "porcentaje", validators=[MinValueValidator(1), MaxValueValidator(90)]
    )
    first_on = models.DateField("primer día", null=True, blank=True)
    last_on = models.DateField("último día", null=True, blank=True)
    first_month = models.PositiveSmallIntegerField(
        "desde el mes", choices=MONTHS, null=True, blank=True
    )
    first_day = models.PositiveSmallIntegerField(
        "desde el día", validators=DAY, null=True, blank=True
    )
    last_month = models.PositiveSmallIntegerField(
        "hasta el mes", choices=MONTHS, null=True, blank=True
    )
    last_day = models.PositiveSmallIntegerField(
        "hasta el día", validators=DAY, null=True, blank=True
    )
    active = models.BooleanField("activa", default=True)
    calculator = models.BooleanField("en la calculadora", default=True)
    cart = models.BooleanField("en el carrito y las fichas", default=True)
    banner = models.BooleanField("en el aviso de la portada", default=False)
    prices_include_it = models.BooleanField(
        "los precios ya la incluyen",
        default=False,
        help_text="Sin marcar, la campaña se descuenta del precio. Marcado, no baja ningún precio: "
        "el carrito muestra un precio de lista más alto y la campaña lo devuelve al precio.",
    )

    objects = CampaignQuerySet.as_manager()

    class Meta:
        verbose_name = "campaña"
        verbose_name_plural = "campañas"
        ordering = ("first_on", "first_month", "first_day", "pk")
        constraints = (
            models.CheckConstraint(
                condition=Q(percent__gte=1, percent__lte=90), name="campaign_percent_sane"
            ),
            models.CheckConstraint(
                condition=Q(first_on__isnull=False, last_on__gte=F("first_on"))
                | Q(
                    first_on__isnull=True,
                    last_on__isnull=True,
                    first_month__isnull=False,
                    first_day__isnull=False,
                    last_month__isnull=False,
                    last_day__isnull=False,
                ),
                name="campaign_has_dates",
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.percent} %)"

    def clean(self) -> None:
        if self.percent and not (self.calculator or self.cart or self.banner):
            raise ValidationError("Marca dónde se ofrece: si no, la campaña no hace nada.")
        if self.first_on or self.last_on:
            self._clean_dates()
        else:
            self._clean_days()

    def _clean_dates(self) -> None:
        if self.first_on is None or self.last_on is None:
            raise ValidationError("Faltan el primer o el último día.")
        if self.last_on < self.first_on:
            raise ValidationError({"last_on": "El último día es anterior al primero."})
        if any((self.first_month, self.first_day, self.last_month, self.last_day)):
            raise ValidationError(
                "Elige: o dos fechas, o los días de cada año. Deja vacío lo que no valga."
            )

    def _clean_days(self) -> None:
        for name in ("first", "last"):
            month, day = getattr(self, f"{name}_month"), getattr(self, f"{name}_day")
            if not month or not day:
                raise ValidationError("Faltan las fechas: un primer y un último día.")
            # 29 February exists in some years only; in others the 28th counts.
            if day > monthrange(LEAP_YEAR, month)[1]:
                shown = f"{day} de {dict(MONTHS)[month]}" if month in dict(MONTHS) else ""
                raise ValidationError({f"{name}_day": f"El {shown} no existe."})

    def runs_on(self, day: date) -> bool:
        if self.first_on and self.last_on:
            return self.first_on <= day <= self.last_on
        first, last = self._days()
        now = (day.month, day.day)
        # The campaign runs across New Year.
        return first <= now <= last if first <= last else now >= first or now <= last

    def ends_on(self, day: date) -> date:
        """Return the last day of the run that includes `day`."""
        if self.last_on:
            return self.last_on
        _, (month, last_day) = self._days()
        year = day.year + ((month, last_day) < (day.month, day.day))
        return date(year, month, min(last_day, monthrange(year, month)[1]))

    def span(self) -> str:
        """Return "del 20/11/2026 al 30/11/2026", or "cada año, del 1 de agosto al …"."""
        if self.first_on and self.last_on:
            return f"del {self.first_on:%d/%m/%Y} al {self.last_on:%d/%m/%Y}"
        (first_month, first_day), (last_month, last_day) = self._days()
        months = dict(MONTHS)
        return (
            f"cada año, del {first_day} de {months[first_month]} "
            f"al {last_day} de {months[last_month]}"
        )

    def _days(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The first and the last (month, day) of a campaign that returns every year."""
        return (
            (self.first_month or 1, self.first_day or 1),
            (self.last_month or 1, self.last_day or 1),
        )

    def terms(self, day: date) -> CampaignTerms:
        return CampaignTerms(
            name=self.name,
            percent=self.percent,
            calculator=self.calculator,
            cart=self.cart,
            prices_include_it=self.prices_include_it,
            ends_on=self.ends_on(day),
        )


class PromoBatchQuerySet(models.QuerySet["PromoBatch"]):
    def with_figures(self) -> Self:
        """Annotate `codes_count`, `uses` (paid orders) and `sold` (their totals, in euros)."""
        return self.annotate(
            codes_count=_figure(
                PromoCode.objects.filter(batch=OuterRef("pk")), "batch", Count("pk")
            ),
            uses=_figure(_used_by(batch=OuterRef("pk")), "batch", Count("promo_uses")),
            sold=_figure(
                _used_by(batch=OuterRef("pk")), "batch", Sum("promo_uses__order__total_amount")
            ),
        )


class PromoBatch(models.Model):
    """Promo codes that were made at once, by a pattern and with the same terms."""

    name = models.CharField("nombre", max_length=80, help_text="p. ej. Feria de Sevilla 2026")
    pattern = models.CharField("patrón", max_length=40)
    created_at = models.DateTimeField("creada", auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, editable=False, verbose_name="quién"
    )

    objects = PromoBatchQuerySet.as_manager()

    class Meta:
        verbose_name = "tanda de códigos"
        verbose_name_plural = "tandas de códigos"
        ordering = ("-created_at", "-pk")
        permissions = (("export_promobatch", "Puede descargar tandas de códigos"),)

    def __str__(self) -> str:
        return self.name


class PromoCodeQuerySet(models.QuerySet["PromoCode"]):
    def with_code(self, code: str) -> Self:
        return self.filter(code=code.strip().upper())

    def with_figures(self) -> Self:
        """Annotate `sold`: the totals in euros of the paid orders that used the code."""
        used = _used_by(pk=OuterRef("pk"))
        return self.annotate(sold=_figure(used, "pk", Sum("promo_uses__order__total_amount")))


def _used_by(**codes: Any) -> models.QuerySet["PromoCode"]:
    """The codes with a use by a paid order. The relation belongs to the app of orders."""
    return PromoCode.objects.filter(**codes, promo_uses__status="used")


def _figure(codes: models.QuerySet["PromoCode"], group: str, figure: Any) -> Subquery:
    """A figure over codes, as a subquery that gives None for no codes."""
    return Subquery(codes.order_by().values(group).annotate(figure=figure).values("figure"))


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
    batch = models.ForeignKey(
        PromoBatch,
        models.PROTECT,
        null=True,
        blank=True,
        editable=False,
        related_name="codes",
        verbose_name="tanda",
    )
    created_at = models.DateTimeField("creado", auto_now_add=True)
    # Reserved and used uses, counted under the row's lock. The check constraint below refuses a use
    # above the limit even if the code is wrong.
    uses_taken = models.PositiveIntegerField("usos", default=0, editable=False)

    objects = PromoCodeQuerySet.as_manager()

    class Meta:
        verbose_name = "código promocional"
        verbose_name_plural = "códigos promocionales"
        ordering = ("-created_at", "-pk")
        indexes = (models.Index(fields=("-created_at", "-id"), name="promo_code_by_moment"),)
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
