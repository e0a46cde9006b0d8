import secrets
from typing import Any

from django.db import models
from django.db.models.functions import Lower

from apps.core.models import LegalText


def new_classroom_key() -> str:
    return f"academia-{secrets.token_hex(12)}"


class StudentQuerySet(models.QuerySet["Student"]):
    def with_email(self, email: str) -> "Student | None":
        """The student with that e-mail, case-insensitive; None if there is none."""
        # As in the unique index on LOWER(email), which the statement then uses.
        by_lower = self.alias(email_in_lower_case=Lower("email"))
        return by_lower.filter(email_in_lower_case=email.strip().lower()).first()


class Student(models.Model):
    """A buyer, identified by a case-insensitive e-mail (docs/rules.md, "Students")."""

    email = models.EmailField("correo", max_length=254)
    first_name = models.CharField("nombre", max_length=80, blank=True)
    last_name = models.CharField("apellidos", max_length=120, blank=True)
    phone = models.CharField(
        "teléfono", max_length=16, blank=True, help_text="Con el prefijo del país: +34600000000."
    )
    # Under which an external classroom knows the student. A restored database never hands one out
    # again. Empty for a row of an earlier version (`services.classroom_key`).
    classroom_key = models.CharField(
        max_length=40, blank=True, default=new_classroom_key, db_default="", editable=False
    )
    created_at = models.DateTimeField("alta", auto_now_add=True)
    # When a link that was mailed to the current address was first used (`confirmed`).
    email_confirmed_at = models.DateTimeField(
        "correo confirmado", null=True, blank=True, editable=False
    )
    blocked_at = models.DateTimeField("bloqueado", null=True, blank=True, editable=False)
    block_reason = models.CharField(
        "motivo del bloqueo", max_length=300, blank=True, default="", db_default="", editable=False
    )
    erased_at = models.DateTimeField("datos borrados", null=True, blank=True, editable=False)
    # The student who has everything of this one, whose row is empty since they were merged.
    merged_into = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        blank=True,
        editable=False,
        related_name="merged",
        verbose_name="unido con",
    )

    # True on the object that `services.find_or_create_student` returns for a new student.
    is_new = False

    objects = StudentQuerySet.as_manager()

    class Meta:
        verbose_name = "alumno"
        verbose_name_plural = "alumnos"
        permissions = (
            ("block_student", "Puede bloquear a un alumno"),
            ("merge_student", "Puede unir dos alumnos"),
            ("export_student", "Puede exportar alumnos"),
        )
        ordering = ("-created_at",)
        indexes = (models.Index(fields=("created_at", "id"), name="student_by_day"),)
        constraints = (
            models.UniqueConstraint(
                Lower("email"),
                name="student_email_once",
                violation_error_message="Ese correo ya es de otro alumno.",
            ),
            models.UniqueConstraint(
                fields=("classroom_key",),
                condition=~models.Q(classroom_key=""),
                name="student_classroom_key_once",
            ),
        )

    def __str__(self) -> str:
        return self.email

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.email = self.email.strip().lower()
        super().save(*args, **kwargs)

    @property
    def full_name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()


class FormerEmail(models.Model):
    """An address that a student had before staff changed it or merged two students."""

    student = models.ForeignKey(
        Student, models.CASCADE, related_name="former_emails", verbose_name="alumno"
    )
    email = models.EmailField("correo anterior", max_length=254, db_index=True)
    changed_at = models.DateTimeField("cambiado", auto_now_add=True)

    class Meta:
        verbose_name = "correo anterior"
        verbose_name_plural = "correos anteriores"
        ordering = ("-changed_at",)

    def __str__(self) -> str:
        return self.email


class Consent(models.Model):
    """One acceptance: the student, the box's wording, the time and the legal text's version."""

    class Kind(models.TextChoices):
        TERMS = "terms", "Términos y condiciones"
        PRIVACY = "privacy", "Política de privacidad"
        ADULT = "adult", "Mayor de 18 años"
        WITHDRAWAL = "withdrawal", "Renuncia al desistimiento"
        REMINDERS = "reminders", "Avisos de compra a medias"

    student = models.ForeignKey(
        Student, models.CASCADE, related_name="consents", verbose_name="alumno"
    )
    kind = models.CharField("qué acepta", max_length=12, choices=Kind.choices)
    legal_text = models.ForeignKey(LegalText, models.PROTECT, verbose_name="versión del texto")
    wording = models.CharField("texto de la casilla", max_length=300)
    # No foreign key: `apps.orders` has the orders, and this app may not import it.
    order_id = models.PositiveBigIntegerField("pedido")
    accepted_at = models.DateTimeField("aceptado", auto_now_add=True)

    class Meta:
        verbose_name = "consentimiento"
        verbose_name_plural = "consentimientos"
        ordering = ("-accepted_at",)
        indexes = (models.Index(fields=("accepted_at", "id"), name="consent_by_day"),)
        constraints = (
            models.UniqueConstraint(
                fields=("order_id", "kind", "legal_text"), name="consent_once_per_order"
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.student}"


class SignIn(models.Model):
    """A student's sign-in, open or ended. Deleted after 6 months."""

    student = models.ForeignKey(
        Student, models.CASCADE, related_name="sign_ins", verbose_name="alumno"
    )
    # The session's name in its table (`web.session_store`), which opens nothing. Empty after the
    # sign-in has ended.
    session_key = models.CharField(max_length=40, blank=True, editable=False, db_index=True)
    started_at = models.DateTimeField("desde", auto_now_add=True)
    ended_at = models.DateTimeField("hasta", null=True, blank=True)

    class Meta:
        verbose_name = "inicio de sesión"
        verbose_name_plural = "inicios de sesión"
        ordering = ("-started_at",)
        indexes = (models.Index(fields=("started_at", "id"), name="sign_in_by_day"),)

    def __str__(self) -> str:
        return f"{self.student}, {self.started_at:%d/%m/%Y %H:%M}"


class SignInLink(models.Model):
    """A one-time sign-in link. Its token is signed and not stored."""

    student = models.ForeignKey(Student, models.CASCADE, related_name="sign_in_links")
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True, blank=True)
    # Whether it was asked for on the way to the classroom.
    to_classroom = models.BooleanField(default=False, db_default=False)

    class Meta:
        verbose_name = "enlace de entrada"
        verbose_name_plural = "enlaces de entrada"

    def __str__(self) -> str:
        return f"{self.student}, {self.created_at:%d/%m/%Y %H:%M}"


class ErasureRequest(models.Model):
    """A student's request to erase their data. The law allows a month for it."""

    student = models.OneToOneField(
        Student, models.CASCADE, related_name="erasure_request", verbose_name="alumno"
    )
    requested_at = models.DateTimeField("pedido el", auto_now_add=True)

    class Meta:
        verbose_name = "petición de borrado"
        verbose_name_plural = "peticiones de borrado"
        ordering = ("requested_at",)

    def __str__(self) -> str:
        return str(self.student)
