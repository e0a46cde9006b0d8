import secrets
from calendar import monthrange
from collections.abc import Sequence
from datetime import date
from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.catalogue.models import Lesson, Subject
from apps.core.retries import RetriedWork
from apps.students.models import SignIn, Student

ACCESS_MAIL = "classroom_access"


# Begins `Account.password` after the address has changed: nobody has set one at the new address.
ENDED_PASSWORD = "!ended-"  # noqa: S105  # no password


class Account(models.Model):
    """A student's account in the virtual classroom.

    The student sets `password` through a one-time link. An external classroom keeps the password
    itself; here `password` is then an unusable value that marks that one is set.
    """

    student = models.OneToOneField(
        Student, models.PROTECT, related_name="account", verbose_name="alumno"
    )
    external_id = models.CharField("id externo", max_length=60, blank=True)
    username = models.CharField("usuario", max_length=254, blank=True)
    # The value of `CLASSROOM` to which `external_id` and `username` belong. In another classroom
    # the same id is another person.
    classroom = models.CharField("aula", max_length=10, blank=True, editable=False)
    password = models.CharField(max_length=128, blank=True, editable=False)
    # The address that the classroom has for the account.
    address = models.EmailField("correo en el aula", blank=True, default="", db_default="")
    # Whether the shop created it. Of any other account the shop changes only the enrolments.
    made_by_shop = models.BooleanField("creada por la tienda", default=False, db_default=False)
    # The student's address at which the owner of an account that existed before confirmed it.
    confirmed_for = models.EmailField(
        "confirmada desde", blank=True, default="", db_default="", editable=False
    )
    # An account with the student's address that belongs to a teacher or manager: staff decide.
    held_id = models.CharField("id retenido", max_length=60, blank=True, default="", db_default="")
    # Such an account that staff allow to be enrolled.
    allowed_id = models.CharField(
        "id permitido", max_length=60, blank=True, default="", db_default=""
    )
    created_at = models.DateTimeField("creada", auto_now_add=True)
    last_sign_in_at = models.DateTimeField("última entrada", null=True, blank=True)
    # When the classroom was last asked for the student's progress (`progress`).
    progress_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = "cuenta del aula"
        verbose_name_plural = "cuentas del aula"
        indexes = (
            models.Index(fields=("created_at", "id"), name="account_by_day"),
            models.Index(fields=("id",), condition=~Q(held_id=""), name="account_held"),
        )

    def __str__(self) -> str:
        return str(self.student)

    def id_in(self, classroom: str) -> str:
        """The account's id in that classroom; empty if the stored id belongs to another one."""
        return self.external_id if self.classroom == classroom else ""

    @property
    def has_password(self) -> bool:
        return self.password != "" and not self.password_is_ended

    @property
    def password_is_ended(self) -> bool:
        """Whether the password of before must not open the account (`end_password`)."""
        return self.password.startswith(ENDED_PASSWORD)

    def end_password(self) -> None:
        """End the password and every earlier link: only a new link to the new address sets one."""
        self.password = ENDED_PASSWORD + secrets.token_hex(16)
        self.save(update_fields=["password"])

    @property
    def is_confirmed(self) -> bool:
        """Whether the owner confirmed it from the mailbox of the student's present address."""
        return self.confirmed_for != "" and self.confirmed_for == self.student.email

    @property
    def takes_links(self) -> bool:
        """Whether a one-time link may set its password.

        Not for an account that existed before its student came to the shop, until its owner has
        confirmed it. An account of an earlier classroom is looked up when its link is used.
        """
        if settings.CLASSROOM == "local" or self.classroom != settings.CLASSROOM:
            return True
        return self.made_by_shop or self.is_confirmed


# Of the tasks that provide what cost nothing: below purchases, refunds and blocks. A code makes any
# number of such orders.
PRIORITY_OF_FREE = 5


class Provisioning(RetriedWork):
    """The access of one paid order, which the worker provides: account, enrolments and mail.

    `items` are [subject id, lesson id or null], copied here because this app can't read orders.
    """

    class Status(models.TextChoices):
        PENDING = "pending", "Pendiente"
        CREATED = "created", "Creado"
        FAILED = "failed", "Fallido"

    OPEN = Status.PENDING

    # No foreign key: `apps.orders` has the orders, and this app may not import it.
    order_id = models.PositiveBigIntegerField("pedido", unique=True)
    student = models.ForeignKey(
        Student, models.PROTECT, related_name="provisionings", verbose_name="alumno"
    )
    status = models.CharField(
        "estado", max_length=10, choices=Status.choices, default=Status.PENDING
    )
    items = models.JSONField("qué abre", default=list)
    # The items that a refund has withdrawn.
    withdrawn = models.JSONField("retirado", default=list)
    # The causes (`access.Cause`) for which access is paused; it is open if there is none.
    paused_for = models.JSONField("en pausa por", default=list)
    # The items that could not be opened while the others of the order were.
    missing = models.JSONField(
        "sin abrir", default=list, db_default=models.Value([], models.JSONField())
    )
    # Why a person has to do something first; empty after failures that a later attempt may mend.
    problem = models.CharField(
        max_length=10,
        choices=(("account", "Cuenta"), ("course", "Curso")),
        blank=True,
        default="",
        db_default="",
        editable=False,
    )
    # The last day of the item that ends last.
    ends_on = models.DateField("acceso hasta", null=True, blank=True)
    # Once staff have extended the access: the end that was sold, and [subject id, lesson id or
    # null, last day] of each item.
    sold_until = models.DateField("vendido hasta", null=True, blank=True, editable=False)
    item_ends = models.JSONField(
        "fin de cada cosa",
        default=list,
        db_default=models.Value([], models.JSONField()),
        editable=False,
    )
    # The registered mail that announces the access.
    mail = models.CharField(
        max_length=40, default=ACCESS_MAIL, db_default=ACCESS_MAIL, editable=False
    )
    # Whether a code alone paid the order. Access that was paid with money is provided first.
    costs_nothing = models.BooleanField(default=False, db_default=False, editable=False)
    resends = models.PositiveSmallIntegerField("reenvíos del correo", default=0)
    last_resend_at = models.DateTimeField("último reenvío", null=True, blank=True)
    created_at = models.DateTimeField("pedido el", auto_now_add=True)
    updated_at = models.DateTimeField("actualizado", auto_now=True)

    class Meta:
        verbose_name = "alta en el aula"
        verbose_name_plural = "altas en el aula"
        ordering = ("-created_at",)
        indexes = (
            models.Index(fields=("status", "due_at"), name="provisioning_by_due"),
            models.Index(fields=("created_at", "id"), name="provisioning_by_day"),
            models.Index(
                fields=("order_id",), condition=~Q(status="created"), name="provisioning_unfinished"
            ),
        )

    @classmethod
    def being_provided(cls) -> models.QuerySet["Provisioning"]:
        """The rows that workers provide at the moment."""
        return cls.objects.filter(status=cls.Status.PENDING, leased_until__gt=timezone.now())

    @property
    def task_priority(self) -> int | None:
        return PRIORITY_OF_FREE if self.costs_nothing else None

    def __str__(self) -> str:
        return f"Pedido {self.order_id} ({self.get_status_display()})"

    def end_of(self, item: Sequence[int | None]) -> date | None:
        """The last day of an item, given as its subject's and its lesson's id; None: no end."""
        for subject_id, lesson_id, day in self.item_ends:
            if [subject_id, lesson_id] == list(item):
                return date.fromisoformat(day)
        ends_on: date | None = self.ends_on
        return ends_on


class LostAccess(models.Model):
    """A student whom an order's access was taken from, because it is for somebody else.

    The classroom is told of the withdrawal with every change of the student's rights.
    """

    provisioning = models.ForeignKey(
        Provisioning, models.CASCADE, related_name="lost_by", verbose_name="alta"
    )
    student = models.ForeignKey(
        Student, models.CASCADE, related_name="lost_access", verbose_name="alumno"
    )

    class Meta:
        verbose_name = "acceso retirado"
        verbose_name_plural = "accesos retirados"
        constraints = (
            models.UniqueConstraint(fields=("provisioning", "student"), name="access_lost_once"),
        )

    def __str__(self) -> str:
        return f"Pedido {self.provisioning.order_id}"


class Enrolment(models.Model):
    """A student's right to one subject (lesson empty) or one lesson of it.

    The sum of the student's provisionings. Only `rights.update_enrolments` writes it.
    """

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

    class State(models.TextChoices):
        OPEN = "open", "Abierta"
        PAUSED = "paused", "En pausa"

    state = models.CharField("estado", max_length=8, choices=State.choices, default=State.OPEN)
    ends_on = models.DateField("hasta", null=True, blank=True)
    # The access with which it was opened. The column holds the number of that access's order.
    provisioning = models.ForeignKey(
        Provisioning,
        models.PROTECT,
        to_field="order_id",
        db_column="order_id",
        related_name="enrolments",
        verbose_name="alta",
    )
    granted_at = models.DateTimeField("concedida", auto_now_add=True)

    class Meta:
        verbose_name = "matrícula"
        verbose_name_plural = "matrículas"
        permissions = (("extend_enrolment", "Puede ampliar el acceso de un alumno"),)
        ordering = ("-granted_at",)
        indexes = (models.Index(fields=("granted_at", "id"), name="enrolment_by_day"),)
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
        # Without the student: who may not delete a subject reads which rows forbid it.
        return f"Matrícula {self.pk}: {self.lesson or self.subject}"


class Progress(models.Model):
    """How far a student has come in a subject (lesson empty) or a lesson, by the classroom's word.

    Without a `total` the classroom does not track what is done there.
    """

    student = models.ForeignKey(
        Student, models.CASCADE, related_name="progress", verbose_name="alumno"
    )
    subject = models.ForeignKey(
        Subject, models.CASCADE, related_name="progress", verbose_name="asignatura"
    )
    lesson = models.ForeignKey(
        Lesson,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="progress",
        verbose_name="lección",
    )
    done = models.PositiveSmallIntegerField("hechas", default=0, db_default=0)
    total = models.PositiveSmallIntegerField("actividades", default=0, db_default=0)
    last_access_at = models.DateTimeField("última visita", null=True, blank=True)
    measured_at = models.DateTimeField("consultado", db_index=True)

    class Meta:
        verbose_name = "progreso en el aula"
        verbose_name_plural = "progresos en el aula"
        constraints = (
            models.UniqueConstraint(
                fields=("student", "subject"),
                condition=Q(lesson__isnull=True),
                name="progress_once_per_subject",
            ),
            models.UniqueConstraint(
                fields=("student", "lesson"),
                condition=Q(lesson__isnull=False),
                name="progress_once_per_lesson",
            ),
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.summary}"

    @property
    def name(self) -> str:
        """The name of the subject, followed by that of the lesson if it is about one."""
        return f"{self.subject.name}: {self.lesson.title}" if self.lesson else self.subject.name

    @property
    def is_used(self) -> bool:
        """Whether the student has done or visited anything there."""
        return self.done > 0 or self.last_access_at is not None

    @property
    def summary(self) -> str:
        """For example "3 de 5 actividades hechas, última visita el 12/11/2026"."""
        done = f"{self.done} de {self.total} actividades hechas" if self.total else ""
        if self.last_access_at:
            last = f"última visita el {timezone.localtime(self.last_access_at):%d/%m/%Y}"
        else:
            # Whoever has done something was there, on a day that the classroom does not know.
            last = "" if done and self.done else "todavía sin visitas"
        return ", ".join(filter(None, (done, last)))


class AccessChange(RetriedWork):
    """A change of a student's rights that has to be sent to the classroom.

    The rights are read when they are sent, so that several quick changes end with the current
    rights.
    """

    class Status(models.TextChoices):
        PENDING = "pending", "Pendiente"
        DONE = "done", "Hecho"
        FAILED = "failed", "Fallido"

    OPEN = Status.PENDING

    student = models.ForeignKey(
        Student, models.PROTECT, related_name="access_changes", verbose_name="alumno"
    )
    status = models.CharField(
        "estado", max_length=10, choices=Status.choices, default=Status.PENDING
    )
    # The order that the change is about, or 0 if it is about the whole student, so that it can't be
    # a foreign key to the order's `Provisioning`.
    order_id = models.PositiveBigIntegerField("pedido", db_index=True)
    reason = models.CharField("motivo", max_length=600)
    # The note of staff. It may be about the student, so an erasure removes it.
    note = models.CharField("nota", max_length=200, blank=True, default="", db_default="")
    # Whether the account gets the student's present address before the rights are sent.
    moves_account = models.BooleanField(
        "cambia el usuario", default=False, db_default=False, editable=False
    )
    created_at = models.DateTimeField("cuándo", auto_now_add=True)

    class Meta:
        verbose_name = "cambio de acceso"
        verbose_name_plural = "cambios de acceso"
        ordering = ("-created_at",)
        permissions = (
            ("send_student_access", "Puede enviar otra vez el acceso de un alumno"),
            ("send_course_access", "Puede enviar otra vez los accesos de un curso"),
            ("send_all_access", "Puede enviar otra vez todos los accesos"),
        )
        indexes = (
            models.Index(fields=("status", "due_at"), name="access_change_by_due"),
            models.Index(fields=("created_at", "id"), name="access_change_by_day"),
            models.Index(
                fields=("id",), condition=~Q(status="done"), name="access_change_unfinished"
            ),
        )

    def __str__(self) -> str:
        return f"Pedido {self.order_id}: {self.reason}"


# A change that failed for good, or that has failed for at least 6 minutes.
STUCK_CHANGE = Q(status=AccessChange.Status.FAILED) | Q(
    status=AccessChange.Status.PENDING, attempts__gte=3
)


class Semester(models.Model):
    """A day of each year on which access ends."""

    name = models.CharField("semestre", max_length=60)
    last_month = models.PositiveSmallIntegerField(
        "termina el mes", validators=[MinValueValidator(1), MaxValueValidator(12)]
    )
    last_day = models.PositiveSmallIntegerField(
        "termina el día",
        validators=[MinValueValidator(1), MaxValueValidator(31)],
        help_text="El 31 vale también para los meses más cortos: es el último día.",
    )

    class Meta:
        verbose_name = "semestre"
        verbose_name_plural = "semestres"
        ordering = ("last_month", "last_day")
        constraints = (
            models.UniqueConstraint(fields=("last_month", "last_day"), name="semester_end_once"),
        )

    def __str__(self) -> str:
        return self.name

    def end_from(self, day: date) -> date:
        """The first end of this semester on or after `day`."""
        end = self._end_in(day.year)
        return end if end >= day else self._end_in(day.year + 1)

    def _end_in(self, year: int) -> date:
        return date(year, self.last_month, min(self.last_day, monthrange(year, self.last_month)[1]))


class MoodleEnrolment(models.Model):
    """What Moodle was last told about one course of a student's account.

    Only enrolments of the shop's own have a row. An empty `state` is sent again.
    """

    student = models.ForeignKey(
        Student, models.CASCADE, related_name="moodle_enrolments", verbose_name="alumno"
    )
    external_id = models.CharField("id del usuario en Moodle", max_length=60)
    course_id = models.PositiveIntegerField("id del curso en Moodle")
    state = models.CharField(
        "estado", max_length=8, choices=Enrolment.State, blank=True, default="", db_default=""
    )
    ends_on = models.DateField("hasta", null=True, blank=True)
    # The name of the course's group that the shop put the user into.
    group = models.CharField("grupo", max_length=100, blank=True, default="", db_default="")

    class Meta:
        verbose_name = "matrícula en Moodle"
        verbose_name_plural = "matrículas en Moodle"
        constraints = (
            models.UniqueConstraint(
                fields=("student", "external_id", "course_id"), name="moodle_enrolment_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.external_id} en el curso {self.course_id}"


class MoodleCourse(models.Model):
    """The Moodle course of one subject (lesson empty) or lesson. Several may share a course."""

    subject = models.ForeignKey(
        Subject, models.CASCADE, related_name="moodle_courses", verbose_name="asignatura"
    )
    lesson = models.ForeignKey(
        Lesson,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="moodle_courses",
        verbose_name="lección",
        help_text="Vacío: el curso de la asignatura completa.",
    )
    shortname = models.CharField(
        "nombre corto en Moodle",
        max_length=255,
        help_text="El «Nombre corto del curso»; se busca en Moodle al guardar.",
    )
    course_id = models.PositiveIntegerField("id en Moodle", editable=False)
    full_name = models.CharField("curso", max_length=255, editable=False)

    class Meta:
        verbose_name = "curso de Moodle"
        verbose_name_plural = "cursos de Moodle"
        ordering = ("subject__name_sort", "pk")
        permissions = (("check_moodle", "Puede comprobar si Moodle está listo"),)
        constraints = (
            models.UniqueConstraint(
                fields=("subject",), condition=Q(lesson__isnull=True), name="moodle_course_subject"
            ),
            models.UniqueConstraint(
                fields=("lesson",), condition=Q(lesson__isnull=False), name="moodle_course_lesson"
            ),
        )

    def __str__(self) -> str:
        return f"{self.lesson or self.subject}: {self.shortname}"

    def refuses_return(self, by: Any) -> str:
        """Why this member of staff may not bring the row back from the bin; empty if they may."""
        if by.has_perm("classroom.change_moodlecourse") or not self.opened_by_others():
            return ""
        return (
            f"el curso «{self.shortname}» de Moodle ya lo abre otra asignatura o lección. "
            "Compartirlo es cosa de Dirección."
        )

    def opened_by_others(self) -> bool:
        """Whether another entry opens the course, also one that Moodle has restored meanwhile."""
        same = Q(course_id=self.course_id) | Q(shortname__iexact=self.shortname)
        return MoodleCourse.objects.filter(same).exclude(pk=self.pk).exists()


class EntryCode(models.Model):
    """A code that Moodle exchanges once for a token, and that token (`one_sign_in`).

    Neither is stored, only their digests. They end with the student's sign-in at the shop.
    """

    sign_in = models.ForeignKey(SignIn, models.CASCADE, related_name="entry_codes")
    code_digest = models.CharField(max_length=64, unique=True)
    # The account and the address that the student was let in with.
    external_id = models.CharField(max_length=60)
    email = models.EmailField(max_length=254)
    redirect_uri = models.CharField(max_length=500)
    scope = models.CharField(max_length=100)
    nonce = models.CharField(max_length=500, blank=True)
    # The SHA-256 challenge of RFC 7636; empty if the client sent none.
    code_challenge = models.CharField(max_length=128, blank=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    used_at = models.DateTimeField(null=True, blank=True)
    # Empty before the code is used, and after somebody has tried to use it again.
    token_digest = models.CharField(max_length=64, blank=True, db_index=True)

    class Meta:
        verbose_name = "entrada al aula"
        verbose_name_plural = "entradas al aula"

    def __str__(self) -> str:
        return f"{self.sign_in.student}, {self.created_at:%d/%m/%Y %H:%M}"
