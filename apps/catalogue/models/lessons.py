"""The lessons of a subject."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Max, Q

from apps.catalogue.lesson_kinds import LessonKind, kind_in
from apps.catalogue.models.studies import PRICE, Subject, University
from apps.catalogue.recorded import Recorded, RecordedQuerySet
from apps.core.few_rows import FewRows
from apps.core.money import format_euros, to_cents


class LessonQuerySet(RecordedQuerySet["Lesson"]):
    def on_sale(self) -> Self:
        return self.filter(
            status=Lesson.Status.ACTIVE,
            subject__active=True,
            subject__degree__university__in=University.objects.open(),
        )

    def bulk_create(self, objs: Iterable["Lesson"], *args: Any, **kwargs: Any) -> list["Lesson"]:
        rows = list(objs)
        self.place_last(rows)
        return super().bulk_create(rows, *args, **kwargs)

    def place_last(self, lessons: Sequence["Lesson"]) -> None:
        """Give each lesson without a position the next one of its subject."""
        new = [lesson for lesson in lessons if not lesson.position]
        if not new:
            return
        last: dict[int, int] = dict(
            Lesson.objects.filter(subject__in={lesson.subject_id for lesson in new})
            .order_by()
            .values_list("subject")
            .annotate(last=Max("position"))
        )
        for lesson in new:
            # Lessons with the same position are in the order of their ids.
            last[lesson.subject_id] = min(last.get(lesson.subject_id, 0) + 1, LAST_POSITION)
            lesson.position = last[lesson.subject_id]


# The largest number of a smallint.
LAST_POSITION = 32_767


class Lesson(FewRows, Recorded):
    class Status(models.TextChoices):
        ACTIVE = "active", "Activa"
        EXPIRED = "expired", "Caducada"

    subject = models.ForeignKey(
        Subject, models.PROTECT, related_name="lessons", verbose_name="asignatura"
    )
    title = models.CharField("título", max_length=160)
    kind = models.CharField(
        "tipo",
        max_length=8,
        choices=LessonKind.choices,
        blank=True,
        db_default="",
        default="",
        help_text="Vacío: se deduce del título.",
    )
    price = models.DecimalField(
        "precio (€)", **PRICE, validators=[MinValueValidator(0)], help_text="IVA incluido"
    )
    status = models.CharField(
        "estado", max_length=10, choices=Status.choices, default=Status.ACTIVE
    )
    syllabus = models.TextField(
        "temario",
        max_length=3000,
        blank=True,
        default="",
        db_default="",
        help_text="Cada unidad en una línea; debajo, sus temas, cada uno en una línea que empieza "
        "con un guion: «- Oferta y demanda».",
    )
    # 0 until the first save, which puts the lesson after the others.
    position = models.PositiveSmallIntegerField("orden", default=0)

    objects = LessonQuerySet.as_manager()
    most_rows = None
    most_below = {"subject": 200}
    price_field = "price"
    picker_related = ("subject__degree__university",)
    computed_columns = ("kind",)

    class Meta:
        verbose_name = "lección"
        verbose_name_plural = "lecciones"
        ordering = ("position", "pk")
        constraints = (
            models.UniqueConstraint(fields=("subject", "title"), name="lesson_once_per_subject"),
            models.CheckConstraint(condition=Q(price__gte=0), name="lesson_price_not_negative"),
        )
        indexes = (
            models.Index(fields=("subject", "status"), name="lesson_by_subject_status"),
            models.Index(fields=("position", "id"), name="lesson_by_position"),
        )

    def __str__(self) -> str:
        return self.title

    @property
    def picker_label(self) -> str:
        """ "PEC 1, de Estadística · Economía, UNED · 60,00 €", for whoever chooses lessons."""
        subject = self.subject
        return f"{self}, de {subject} · {subject.studies} · {format_euros(to_cents(self.price))}"

    def refuses_return(self, by: Any) -> str:
        """Why the row may not come back: the first lesson puts its subject on sale again."""
        without = Subject.objects.filter(pk=self.subject_id, active_lessons_count=0)
        subject = without.first() if self.status == Lesson.Status.ACTIVE else None
        refused = subject.refuses_sale(by) if subject is not None else ""
        return refused or super().refuses_return(by)

    def units(self) -> list[tuple[str, list[str]]]:
        """The units of the syllabus with their topics. Topics before any unit have none: ""."""
        units: list[tuple[str, list[str]]] = []
        for line in filter(None, map(str.strip, self.syllabus.splitlines())):
            if not line.startswith("-"):
                units.append((line, []))
                continue
            if not units:
                units.append(("", []))
            units[-1][1].append(line.lstrip("- "))
        return units

    def compute_columns(self) -> None:
        self.kind = self.kind or kind_in(self.title)

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self._state.adding:
            Lesson.objects.place_last([self])
        super().save(*args, **kwargs)
