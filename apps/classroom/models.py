from django.db import models
from django.db.models import Q

from apps.catalogue.models import Lesson, Subject
from apps.core.owed import Owed
from apps.students.models import Student


class Account(models.Model):
    """A student's account in the virtual classroom.

    `password` is set in the local classroom alone, by the student, through a one-time link.
    """

    student = models.OneToOneField(
        Student, models.PROTECT, related_name="account", verbose_name="alumno"
    )
    external_id = models.CharField("id externo", max_length=60, blank=True)
    password = models.CharField(max_length=128, blank=True, editable=False)
    created_at = models.DateTimeField("creada", auto_now_add=True)
    last_sign_in_at = models.DateTimeField("última entrada", null=True, blank=True)

    class Meta:
        verbose_name = "cuenta del aula"
        verbose_name_plural = "cuentas del aula"

    def __str__(self) -> str:
        return str(self.student)


class Provisioning(Owed):
    """The access that one paid order is owed: account, enrolments and the mail with the link.

    `items` are [subject id, lesson id or null], kept here since the classroom knows no orders.
    """

    class Status(models.TextChoices):
        PENDING = "pending", "Pendiente"
        CREATED = "created", "Creado"
        FAILED = "failed", "Fallido"

    OPEN = Status.PENDING

    reference = models.CharField("pedido", max_length=40, unique=True)
    student = models.ForeignKey(
        Student, models.PROTECT, related_name="provisionings", verbose_name="alumno"
    )
    status = models.CharField(
        "estado", max_length=10, choices=Status.choices, default=Status.PENDING
    )
    items = models.JSONField("qué abre", default=list)
    resends = models.PositiveSmallIntegerField("reenvíos del correo", default=0)
    last_resend_at = models.DateTimeField("último reenvío", null=True, blank=True)
    created_at = models.DateTimeField("pedido el", auto_now_add=True)
    updated_at = models.DateTimeField("actualizado", auto_now=True)

    class Meta:
        verbose_name = "alta en el aula"
        verbose_name_plural = "altas en el aula"
        ordering = ("-created_at",)
        indexes = (models.Index(fields=("status", "due_at"), name="provisioning_by_due"),)

    def __str__(self) -> str:
        return f"{self.reference} ({self.get_status_display()})"


class Enrolment(models.Model):
    """A student's right to one subject (lesson empty) or one lesson of it."""

    student = models.ForeignKey(
        Student, models.PROTECT, related_name="enrolments", verbose_name="alumno"
    )
    subject = models.ForeignKey(
        Subject, models.PROTECT, related_name="enrolments", verbose_name="asignatura"
    )
    lesson = models.ForeignKey(
        Lesson,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="enrolments",
        verbose_name="lección",
    )
    reference = models.CharField("pedido", max_length=40)
    granted_at = models.DateTimeField("concedida", auto_now_add=True)

    class Meta:
        verbose_name = "matrícula"
        verbose_name_plural = "matrículas"
        ordering = ("-granted_at",)
        constraints = (
            models.UniqueConstraint(
                fields=("student", "subject"),
                condition=Q(lesson__isnull=True),
                name="enrolment_once_per_subject",
            ),
            models.UniqueConstraint(
                fields=("student", "lesson"),
                condition=Q(lesson__isnull=False),
                name="enrolment_once_per_lesson",
            ),
        )

    def __str__(self) -> str:
        return f"{self.student}: {self.lesson or self.subject}"
