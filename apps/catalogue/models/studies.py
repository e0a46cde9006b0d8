"""Universities, degrees and subjects."""

import re
from datetime import date
from decimal import Decimal
from typing import Any, Self

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Max, Min, Q
from django.db.models.functions import Greatest

from apps.catalogue import addresses, lookups  # noqa: F401  (registers __includes)
from apps.catalogue.place_limits import least_price
from apps.catalogue.recorded import Named, RecordedQuerySet
from apps.catalogue.text import search_form
from apps.catalogue.vat import Vat, may_change_vat
from apps.core.dates import today
from apps.core.few_rows import FewRows
from apps.core.money import format_euros, to_cents
from apps.core.public_pictures import HasPicture, PictureField


class HasLogo(HasPicture):
    logo = PictureField(
        "logotipo",
        blank=True,
        upload_to="universidades",
        box=(160, 40),
        db_default="",
        help_text="Sin logotipo se muestran las siglas y el nombre.",
    )
    # An address from before logos were uploaded. It is used until a logo is uploaded.
    logo_url = models.CharField(max_length=300, blank=True, editable=False, db_default="")

    class Meta:
        abstract = True

    @property
    def logo_address(self) -> str:
        return str(self.logo.url) if self.logo else self.logo_url


PRICE: dict[str, Any] = {"max_digits": 8, "decimal_places": 2}
# A larger one and the counted students together would exceed the column of the sum.
OFFSET = (MinValueValidator(-1_000_000), MaxValueValidator(1_000_000))


class UniversityQuerySet(RecordedQuerySet["University"]):
    def by_name(self) -> Self:
        return self.order_by("name_sort", "pk")

    def shown(self) -> Self:
        """All universities; without DEBUG the samples are left out."""
        return self if settings.DEBUG else self.filter(is_sample=False)

    def open_first(self) -> Self:
        """Open universities first, then those coming soon, each group by name."""
        return self.order_by("-status", "name_sort", "pk")

    def open(self) -> Self:
        return self.shown().filter(status=University.Status.OPEN)


class University(HasLogo, FewRows, Named):
    class Status(models.TextChoices):
        OPEN = "open", "Abierta"
        COMING_SOON = "coming_soon", "Próximamente"

    most_rows = 500
    acronym = models.CharField("siglas", max_length=20)
    status = models.CharField(
        "estado", max_length=12, choices=Status.choices, default=Status.COMING_SOON
    )
    # Computed counts (`services`). Staff add an offset for students before this site existed.
    degrees_count = models.PositiveIntegerField("grados", default=0, editable=False)
    subjects_count = models.PositiveIntegerField("asignaturas", default=0, editable=False)
    students_counted = models.PositiveIntegerField(default=0, editable=False)
    students_offset = models.IntegerField("alumnos anteriores", default=0, validators=OFFSET)
    is_sample = models.BooleanField("ejemplo", default=False, editable=False)

    objects = UniversityQuerySet.as_manager()

    class Meta:
        verbose_name = "universidad"
        verbose_name_plural = "universidades"
        ordering = ("name_sort", "pk")
        constraints = (
            models.UniqueConstraint(fields=("acronym",), name="university_acronym_once"),
        )

    @property
    def coming_soon(self) -> bool:
        return self.status == self.Status.COMING_SOON

    @property
    def students(self) -> int:
        return max(0, self.students_counted + self.students_offset)

    @property
    def page_path(self) -> str:
        return addresses.university_path(self.pk, self.acronym)


class DegreeQuerySet(RecordedQuerySet["Degree"]):
    def by_name(self) -> Self:
        return self.order_by("name_sort", "pk")


class Degree(FewRows, Named):
    # The list of subjects, the sitemap and the campaigns name them.
    most_rows = 2_000
    most_below = {"university": 500}
    university = models.ForeignKey(
        University, models.PROTECT, related_name="degrees", verbose_name="universidad"
    )
    acronym = models.CharField("siglas", max_length=20, blank=True)
    number_of_courses = models.PositiveSmallIntegerField(
        "cursos", default=4, validators=[MinValueValidator(1), MaxValueValidator(8)]
    )
    subjects_count = models.PositiveIntegerField("asignaturas", default=0, editable=False)
    students_counted = models.PositiveIntegerField(default=0, editable=False)
    students_offset = models.IntegerField("alumnos anteriores", default=0, validators=OFFSET)

    objects = DegreeQuerySet.as_manager()
    picker_related = ("university",)

    class Meta:
        verbose_name = "grado"
        verbose_name_plural = "grados"
        ordering = ("name_sort", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=("university", "name"), name="degree_once_per_university"
            ),
        )

    @property
    def picker_label(self) -> str:
        """ "Economía, UNED", for whoever chooses degrees."""
        return f"{self}, {self.university.acronym}"

    @property
    def students_count(self) -> int:
        return max(0, self.students_counted + self.students_offset)

    @property
    def page_path(self) -> str:
        return addresses.degree_path(self.pk, self.name, self.university.page_path)


# Orders that visitors choose (docs/rules.md, "Catalogue reads and search").
CATALOGUE_ORDER = ("-enrolled_students_count", "name_sort", "pk")
SORTS = {
    "popularity": CATALOGUE_ORDER,
    "name": ("name_sort", "pk"),
    "price": ("final_price", "name_sort", "pk"),
}


class SubjectQuerySet(RecordedQuerySet["Subject"]):
    def on_sale(self) -> Self:
        """Active subjects with an active lesson, at an open university."""
        return self.findable().filter(university__in=University.objects.open())

    def findable(self) -> Self:
        """Active subjects with an active lesson: the rows of the partial indexes."""
        return self.filter(active=True, active_lessons_count__gt=0)

    def vat_by_degree(self) -> dict[int, str]:
        """The VAT that all these subjects of a degree have, by its id. None of a mixed degree."""
        rows = self.order_by().values_list("degree").annotate(least=Min("vat"), most=Max("vat"))
        return {degree: least for degree, least, most in rows if least == most}

    def vat_of_new(self, degree_id: int) -> str:
        """The VAT of a new subject of this degree: that of all these there, else the usual one."""
        usual: str = self.model._meta.get_field("vat").get_default()
        return self.filter(degree=degree_id).vat_by_degree().get(degree_id, usual)

    def name_contains(self, search: str) -> Self:
        """Subjects whose name contains the text, ignoring accents and capitals."""
        form = search_form(search)
        return self.filter(name_search__includes=form) if form else self

    def most_enrolled_first(self) -> Self:
        """In the order of the catalogue: most enrolled students first, then by name."""
        return self.order_by(*CATALOGUE_ORDER)

    def sorted_by(self, sort: str) -> Self:
        return self.order_by(*SORTS[sort])

    def most_popular_first(self) -> Self:
        """Most paid orders of the last year first, then in the order of the catalogue."""
        return self.order_by("-popularity", *CATALOGUE_ORDER)


def _in_catalogue_order(*filters: str, name: str) -> models.Index:
    """Return a partial index of the findable subjects in the order of the catalogue.

    The included columns let PostgreSQL count, search and page without reading the table. SQLite has
    no included columns and reads its table.
    """
    return models.Index(
        fields=(*filters, "-enrolled_students_count", "name_sort", "id"),
        include=("name_search",) if "university" in filters else ("name_search", "university"),
        condition=Q(active=True, active_lessons_count__gt=0),
        name=name,
    )


def _findable_by(*fields: str, name: str) -> models.Index:
    """Return a partial index of the findable subjects for another order than the catalogue's."""
    return models.Index(
        fields=(*fields, "id"),
        include=() if "university" in fields else ("university",),
        condition=Q(active=True, active_lessons_count__gt=0),
        name=name,
    )


class HasStudyFacts(Named):
    """Facts of the studies that the page of a subject states. It leaves out what is empty."""

    class Semester(models.TextChoices):
        FIRST = "first", "Primer semestre"
        SECOND = "second", "Segundo semestre"
        WHOLE_YEAR = "whole_year", "Anual"

    class Language(models.TextChoices):
        SPANISH = "es", "Español"
        CATALAN = "ca", "Catalán"
        GALICIAN = "gl", "Gallego"
        BASQUE = "eu", "Euskera"
        ENGLISH = "en", "Inglés"
        FRENCH = "fr", "Francés"

    semester = models.CharField(
        "semestre", max_length=10, choices=Semester.choices, blank=True, db_default=""
    )
    code = models.CharField(
        "código en la universidad",
        max_length=20,
        blank=True,
        default="",
        db_default="",
        help_text="El de la guía docente. Con él se encuentra en el buscador.",
    )
    language = models.CharField(
        "idioma", max_length=2, choices=Language.choices, blank=True, default="", db_default=""
    )
    hours = models.PositiveSmallIntegerField(
        "horas de estudio",
        blank=True,
        default=0,
        db_default=0,
        help_text="Las que pide la asignatura completa. 0: no se dice.",
    )
    exam_on = models.DateField("examen", null=True, blank=True)
    resit_on = models.DateField("examen de recuperación", null=True, blank=True)
    questions = models.TextField(
        "lo que preguntan los alumnos",
        max_length=4000,
        blank=True,
        default="",
        db_default="",
        help_text="Cada pregunta en una línea y debajo su respuesta. Una línea en blanco separa "
        "una pregunta de la siguiente.",
    )

    class Meta:
        abstract = True

    def questions_and_answers(self) -> list[tuple[str, str]]:
        """The questions with their answers. One without an answer is left out."""
        blocks = re.split(r"\n\s*\n", self.questions.replace("\r\n", "\n").strip())
        parted = (block.strip().partition("\n") for block in blocks)
        return [(asked.strip(), answer.strip()) for asked, _, answer in parted if answer.strip()]

    def coming_exams(self) -> list[tuple[str, date]]:
        """The days of the subject's exams that are not over, with their names."""
        days = (("Examen", self.exam_on), ("Recuperación", self.resit_on))
        return [(name, day) for name, day in days if day is not None and day >= today()]


class Subject(HasStudyFacts):
    degree = models.ForeignKey(
        Degree, models.PROTECT, related_name="subjects", verbose_name="grado"
    )
    # A copy of the degree's university (`services`). An index can't follow the foreign key, and
    # without one the page of a university would scan the subjects of all universities.
    university = models.ForeignKey(
        University,
        models.PROTECT,
        editable=False,
        related_name="+",
        db_index=False,
        verbose_name="universidad",
    )
    final_price = models.DecimalField(
        "precio final (€)", **PRICE, validators=[MinValueValidator(0)], help_text="IVA incluido"
    )
    vat = models.CharField(
        "IVA",
        max_length=13,
        choices=Vat.choices,
        default=Vat.GENERAL,
        db_default=Vat.GENERAL,
        help_text="El precio es final: el impuesto va dentro. Vale también para sus lecciones. Lo "
        "ya vendido y sus facturas se quedan como están.",
    )
    total_discounts = models.PositiveSmallIntegerField(
        "descuento mostrado (%)", default=0, validators=[MaxValueValidator(90)]
    )
    active = models.BooleanField("a la venta", default=True)
    complete_only = models.BooleanField(
        "solo se vende completa",
        default=False,
        db_default=False,
        help_text="Marcada, sus lecciones no se venden sueltas.",
    )
    videos_count = models.PositiveSmallIntegerField(
        "vídeos",
        blank=True,
        default=0,
        db_default=0,
        help_text="Los que abre la asignatura completa. Se leen en su tarjeta; 0: no se dice.",
    )
    pecs_content = models.TextField(
        "qué cubren sus PECs",
        max_length=3000,
        blank=True,
        db_default="",
        help_text="Se lee en la página de la asignatura. Una línea en blanco separa los párrafos.",
    )
    exam_content = models.TextField(
        "qué cubre su examen",
        max_length=3000,
        blank=True,
        db_default="",
        help_text="Como el anterior.",
    )
    name_search = models.CharField(max_length=200, editable=False, default="")
    active_lessons_count = models.PositiveIntegerField(
        "lecciones activas", default=0, editable=False
    )
    enrolled_counted = models.PositiveIntegerField(default=0, editable=False)
    enrolled_offset = models.IntegerField("matriculados anteriores", default=0, validators=OFFSET)
    # Paid orders of the last year, refreshed by the job `refresh_popularity` (apps/orders/jobs.py).
    popularity = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    enrolled_students_count = models.GeneratedField(
        verbose_name="matriculados",
        expression=Greatest(F("enrolled_counted") + F("enrolled_offset"), 0),
        output_field=models.IntegerField(),
        db_persist=True,
    )

    # Set by `reads` where the price history is required.
    lowest_price: Decimal

    objects = SubjectQuerySet.as_manager()
    price_field = "final_price"
    picker_related = ("degree__university",)
    computed_columns = ("name_sort", "name_search", "university", "code")

    class Meta:
        verbose_name = "asignatura"
        verbose_name_plural = "asignaturas"
        ordering = ("name_sort", "pk")
        permissions = (
            ("export_catalogue", "Puede exportar el catálogo"),
            ("change_vat", "Puede cambiar el IVA"),
        )
        constraints = (
            models.UniqueConstraint(fields=("degree", "name"), name="subject_once_per_degree"),
            models.CheckConstraint(
                condition=Q(final_price__gte=0), name="subject_price_not_negative"
            ),
            models.CheckConstraint(
                condition=Q(total_discounts__lte=90), name="subject_discount_sane"
            ),
        )
        indexes = (
            _in_catalogue_order(name="subject_shown"),
            _in_catalogue_order("university", name="subject_shown_university"),
            _findable_by("university", "name_sort", name="subject_shown_of_uni_by_name"),
            _findable_by("final_price", "name_sort", name="subject_shown_by_price"),
            _findable_by(
                "university", "final_price", "name_sort", name="subject_shown_of_uni_by_price"
            ),
            _findable_by(
                "university",
                "-popularity",
                "-enrolled_students_count",
                "name_sort",
                name="subject_shown_by_popularity",
            ),
            # Searches and suggestions, which look for words in `name_search` in this order.
            models.Index(
                fields=("-popularity", "-enrolled_students_count", "name_sort", "id"),
                include=("name_search", "university", "degree"),
                condition=Q(active=True, active_lessons_count__gt=0),
                name="subject_shown_popular",
            ),
            models.Index(fields=("name_sort", "id"), name="subject_by_name"),
            models.Index(fields=("code",), condition=~Q(code=""), name="subject_by_code"),
            models.Index(fields=("vat",), condition=Q(active=True), name="subject_by_vat"),
            models.Index(fields=("university", "name_sort", "id"), name="subject_by_university"),
        )

    @property
    def studies(self) -> str:
        """The degree and its university: "Economía, UNED"."""
        return self.degree.picker_label

    @property
    def picker_label(self) -> str:
        """ "Estadística · Economía, UNED · 192,00 €", for whoever chooses subjects."""
        return f"{self} · {self.studies} · {format_euros(to_cents(self.final_price))}"

    def compute_columns(self) -> None:
        super().compute_columns()
        self.name_search = search_form(self.name)
        self.code = self.code.strip().upper()
        self.university_id = self.degree.university_id

    def refuses_return(self, by: Any) -> str:
        """Why this member of staff may not bring the row back from the bin; empty if they may."""
        # Of a degree without subjects, or with several rates, nothing says that this one is wrong.
        others = Subject.objects.filter(degree=self.degree_id).vat_by_degree()
        if not may_change_vat(by) and others.get(self.degree_id, self.vat) != self.vat:
            return f"«{self}» tiene otro IVA que su grado, y no puedes cambiarlo."
        return self.refuses_sale(by)

    def refuses_sale(self, by: Any) -> str:
        """Why this member of staff may not have the subject on sale; empty if they may."""
        if not self.active or self.final_price >= least_price(by):
            return ""
        return f"«{self}» cuesta menos de lo que tu límite deja poner a la venta."

    @property
    def page_path(self) -> str:
        return addresses.subject_path(self.pk, self.name, self.degree.university.page_path)


class StaleCount(models.Model):
    """A note that a subject's students are to be counted again (`services.refresh_noted_counts`).

    Notes are only added and deleted, so that no purchase waits for another one.
    """

    # Not a foreign key: the subject may be deleted before the students are counted.
    subject_id = models.BigIntegerField("asignatura")

    class Meta:
        verbose_name = "recuento pendiente"
        verbose_name_plural = "recuentos pendientes"

    def __str__(self) -> str:
        return f"Asignatura {self.subject_id}"
