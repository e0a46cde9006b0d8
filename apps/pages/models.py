"""Content of the public pages that staff edit."""

from typing import Self

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models

from apps.catalogue.models import Degree
from apps.core.money import to_cents
from apps.core.public_pictures import HasPicture, PictureField
from apps.pages.opinions.models import Opinion

__all__ = (
    "Faq",
    "Institution",
    "Opinion",
    "PricePlan",
    "Redirect",
    "Sampled",
    "TeamMember",
    "Testimonial",
)
from apps.pages.answer_placeholders import check_placeholders


class ShownQuerySet(models.QuerySet[models.Model]):
    def shown(self) -> Self:
        """All rows; without DEBUG the samples are left out."""
        return self if settings.DEBUG else self.filter(is_sample=False)


class Positioned(models.Model):
    """A row that staff order on its page by a number."""

    position = models.PositiveSmallIntegerField("orden", default=0)

    class Meta:
        abstract = True
        ordering = ("position", "pk")


class Sampled(Positioned):
    is_sample = models.BooleanField("ejemplo", default=False, editable=False)

    objects = ShownQuerySet.as_manager()

    class Meta(Positioned.Meta):
        abstract = True


class Testimonial(HasPicture, Sampled):
    """An opinion on the home page. Without a photo the page shows the initial."""

    text = models.TextField("texto")
    name = models.CharField("nombre", max_length=80)
    degree = models.CharField("carrera", max_length=80)
    photo = PictureField(
        "foto", blank=True, upload_to="opiniones", box=(44, 44), crop=True, db_default=""
    )

    class Meta(Sampled.Meta):
        verbose_name = "opinión"
        verbose_name_plural = "opiniones"

    def __str__(self) -> str:
        return self.name

    @property
    def initial(self) -> str:
        return self.name[:1].upper()


class TeamMember(HasPicture, Sampled):
    """A teacher on /nosotros. Without a photo the page shows the initials."""

    name = models.CharField("nombre", max_length=80)
    degree = models.CharField("titulación", max_length=80)
    photo = PictureField("foto", blank=True, upload_to="equipo", box=(96, 96), crop=True)
    degrees = models.ManyToManyField(
        Degree,
        blank=True,
        related_name="+",
        verbose_name="grados que prepara",
        help_text="Sale en las páginas de sus asignaturas.",
    )

    class Meta(Sampled.Meta):
        verbose_name = "profesor"
        verbose_name_plural = "profesores"

    def __str__(self) -> str:
        return self.name

    @property
    def initials(self) -> str:
        """Return "LM" for "Lucía Martín"."""
        return "".join(word[0] for word in self.name.split()[:2]).upper()


class Institution(HasPicture, Sampled):
    """An institution where students work, for the logos on the home page."""

    name = models.CharField("nombre", max_length=80)
    logo = PictureField(
        "logotipo",
        blank=True,
        upload_to="instituciones",
        box=(240, 64),
        help_text="Sin logotipo se muestra el nombre.",
    )
    width = models.PositiveSmallIntegerField("anchura (px)", default=160)
    height = models.PositiveSmallIntegerField("altura (px)", default=48)

    class Meta(Sampled.Meta):
        verbose_name = "institución"
        verbose_name_plural = "instituciones donde trabajan los alumnos"

    def __str__(self) -> str:
        return self.name


class Faq(Positioned):
    question = models.CharField("pregunta", max_length=160)
    answer = models.TextField(
        "respuesta",
        validators=[check_placeholders],
        help_text="Una línea en blanco separa los párrafos. Los huecos {{ degrees }}, "
        "{{ degrees_count }}, {{ teachers }}, {{ open_universities }}, {{ coming_universities }}, "
        "{{ payment_methods }}, {{ payments_by_request }}, {{ other_payments }} y "
        "{{ support_email }} se rellenan solos; y con las condiciones de venta, {{ instalments }}, "
        "{{ instalments_in_words }}, {{ instalment_days }}, "
        "{{ later_instalments }}, {{ instalment_minimum }}, {{ full_payment_percent }}, "
        "{{ friend_saves }}, {{ reward_full }}, {{ reward_instalments }}, {{ code_percent }}, "
        "{{ code_days }} y {{ quote_days }}.",
    )

    class Meta(Positioned.Meta):
        verbose_name = "pregunta frecuente"
        verbose_name_plural = "preguntas frecuentes"

    def __str__(self) -> str:
        return self.question


class PricePlan(Positioned):
    """The card of a price plan: its price per PEC, and what it includes and excludes."""

    name = models.CharField("nombre", max_length=60)
    price = models.DecimalField(
        "precio por PEC (€)", max_digits=8, decimal_places=2, validators=[MinValueValidator(0)]
    )
    price_from = models.BooleanField("el precio es «desde»", default=False)
    recommended = models.BooleanField("recomendado", default=False)
    note = models.CharField(
        "nota",
        max_length=120,
        blank=True,
        validators=[check_placeholders],
        help_text="Los huecos, como {{ instalments }}, son los de las preguntas frecuentes.",
    )
    included = models.TextField(
        "incluye", validators=[check_placeholders], help_text="Una cosa por línea."
    )
    excluded = models.TextField(
        "no incluye", blank=True, validators=[check_placeholders], help_text="Una cosa por línea."
    )

    class Meta(Positioned.Meta):
        verbose_name = "plan"
        verbose_name_plural = "planes"

    def __str__(self) -> str:
        return self.name

    @property
    def price_cents(self) -> int:
        return to_cents(self.price)

    @property
    def includes(self) -> list[str]:
        return self.included.splitlines()

    @property
    def excludes(self) -> list[str]:
        return self.excluded.splitlines()


class Redirect(models.Model):
    """A path of an earlier site, and the path that it redirects to (301)."""

    old_path = models.CharField(
        "dirección antigua",
        max_length=200,
        unique=True,
        validators=[
            RegexValidator(
                r"^/[^?#\s]*[^/?#\s]$", "Empieza por «/» y no lleva «?» ni una barra al final."
            )
        ],
        help_text="p. ej. /tarifas. Solo cuenta donde el sitio no tiene ya una página.",
    )
    # Only one leading slash: "//host" would redirect to another site.
    target = models.CharField(
        "lleva a",
        max_length=200,
        validators=[RegexValidator(r"^/(?!/)\S*$", "Una dirección de este sitio: /precios.")],
    )

    class Meta:
        verbose_name = "redirección"
        verbose_name_plural = "redirecciones"
        ordering = ("old_path",)

    def __str__(self) -> str:
        return f"{self.old_path} → {self.target}"

    def clean(self) -> None:
        if self.old_path == self.target.partition("#")[0].partition("?")[0]:
            raise ValidationError({"target": "Una dirección no puede llevar a sí misma."})
