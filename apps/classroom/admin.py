from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.safestring import SafeString

from apps.catalogue.models import Degree
from apps.classroom.accounts import allow_held_account, send_link_for_staff
from apps.classroom.backends.base import Item
from apps.classroom.backends.moodle.client import MoodleError
from apps.classroom.backends.moodle.courses import (
    count_subjects_without_course,
    course_idnumber,
    find_course,
    is_gone,
    named_item,
    take_over_enrolments,
)
from apps.classroom.extend_pages import PERMISSION as EXTEND
from apps.classroom.extend_pages import enrolments_of, extend_url, page_for
from apps.classroom.models import (
    STUCK_CHANGE,
    AccessChange,
    Account,
    Enrolment,
    MoodleCourse,
    Provisioning,
    Semester,
)
from apps.classroom.moodle_pages import moodle_urls
from apps.classroom.provisioning import retry_provisioning
from apps.classroom.send_again_pages import course_urls, student_url
from apps.classroom.sync import retry_change
from apps.core.staff.admin_base import (
    AcademyModelAdmin,
    OrderNumberSearch,
    ReadOnlyAdmin,
    Tone,
    moment,
    person,
    state_column,
)
from apps.core.staff.admin_buttons import Repeated, button_view, form_key
from apps.core.staff.admin_filters import choice_filter, range_filter
from apps.students.models import Student


class OfStudentAdmin(ReadOnlyAdmin):
    """Rows of a student, who is shown by name and address."""

    @admin.display(description="alumno", ordering="student__email")
    def who(self, row: Any) -> SafeString | str:
        return person(row.student.full_name, row.student.email)


@admin.register(Provisioning)
class ProvisioningAdmin(OrderNumberSearch, OfStudentAdmin):
    logs_reading = True
    list_display = (
        "order_id",
        "who",
        state_column(
            {
                Provisioning.Status.PENDING: Tone.WAIT,
                Provisioning.Status.CREATED: Tone.GOOD,
                Provisioning.Status.FAILED: Tone.BAD,
            }
        ),
        "attempts",
        moment("created_at", "pedido el"),
        "last_error",
    )
    list_select_related = ("student",)
    list_filter = ("status", range_filter("created_at", "pedida"))
    search_fields = ("student__email",)
    link_lookups = ("order_id", "student__id__exact")
    actions = ("try_again", "extend")
    fields = (
        "order_id",
        "student",
        "status",
        "attempts",
        "last_error",
        "due_at",
        "ends_on",
        "paused_for",
        "withdrawn",
        "resends",
        "last_resend_at",
        "created_at",
        "updated_at",
    )

    @admin.action(description="Volver a intentar las altas fallidas", permissions=["retry"])
    def try_again(self, request: HttpRequest, provisionings: QuerySet[Provisioning]) -> None:
        count = sum(retry_provisioning(provisioning) for provisioning in provisionings)
        self.message_user(request, f"Altas que se vuelven a intentar: {count}.", messages.INFO)

    @admin.action(description="Ampliar el acceso…", permissions=["extend"])
    def extend(
        self, request: HttpRequest, provisionings: QuerySet[Provisioning]
    ) -> HttpResponse | None:
        return page_for(request, enrolments_of(provisionings))

    def has_extend_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(EXTEND)

    def has_retry_permission(self, request: HttpRequest) -> bool:
        # The row has no edit form, so its change permission controls this action.
        return request.user.has_perm("classroom.change_provisioning")


class DegreeOfUniversityFilter(admin.SimpleListFilter):
    """Offers the degrees of the university by which the list is filtered; without one, none."""

    title = "grado"
    parameter_name = "grado"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        university = request.GET.get("subject__degree__university__id__exact", "")
        if not university.isdecimal():
            return []
        degrees = Degree.objects.filter(university=int(university)).order_by("name_sort", "pk")
        return [(str(pk), name) for pk, name in degrees.values_list("pk", "name")]

    def queryset(
        self, request: HttpRequest, rows: QuerySet[Enrolment]
    ) -> QuerySet[Enrolment] | None:
        if self.value() not in dict(self.lookup_choices):
            return None
        return rows.filter(subject__degree=int(str(self.value())))


@admin.register(Enrolment)
class EnrolmentAdmin(OrderNumberSearch, OfStudentAdmin):
    logs_reading = True
    list_display = (
        "who",
        "subject",
        "lesson",
        "state",
        "ends_on",
        "order_number",
        moment("granted_at", "concedida"),
    )
    list_select_related = ("student", "subject", "lesson")
    list_filter = (
        "state",
        "subject__degree__university",
        DegreeOfUniversityFilter,
        range_filter("granted_at", "concedida"),
    )
    search_fields = ("student__email", "subject__name")
    link_lookups = ("provisioning", "student__id__exact")
    order_number_field = "provisioning"
    actions = ("extend",)

    def get_urls(self) -> list[URLPattern]:
        return [extend_url(self.admin_site), *super().get_urls()]

    @admin.action(description="Ampliar el acceso…", permissions=["extend"])
    def extend(self, request: HttpRequest, enrolments: QuerySet[Enrolment]) -> HttpResponse | None:
        return page_for(request, enrolments)

    def has_extend_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(EXTEND)

    @admin.display(description="pedido", ordering="provisioning_id")
    def order_number(self, enrolment: Enrolment) -> int:
        return enrolment.provisioning_id


def _send_credentials(request: HttpRequest, student: Student) -> str:
    sent = send_link_for_staff(student_id=student.pk, occasion=form_key(request).hex)
    if not sent:
        raise Repeated
    if sent == "classroom_confirm":
        return (
            f"La cuenta ya existía en el aula: se ha enviado a {student.email} un enlace para "
            "confirmarla."
        )
    return f"Enlace para poner una contraseña nueva: enviado a {student.email}."


HeldFilter = choice_filter(
    "decisión",
    "decision",
    pendiente=("Espera una decisión", lambda accounts: accounts.exclude(held_id="")),
)


@admin.register(Account)
class AccountAdmin(ReadOnlyAdmin):
    logs_reading = True
    list_display = (
        "student",
        "username",
        "external_id",
        "made_by_shop",
        "held_id",
        moment("created_at", "creada"),
        moment("last_sign_in_at", "última entrada"),
    )
    list_select_related = ("student",)
    list_filter = (HeldFilter, range_filter("created_at", "creada"))
    search_fields = ("student__email", "external_id")
    actions = ("allow",)

    def get_urls(self) -> list[URLPattern]:
        view = button_view(
            Student,
            permission="classroom.change_provisioning",
            work=_send_credentials,
            phrase="Enlace para la contraseña",
        )
        address = path(
            "alumno/<int:student_id>/credenciales/",
            self.admin_site.admin_view(view),
            name="classroom_account_credenciales",
        )
        return [address, student_url(self.admin_site), *super().get_urls()]

    @admin.action(
        description="Matricular esta cuenta, sin tocar nada más de ella", permissions=["allow"]
    )
    def allow(self, request: HttpRequest, accounts: QuerySet[Account]) -> None:
        count = sum(allow_held_account(student_id=row.student_id) for row in accounts)
        self.message_user(
            request,
            f"Cuentas que se matriculan: {count}. Ni su contraseña ni su correo se cambian desde "
            "aquí.",
            messages.INFO,
        )

    def has_allow_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("classroom.change_provisioning")

    # The password hash is not shown.
    fields = (
        "student",
        "username",
        "external_id",
        "address",
        "made_by_shop",
        "confirmed_for",
        "held_id",
        "allowed_id",
        "created_at",
        "last_sign_in_at",
    )


StuckFilter = choice_filter(
    "situación", "situacion", atascado=("Atascado", lambda rows: rows.filter(STUCK_CHANGE))
)


@admin.register(AccessChange)
class AccessChangeAdmin(OrderNumberSearch, ReadOnlyAdmin):
    """Changes of rights that are sent to the classroom, with status and last error."""

    logs_reading = True
    list_display = (
        "order_id",
        "student",
        "reason",
        state_column(
            {
                AccessChange.Status.PENDING: Tone.WAIT,
                AccessChange.Status.DONE: Tone.GOOD,
                AccessChange.Status.FAILED: Tone.BAD,
            }
        ),
        "attempts",
        moment("created_at", "cuándo"),
        "last_error",
    )
    list_select_related = ("student",)
    list_filter = (StuckFilter, "status", range_filter("created_at", "pedido"))
    search_fields = ("student__email",)
    actions = ("try_again",)

    @admin.action(description="Volver a intentar los cambios atascados", permissions=["retry"])
    def try_again(self, request: HttpRequest, changes: QuerySet[AccessChange]) -> None:
        count = sum(retry_change(change) for change in changes)
        self.message_user(request, f"Cambios que se vuelven a intentar: {count}.", messages.INFO)

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("classroom.change_accesschange")


ENDS_BY = (
    "Lo que se compra se abre hasta el fin del semestre, y lo ya vendido no cambia. Como las "
    "fechas deciden cuánto dura cada compra, solo un superusuario añade un semestre, lo borra o "
    "cambia cuándo termina."
)


@admin.register(Semester)
class SemesterAdmin(AcademyModelAdmin):
    """The days on which access ends. A change doesn't affect access that was already sold."""

    list_display = ("name", "last_day", "last_month")
    search_fields = ("name",)
    fieldsets = ((None, {"description": ENDS_BY, "fields": ("name", "last_month", "last_day")}),)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {**(extra_context or {}), "intro": ENDS_BY})

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only superusers add an end: what is bought meanwhile may be open for 30 days alone."""
        return bool(request.user.is_superuser)

    def get_readonly_fields(self, request: HttpRequest, obj: Semester | None = None) -> Any:
        """Only superusers move an end: what is bought meanwhile may stay open for a year more."""
        return () if obj is None or request.user.is_superuser else ("last_month", "last_day")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        *found, protected = super().get_deleted_objects(objs, request)
        if not request.user.is_superuser:
            reason = "Lo que se compre sin él se abre por más tiempo: solo puede un superusuario."
            protected = [*protected, reason]
        return *found, protected


class MoodleCourseForm(forms.ModelForm[MoodleCourse]):
    """Looks the course up in Moodle on save, so that staff see a typing error at once."""

    # The id of the deleted course that the new one replaces.
    replaces: int | None = None
    # Whether the editor may let several things that are sold open one course.
    may_share = False

    class Meta:
        model = MoodleCourse
        fields = ("subject", "lesson", "shortname")

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        lesson, subject = data.get("lesson"), data.get("subject")
        if lesson and subject and lesson.subject_id != subject.pk:
            self.add_error("lesson", "Esta lección es de otra asignatura.")
        if data.get("shortname"):
            try:
                self._find(data["shortname"])
            except ValidationError as error:
                self.add_error("shortname", error)
        return data

    def _find(self, shortname: str) -> None:
        former = self.instance.course_id if self.instance.pk else None
        try:
            course = find_course("shortname", shortname)
            if course and former and former != course["id"] and is_gone(former):
                self.replaces = former
        except MoodleError as error:
            raise ValidationError(f"Moodle no responde como debe: {error}") from error
        if course is None:
            raise ValidationError("Moodle no tiene ningún curso con este nombre corto.")
        if not self.may_share and self._is_taken(course):
            raise ValidationError(
                "Este curso ya lo abre otra asignatura o lección. Compartirlo es cosa de Dirección."
            )
        self.instance.course_id = course["id"]
        self.instance.full_name = course["fullname"]

    def _is_taken(self, course: dict[str, Any]) -> bool:
        """Whether something else opens the course: by its entry, or by the idnumber in Moodle."""
        lesson, subject = self.cleaned_data.get("lesson"), self.cleaned_data.get("subject")
        own = course_idnumber(Item(subject.pk, lesson and lesson.pk)) if subject else ""
        if named_item(course.get("idnumber", "")) not in ("", own):
            return True
        entry = MoodleCourse(course_id=course["id"], shortname=course["shortname"])
        return entry.opened_by_others()


@admin.register(MoodleCourse)
class MoodleCourseAdmin(AcademyModelAdmin):
    form = MoodleCourseForm
    list_display = ("subject", "lesson", "shortname", "full_name", "course_id")
    list_select_related = ("subject", "lesson")
    list_filter = ("subject__degree__university",)
    search_fields = ("subject__name", "shortname", "full_name")
    autocomplete_fields = ("subject", "lesson")
    readonly_fields = ("full_name", "course_id")

    def save_model(self, request: HttpRequest, obj: MoodleCourse, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if form.replaces:
            take_over_enrolments(form.replaces, obj.course_id)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        form.may_share = request.user.has_perm("classroom.change_moodlecourse")
        return form

    def get_urls(self) -> list[URLPattern]:
        own = [*moodle_urls(self.admin_site), *course_urls(self.admin_site)]
        return [*own, *super().get_urls()]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        missing = count_subjects_without_course()
        if missing:
            self.message_user(
                request,
                f"Asignaturas a la venta sin curso: {missing}. Se buscarán en Moodle por su número "
                "de ID («asignatura-7») cuando alguien las compre.",
                messages.WARNING,
            )
        return super().changelist_view(request, extra_context)
