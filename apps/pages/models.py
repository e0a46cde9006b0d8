"""Content of the public pages that staff edit."""

import re
from dataclasses import dataclass
from typing import Self

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models

from apps.catalogue.addresses import teacher_path
from apps.catalogue.models import Degree, Lesson, Subject
from apps.core.few_rows import FewRows
from apps.core.models import VIMEO
from apps.core.money import to_cents
from apps.core.public_pictures import HasPicture, PictureField
from apps.pages.opinions.models import Opinion

__all__ = (
    "Faq",
    "Institution",
    "LessonSample",
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


# Each is a part of one page, and some staff may add them.
MOST_ROWS = FewRows.most_rows


class Positioned(FewRows):
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
    """A teacher on /nosotros, with a page of their own. Without a photo it shows the initials."""

    name = models.CharField("nombre", max_length=80)
    degree = models.CharField("titulación", max_length=80)
    biography = models.TextField(
        "quién es",
        max_length=2000,
        blank=True,
        default="",
        db_default="",
        help_text="Se lee en su página. Una línea en blanco separa los párrafos.",
    )
    photo = PictureField("foto", blank=True, upload_to="equipo", box=(96, 96), crop=True)
    degrees = models.ManyToManyField(
        Degree,
        blank=True,
        related_name="+",
        verbose_name="grados que prepara",
        help_text="Sale en las páginas de sus asignaturas que no tengan un profesor propio.",
    )
    subjects = models.ManyToManyField(
        Subject,
        blank=True,
        related_name="teachers",
        verbose_name="asignaturas que prepara",
        help_text="Solo las que prepara en persona: en ellas sale en vez de los de su grado.",
    )

    class Meta(Sampled.Meta):
        verbose_name = "profesor"
        verbose_name_plural = "profesores"

    def __str__(self) -> str:
        return self.name

    @property
    def page_path(self) -> str:
        return teacher_path(self.pk, self.name)

    @property
    def initials(self) -> str:
        """Return "LM" for "Lucía Martín"."""
        return "".join(word[0] for word in self.name.split()[:2]).upper()


QUESTIONS = 3
HOW_TO_ASK = (
    "Cada pregunta empieza una línea; debajo, sus respuestas, una por línea: «+» la buena, «-» las "
    "demás. Una línea con «=» explica por qué. Una línea en blanco separa las preguntas."
)


@dataclass(frozen=True)
class TestQuestion:
    """A question, its answers, the position of the right one from 0, and why it is right."""

    text: str
    answers: tuple[str, ...]
    right: int
    why: str

    @property
    def right_answer(self) -> str:
        return self.answers[self.right]


def read_test(text: str) -> list[TestQuestion]:
    """Read the questions that staff wrote (HOW_TO_ASK). Raises ValidationError in Spanish."""
    blocks = [block for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip()) if block]
    return [_read_question(block, number) for number, block in enumerate(blocks, start=1)]


def _read_question(block: str, number: int) -> TestQuestion:
    asked, *lines = (line.strip() for line in block.strip().splitlines())
    answers = [line for line in lines if line[:1] in "+-"]
    right = [place for place, line in enumerate(answers) if line.startswith("+")]
    others = [line for line in lines if line[:1] not in "+-="]
    if asked[:1] in "+-=" or others or len(answers) < 2 or len(right) != 1:
        raise ValidationError(f"La pregunta {number} no se entiende. {HOW_TO_ASK}")
    return TestQuestion(
        asked,
        tuple(line[1:].strip() for line in answers),
        right[0],
        " ".join(line[1:].strip() for line in lines if line.startswith("=")),
    )


def check_test(text: str) -> None:
    if len(read_test(text)) != QUESTIONS:
        raise ValidationError(f"Escribe {QUESTIONS} preguntas. {HOW_TO_ASK}")


class LessonSample(models.Model):
    """What everybody sees of a lesson before buying, on the page of its subject."""

    lesson = models.OneToOneField(
        Lesson, models.CASCADE, related_name="sample", verbose_name="lección"
    )
    video_url = models.URLField(
        "vídeo",
        blank=True,
        validators=[VIMEO],
        help_text="La dirección en Vimeo. Vacío: sin vídeo.",
    )
    first_page = models.TextField(
        "primera página del documento resuelto",
        max_length=6000,
        help_text="Como se lee en el documento. Una línea en blanco separa los párrafos.",
    )
    test = models.TextField(
        "tres preguntas de su test", max_length=4000, validators=[check_test], help_text=HOW_TO_ASK
    )

    class Meta:
        verbose_name = "lección de muestra"
        verbose_name_plural = "lecciones de muestra"

    def __str__(self) -> str:
        return f"Muestra: {self.lesson.subject}, {self.lesson}"

    def questions(self) -> list[TestQuestion]:
        return read_test(self.test)


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
