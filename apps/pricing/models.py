from calendar import monthrange
from collections import defaultdict
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple, Self

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Count, F, OuterRef, Q, Subquery, Sum
from django.utils.functional import cached_property

from apps.catalogue.models import Degree, Subject, University
from apps.core.dates import today
from apps.core.money import CENTS_PER_EURO, to_cents, to_euros
from apps.pricing.rules import CampaignTerms, PromoTerms
from apps.pricing.sale_terms import SaleTerms
from apps.students.models import Student

MONTHS = [
    (1, "enero"), (2, "febrero"), (3, "marzo"), (4, "abril"), (5, "mayo"), (6, "junio"),
    (7, "julio"), (8, "agosto"), (9, "septiembre"), (10, "octubre"), (11, "noviembre"),
    (12, "diciembre"),
]  # fmt: skip
LEAP_YEAR = 2028
# Active and not over. Pages read the degrees of each that runs.
MOST_CAMPAIGNS = 20
# The universities that a campaign may choose, and the degrees. Pages name the first of them.
MOST_CHOSEN = 50
MOST_NAMED = 10
DAY = [MinValueValidator(1), MaxValueValidator(31)]


class CampaignQuerySet(models.QuerySet["Campaign"]):
    def running(self, now: datetime) -> "list[Campaign]":
        """The active campaigns that run at this moment in Madrid, the largest percentage first."""
        running = with_scopes(one for one in self.filter(active=True) if one.runs_at(now))
        # Of equal ones that for some degrees comes first, as in the browser.
        return sorted(running, key=lambda one: (-one.percent, one.degree_ids is None, one.pk))

    def in_force(self, now: datetime) -> CampaignTerms | None:
        """The terms of the largest campaign that runs at this moment, or None."""
        return next((campaign.terms(now.date()) for campaign in self.running(now)), None)


class Scope(NamedTuple):
    """For which degrees a campaign is, and how pages say it."""

    # None: for all.
    degree_ids: frozenset[int] | None = None
    # "UNED y ADE (UOC)"; empty if it is for all.
    audience: str = ""


def with_scopes(campaigns: "Iterable[Campaign]") -> "list[Campaign]":
    """Read the scopes of these stored campaigns, in three queries for all of them.

    The queries read values instead of rows: there may be thousands of degrees.
    """
    rows = list(campaigns)
    universities = _chosen(Campaign.universities, "university", rows, "acronym")
    degrees = _chosen(Campaign.degrees, "degree", rows, "name", "university__acronym")
    named = {number for chosen in universities.values() for number, _ in chosen}
    below = defaultdict[int, list[int]](list)
    for university, degree in Degree.objects.filter(university__in=named).values_list(
        "university_id", "pk"
    ):
        below[university].append(degree)
    for row in rows:
        ids = {number for number, *_ in degrees[row.pk]}
        ids.update(*(below[number] for number, _ in universities[row.pk]))
        names = [acronym for _, acronym in universities[row.pk]]
        names += [f"{name} ({acronym})" for _, name, acronym in degrees[row.pk]]
        row.scope = Scope(frozenset(ids), _in_words(names)) if names else Scope()
    return rows


def _chosen(
    links: Any, name: str, campaigns: "list[Campaign]", *columns: str
) -> defaultdict[int, list[Any]]:
    """The rows that campaigns have chosen, by campaign: each its number and these columns."""
    rows = links.through.objects.filter(campaign__in=campaigns).order_by(name)
    chosen = defaultdict[int, list[Any]](list)
    for campaign, *values in rows.values_list(
        "campaign_id", f"{name}_id", *(f"{name}__{column}" for column in columns)
    ):
        chosen[campaign].append(values)
    return chosen


def _in_words(names: list[str]) -> str:
    if len(names) > MOST_NAMED + 1:
        names = [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} más"]
    *first, last = names
    return f"{', '.join(first)} y {last}" if first else last


class Campaign(models.Model):
    """A discount that runs once between two dates, or every year between two days.

    It begins on the first day at `first_hour`, and ends on the last at `last_hour`. Without
    universities and degrees it is for all subjects.
    """

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
    # Full hours: an answer of the page cache is never kept past one.
    first_hour = models.PositiveSmallIntegerField(
        "desde las (hora)",
        default=0,
        db_default=0,
        validators=[MaxValueValidator(23)],
        help_text="Del primer día. 0 es la medianoche con la que empieza.",
    )
    last_hour = models.PositiveSmallIntegerField(
        "hasta las (hora)",
        default=24,
        db_default=24,
        validators=[MinValueValidator(1), MaxValueValidator(24)],
        help_text="Del último día. 24 es la medianoche con la que acaba.",
    )
    universities = models.ManyToManyField(
        University, blank=True, related_name="campaigns", verbose_name="universidades"
    )
    degrees = models.ManyToManyField(
        Degree, blank=True, related_name="campaigns", verbose_name="grados"
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
        if self._is_of_one_day and self.last_hour <= self.first_hour:
            raise ValidationError({"last_hour": "Acaba antes de empezar: es el mismo día."})
        self._clean_number()

    @property
    def lowers_prices(self) -> bool:
        """Whether anybody pays less because of it: the prices do not include it everywhere."""
        return self.calculator or (self.cart and not self.prices_include_it)

    @property
    def _is_of_one_day(self) -> bool:
        if self.first_on:
            return self.first_on == self.last_on
        first, last = self._days()
        return first == last

    def _clean_number(self) -> None:
        others = Campaign.objects.filter(active=True).exclude(pk=self.pk)
        if self.active and others.exclude(last_on__lt=today()).count() >= MOST_CAMPAIGNS:
            raise ValidationError(
                f"Ya hay {MOST_CAMPAIGNS} campañas activas: desactiva antes la que ya no valga."
            )

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

    def runs_at(self, now: datetime) -> bool:
        """Whether the campaign runs at this moment, which is in Madrid's time."""
        day = now.date()
        if self.first_on and self.last_on:
            return (self.first_on, self.first_hour) <= (day, now.hour) and (day, now.hour) < (
                self.last_on,
                self.last_hour,
            )
        first, last = self._days()
        begin, end = (*first, self.first_hour), (*last, self.last_hour)
        moment = (now.month, now.day, now.hour)
        # The campaign runs across New Year.
        return begin <= moment < end if begin < end else moment >= begin or moment < end

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
            return (
                f"del {self.first_on:%d/%m/%Y}{self._hour(self.first_hour, 0)} "
                f"al {self.last_on:%d/%m/%Y}{self._hour(self.last_hour, 24)}"
            )
        (first_month, first_day), (last_month, last_day) = self._days()
        months = dict(MONTHS)
        return (
            f"cada año, del {first_day} de {months[first_month]}{self._hour(self.first_hour, 0)} "
            f"al {last_day} de {months[last_month]}{self._hour(self.last_hour, 24)}"
        )

    @staticmethod
    def _hour(hour: int, usual: int) -> str:
        return "" if hour == usual else f" a las {hour}:00"

    def _days(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The first and the last (month, day) of a campaign that returns every year."""
        return (
            (self.first_month or 1, self.first_day or 1),
            (self.last_month or 1, self.last_day or 1),
        )

    @property
    def only_in_calculator(self) -> bool:
        return self.terms(today()).only_in_calculator

    def terms(self, day: date) -> CampaignTerms:
        return CampaignTerms(
            name=self.name,
            percent=self.percent,
            calculator=self.calculator,
            cart=self.cart,
            prices_include_it=self.prices_include_it,
            ends_on=self.ends_on(day),
            ends_hour=self.last_hour,
            degree_ids=self.degree_ids,
            audience=self.audience,
        )

    @cached_property
    def scope(self) -> Scope:
        """The scope as it was when this object first read it."""
        return Scope() if self.pk is None else with_scopes([self])[0].scope

    @property
    def degree_ids(self) -> frozenset[int] | None:
        return self.scope.degree_ids

    @property
    def audience(self) -> str:
        return self.scope.audience


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

    def used_up(self) -> Self:
        """The codes of which paid orders have all uses. A cart only reserves its use for a time."""
        used = _figure(_used_by(pk=OuterRef("pk")), "pk", Count("promo_uses"))
        return self.alias(used=used).filter(used__gte=F("max_uses"))

    def uses_of(self, pk: Any) -> int:
        """How many paid orders have used this code; 0 for a code that is not stored yet."""
        return _used_by(pk=pk).count()


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
    # What a percentage takes off one order at most: what a use of it counts towards the limit of
    # the member of staff who offers it. None if they have no limit.
    maximum_discount = models.DecimalField(
        "descuento máximo por pedido (€)",
        max_digits=8,
        decimal_places=2,
        null=True,
        blank=True,
        editable=False,
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
    # Whether it was switched off with its batch: then it can be switched on again with it.
    off_with_batch = models.BooleanField(default=False, db_default=False, editable=False)
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
            is_friend_code=self.is_referral_code,
            most_cents=None if self.maximum_discount is None else to_cents(self.maximum_discount),
        )


# Stripe takes no card payment below 0.50 EUR.
SMALLEST_INSTALMENT_CENTS = 50
REMINDER_HOURS = (1, 720)  # A cart lives for 30 days.
MOST_REMINDERS = 5
VOLUME_STEPS = (2, 3, 4, 5, 6)
_NEW_SHOP = SaleTerms()


def _amount(label: str, cents: int, most: int, *, least: int = 1, help_text: str = "") -> Any:
    """A column of euros; the highest and lowest value are in whole euros."""
    return models.DecimalField(
        label,
        max_digits=7,
        decimal_places=2,
        default=to_euros(cents),
        validators=[MinValueValidator(least), MaxValueValidator(most)],
        help_text=help_text,
    )


def _number(
    label: str, default: int, least: int, most: int, *, help_text: str = "", **more: Any
) -> Any:
    return models.PositiveSmallIntegerField(
        label,
        default=default,
        validators=[MinValueValidator(least), MaxValueValidator(most)],
        help_text=help_text,
        **more,
    )


def _step(subjects: int) -> Any:
    label = f"{subjects}{' o más' if subjects == VOLUME_STEPS[-1] else ''} asignaturas (€)"
    return _amount(label, _NEW_SHOP.volume_discount_cents(subjects), 1_000, least=0)


def check_reminder_hours(text: str) -> None:
    """Model validator of hours such as "24, 72"."""
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if not all(part.isascii() and part.isdigit() and len(part) < 4 for part in parts):
        raise ValidationError("Escribe horas separadas por comas: 24, 72.")
    hours = [int(part) for part in parts]
    lowest, highest = REMINDER_HOURS
    if not all(lowest <= hour <= highest for hour in hours):
        raise ValidationError(f"Solo valen horas de {lowest} a {highest}.")
    if hours != sorted(set(hours)) or len(hours) > MOST_REMINDERS:
        raise ValidationError(f"Escribe hasta {MOST_REMINDERS} horas, de menor a mayor.")


class TermsQuerySet(models.QuerySet["Terms"]):
    def in_force(self) -> "Terms | None":
        """The newest row. A shop whose terms nobody has changed has none."""
        return self.order_by("-pk").first()

    def in_force_at(self, moment: datetime) -> "Terms | None":
        """The row that was the newest at that moment."""
        return self.filter(changed_at__lte=moment).in_force()


class Terms(models.Model):
    """The terms of sale. Each change is a new row, and the newest is in force.

    Orders, quotes, plans and codes keep what they were sold with or promised: none of them refers
    to a row. A shop without a row sells on the terms of a new shop (`SaleTerms`).
    """

    changed_at = models.DateTimeField("cambiadas", auto_now_add=True)
    changed_by = models.CharField("por", max_length=150, editable=False)
    changes = models.TextField("qué cambió", editable=False, db_default="", default="")
    volume_2 = _step(2)
    volume_3 = _step(3)
    volume_4 = _step(4)
    volume_5 = _step(5)
    volume_6 = _step(6)
    full_payment_percent = _number(
        "descuento por pago completo (%)", _NEW_SHOP.full_payment_percent, 1, 50
    )
    unit_base_price = _amount(
        "precio de ejemplo de una asignatura (€)",
        _NEW_SHOP.unit_base_price_cents,
        2_000,
        help_text="Con el que calcula la calculadora mientras no se eligen asignaturas.",
    )
    invited = _amount(
        "descuento del amigo invitado (€)",
        _NEW_SHOP.invited_cents,
        200,
        help_text="Vale para los códigos de amigo que se creen desde ahora.",
    )
    invitee = _amount(
        "descuento por cada amigo que invitas, en la calculadora (€)",
        _NEW_SHOP.invitee_cents,
        200,
    )
    invitee_max = _number(
        "amigos que cuentan en la calculadora, como mucho", _NEW_SHOP.invitee_max, 1, 20
    )
    reward_full_payment = _amount(
        "recompensa si el amigo paga de una vez (€)", _NEW_SHOP.reward_full_payment_cents, 200
    )
    reward_instalments = _amount(
        "recompensa si paga a plazos (€)", _NEW_SHOP.reward_instalments_cents, 200
    )
    instalment_count = _number("número de plazos", _NEW_SHOP.instalment_count, 2, 12)
    instalment_every_days = _number(
        "días entre un plazo y el siguiente", _NEW_SHOP.instalment_every_days, 1, 90
    )
    instalment_minimum_total = _amount(
        "total mínimo para pagar a plazos (€)", _NEW_SHOP.instalment_minimum_total_cents, 1_000
    )
    discount_code_percent = _number(
        "descuento del código personal (%)",
        _NEW_SHOP.discount_code_percent,
        1,
        50,
        help_text="El que envía el formulario de descuentos.",
    )
    discount_code_days = _number(
        "días que vale el código personal", _NEW_SHOP.discount_code_days, 1, 365
    )
    quote_days = _number("días que vale un presupuesto", _NEW_SHOP.quote_days, 1, 60)
    renewal_percent = _number(
        "precio de renovar el acceso (% del precio del día)",
        _NEW_SHOP.renewal_percent,
        0,
        100,
        help_text="Desde 14 días antes de que termine, con un enlace por correo. 0: no se ofrece.",
        db_default=_NEW_SHOP.renewal_percent,
    )
    lesson_credit = models.BooleanField(
        "descontar las lecciones pagadas al comprar la asignatura entera",
        default=_NEW_SHOP.lesson_credit,
        db_default=_NEW_SHOP.lesson_credit,
        help_text="Para quien ha iniciado sesión y aún tiene acceso a esas lecciones.",
    )
    reminder_hours = models.CharField(
        "horas de los avisos de compra a medias",
        max_length=40,
        blank=True,
        default=", ".join(map(str, _NEW_SHOP.reminder_hours)),
        validators=[check_reminder_hours],
        help_text="Desde el último cambio del carrito, separadas por comas. Vacío: ningún aviso.",
    )

    objects = TermsQuerySet.as_manager()

    class Meta:
        verbose_name = verbose_name_plural = "condiciones de venta"
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(
                condition=Q(full_payment_percent__gte=1, full_payment_percent__lte=50)
                & Q(discount_code_percent__gte=1, discount_code_percent__lte=50),
                name="terms_percent_sane",
            ),
            models.CheckConstraint(
                condition=Q(instalment_count__gte=2, instalment_count__lte=12)
                & Q(instalment_every_days__gte=1, instalment_every_days__lte=90),
                name="terms_plan_sane",
            ),
        )

    def __str__(self) -> str:
        if self.pk is None:
            return "Condiciones de venta"
        return f"Condiciones de venta n.º {self.pk}"

    def clean(self) -> None:
        steps = [getattr(self, f"volume_{subjects}") for subjects in VOLUME_STEPS]
        if None not in steps and steps != sorted(steps):
            raise ValidationError("El descuento por volumen no puede bajar con más asignaturas.")
        total, count = self.instalment_minimum_total, self.instalment_count
        if total and count and to_cents(total) // count < SMALLEST_INSTALMENT_CENTS:
            least = -(-count * SMALLEST_INSTALMENT_CENTS // CENTS_PER_EURO)
            raise ValidationError(
                {
                    "instalment_minimum_total": f"Con {count} plazos tiene que ser de al menos "
                    f"{least} €: no se pueden cobrar plazos de menos de 0,50 €."
                }
            )

    def changes_from(self, earlier: "Terms") -> str:
        """The numbers that differ from earlier terms, such as "número de plazos: 3 → 2"."""
        lines = []
        for field in self._meta.concrete_fields:
            old, new = getattr(earlier, field.name), getattr(self, field.name)
            if field.editable and not field.primary_key and old != new:
                lines.append(f"{field.verbose_name}: {_shown(old)} → {_shown(new)}")
        return "\n".join(lines)

    def values(self) -> SaleTerms:
        """The numbers, as the price rules and texts take them."""
        volume = ((step, to_cents(getattr(self, f"volume_{step}"))) for step in VOLUME_STEPS)
        return SaleTerms(
            volume=tuple((step, cents) for step, cents in volume if cents),
            full_payment_percent=self.full_payment_percent,
            unit_base_price_cents=to_cents(self.unit_base_price),
            invited_cents=to_cents(self.invited),
            invitee_cents=to_cents(self.invitee),
            invitee_max=self.invitee_max,
            reward_full_payment_cents=to_cents(self.reward_full_payment),
            reward_instalments_cents=to_cents(self.reward_instalments),
            instalment_count=self.instalment_count,
            instalment_every_days=self.instalment_every_days,
            instalment_minimum_total_cents=to_cents(self.instalment_minimum_total),
            discount_code_percent=self.discount_code_percent,
            discount_code_days=self.discount_code_days,
            quote_days=self.quote_days,
            renewal_percent=self.renewal_percent,
            lesson_credit=self.lesson_credit,
            reminder_hours=hours_of(self.reminder_hours),
        )


def _shown(value: object) -> str:
    """A number as staff type it: "16,50". An empty text is "ninguno"."""
    if isinstance(value, Decimal):
        return f"{value:.2f}".replace(".", ",")
    return str(value) or "ninguno"


def hours_of(text: str) -> tuple[int, ...]:
    """The hours of a text such as "24, 72"."""
    return tuple(int(part) for part in text.split(",") if part.strip())
