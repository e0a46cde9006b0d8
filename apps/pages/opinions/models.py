"""Opinions of students about a subject that they have bought (docs/rules.md, "Opinions")."""

from typing import Self

from django.db import models
from django.db.models import Q

from apps.catalogue.models import Subject
from apps.students.models import Student


class OpinionQuerySet(models.QuerySet["Opinion"]):
    def published(self) -> Self:
        return self.filter(status=Opinion.Status.PUBLISHED)

    def to_moderate(self) -> Self:
        return self.filter(status=Opinion.Status.WAITING)

    def of_student(self, student: Student) -> Self:
        """The opinions of the student and of the students who were merged into this one."""
        return self.filter(Q(student=student) | Q(student__merged_into=student))


class Opinion(models.Model):
    """An opinion that was asked for by mail, once for each student and subject."""

    class Status(models.TextChoices):
        ASKED = "asked", "Pedida"
        WAITING = "waiting", "Por revisar"
        PUBLISHED = "published", "Publicada"
        REJECTED = "rejected", "Rechazada"

    student = models.ForeignKey(
        Student, models.PROTECT, related_name="+", verbose_name="alumno", editable=False
    )
    subject = models.ForeignKey(
        Subject, models.PROTECT, related_name="opinions", verbose_name="asignatura"
    )
    status = models.CharField("estado", max_length=10, choices=Status.choices, default=Status.ASKED)
    rating = models.PositiveSmallIntegerField("nota (1 a 5)", null=True, blank=True)
    text = models.TextField("texto", max_length=1500, blank=True)
    # As the student typed it. The page shows nothing else of the student.
    shown_name = models.CharField("nombre que se muestra", max_length=40, blank=True)
    asked_at = models.DateTimeField("pedida el", auto_now_add=True)
    answered_at = models.DateTimeField("recibida el", null=True, blank=True)

    objects = OpinionQuerySet.as_manager()

    class Meta:
        verbose_name = "opinión verificada"
        verbose_name_plural = "opiniones verificadas"
        ordering = ("-answered_at", "-pk")
        constraints = (
            models.UniqueConstraint(fields=("student", "subject"), name="opinion_once_per_subject"),
            models.CheckConstraint(
                condition=Q(rating__isnull=True) | Q(rating__range=(1, 5)),
                name="opinion_rating_1_to_5",
            ),
        )
        indexes = (
            models.Index(fields=("subject", "status", "-answered_at"), name="opinion_by_subject"),
            models.Index(fields=("-answered_at", "-id"), name="opinion_by_answer"),
            models.Index(
                fields=("-answered_at", "-id"),
                condition=Q(status="waiting"),
                name="opinion_to_moderate",
            ),
            models.Index(
                fields=("-answered_at", "-id"),
                condition=Q(status="published"),
                name="opinion_published",
            ),
        )

    def __str__(self) -> str:
        return f"Opinión {self.pk}: {self.subject}"
