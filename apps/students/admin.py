from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from apps.core.errors import TooManyRequests
from apps.core.phones import in_e164
from apps.core.privacy import CannotErase, erase_all, preview_erasure
from apps.core.staff.admin_base import (
    AcademyModelAdmin,
    NewestRows,
    OrderNumberSearch,
    ReadOnlyAdmin,
    ReadOnlyRowsInline,
    Tone,
    links,
    list_link,
    moment,
    person,
    pill,
)
from apps.core.staff.admin_conflicts import GuardsChanges
from apps.core.staff.admin_filters import choice_filter, range_filter
from apps.core.staff.admin_search import search_people
from apps.core.staff.fresh_password import AsksPasswordForFields, fresh_password_required
from apps.core.staff.public_texts import check_name
from apps.core.staff.spreadsheets import as_csv, csv_answer
from apps.students.models import Consent, ErasureRequest, SignIn, Student
from apps.students.services import announce_new_email, count_address_change
from apps.students.signals import email_changing
from apps.students.student_buttons import student_urls


class ConsentRows(NewestRows, ReadOnlyRowsInline):
    model = Consent
    fields = ("accepted_at", "kind", "legal_text", "order_id")
    verbose_name_plural = "consentimientos (los 100 últimos)"
    of_parent = "student"
    select_related = ("legal_text", "student")


# In this order in the index `student_by_person`.
PERSON = ("email", "phone", "first_name", "last_name")


def state_of(student: Student) -> tuple[str, Tone]:
    if student.erased_at:
        return "Datos borrados", Tone.QUIET
    return ("Bloqueado", Tone.BAD) if student.blocked_at else ("Activo", Tone.GOOD)


StateFilter = choice_filter(
    "estado",
    "estado",
    bloqueado=("Bloqueado", lambda rows: rows.exclude(blocked_at=None)),
    borrado=("Datos borrados", lambda rows: rows.exclude(erased_at=None)),
)


class StudentForm(ModelForm[Student]):
    # Whoever sends the form.
    editor: Any = None

    def _post_clean(self) -> None:
        """Count a change of the address, if nothing else refuses the form."""
        super()._post_clean()  # type: ignore[misc]
        if self.errors or not self.instance.pk or "email" not in self.changed_data:
            return
        try:
            count_address_change(self.editor)
        except TooManyRequests as refusal:
            self.add_error("email", refusal.message)

    def clean_first_name(self) -> str:
        return self._checked("first_name")

    def clean_last_name(self) -> str:
        return self._checked("last_name")

    def clean_phone(self) -> str:
        phone: str = self.cleaned_data["phone"]
        if "phone" not in self.changed_data or not phone:
            return phone
        try:
            return in_e164(phone)
        except ValueError as problem:
            raise ValidationError(str(problem)) from problem

    def _checked(self, field: str) -> str:
        """The name, if staff may write it. They can leave what the student has typed."""
        name: str = self.cleaned_data[field]
        if field in self.changed_data:
            check_name(name)
        return name


@admin.register(Student)
class StudentAdmin(AsksPasswordForFields, GuardsChanges, AcademyModelAdmin):
    form = StudentForm
    password_fields = ("email", "phone")
    logs_reading = True
    list_display = ("who", "phone", "state", moment("created_at", "alta"))
    search_fields = PERSON
    search_help_text = "Una parte del nombre, del correo o del teléfono"
    list_filter = (range_filter("created_at", "alta"), StateFilter)
    fields = ("email", "first_name", "last_name", "phone", "created_at", "erased_at", "elsewhere")
    readonly_fields = ("created_at", "erased_at", "elsewhere")
    inlines = (ConsentRows,)
    actions = ("erase", "export_csv")
    logged_by_row = ("delete_selected", "erase")
    asking_first = ("delete_selected", "erase")

    def get_urls(self) -> list[URLPattern]:
        return [*student_urls(), *super().get_urls()]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Student], search_term: str
    ) -> tuple[QuerySet[Student], bool]:
        return search_people(queryset, search_term, *PERSON), False

    def page_title(self, row: Student) -> str:
        return row.full_name or row.email

    @admin.display(description="alumno", ordering="first_name")
    def who(self, student: Student) -> SafeString | str:
        return person(student.full_name, student.email)

    @admin.display(description="estado")
    def state(self, student: Student) -> SafeString:
        word, tone = state_of(student)
        return pill(word, tone)

    @admin.action(description="Exportar a CSV", permissions=["export"])
    @method_decorator(fresh_password_required)
    def export_csv(self, request: HttpRequest, students: QuerySet[Student]) -> HttpResponse:
        headings = ("Correo", "Nombre", "Apellidos", "Teléfono", "Alta", "Estado")
        rows = (
            (row.email, row.first_name, row.last_name, row.phone,
             localtime(row.created_at).date(), state_of(row)[0])
            for row in students.iterator(chunk_size=2_000)
        )  # fmt: skip
        return csv_answer("alumnos", as_csv(headings, rows))

    def has_export_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("students.export_student")

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        # Orders and consents refer to the row, so it is anonymized and never deleted.
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Student | None = None) -> Any:
        """The data of an erased student stay erased."""
        erased = ("email", "first_name", "last_name", "phone")
        is_erased = obj is not None and obj.erased_at is not None
        return (*self.readonly_fields, *erased) if is_erased else self.readonly_fields

    def lock_row(self, row: Model) -> None:
        """Lock what a payment locks before the student, then the student."""
        email_changing.send(Student, student_id=row.pk)
        super().lock_row(row)

    def save_model(
        self, request: HttpRequest, obj: Student, form: ModelForm[Student], change: bool
    ) -> None:
        super().save_model(request, obj, form, change)
        before = str(form.initial.get("email", ""))
        if change and before and obj.email != before:
            announce_new_email(obj, before=before, actor=request.user.get_username())

    @admin.action(description="Borrar los datos personales…", permissions=["erase"])
    @method_decorator(fresh_password_required)
    def erase(self, request: HttpRequest, students: QuerySet[Student]) -> HttpResponse | None:
        """Show what erasure would delete and keep; erase after confirmation."""
        selected = list(students.filter(erased_at=None).order_by("email"))
        if "confirmed" in request.POST:
            self._erase_all(request, selected)
            return None
        context = {
            **self.admin_site.each_context(request),
            "title": "Borrar datos personales",
            "previews": [(student, *self._preview(student)) for student in selected],
            "action_name": ACTION_CHECKBOX_NAME,
            "opts": self.opts,
        }
        return TemplateResponse(request, "students/erase.html", context)

    @staticmethod
    def _preview(student: Student) -> tuple[list[str], str]:
        try:
            return preview_erasure(student.email), ""
        except CannotErase as refusal:
            return [], refusal.message

    def _erase_all(self, request: HttpRequest, students: list[Student]) -> None:
        refused: list[str] = []
        erased: list[str] = []
        try:
            for student in students:
                try:
                    erase_all(student.email)
                except CannotErase as refusal:
                    refused.append(f"{student.email}: {refusal.message}")
                else:
                    # The number, because the address has just been erased.
                    erased.append(str(student.pk))
                    student.refresh_from_db()
                    self.log_change(request, student, "Datos personales borrados")
        finally:
            self._say_erased(request, erased, refused)

    def _say_erased(self, request: HttpRequest, erased: list[str], refused: list[str]) -> None:
        if erased:
            who = "del alumno n.º" if len(erased) == 1 else "de los alumnos n.º"
            text = f"Borrados los datos {who} {', '.join(erased)}."
            self.message_user(request, text, messages.SUCCESS)
        if refused:
            self.message_user(request, f"Sin borrar: {' '.join(refused)}", messages.ERROR)

    def has_erase_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("students.delete_student")

    @admin.display(description="ver")
    def elsewhere(self, student: Student) -> SafeString:
        if student.pk is None:
            return SafeString("")
        return links(
            *(
                list_link(text, changelist, student__id__exact=student.pk)
                for text, changelist in (
                    ("Pedidos", "orders_order"),
                    ("Matrículas", "classroom_enrolment"),
                    ("Altas en el aula", "classroom_provisioning"),
                    ("Códigos propios", "pricing_promocode"),
                )
            )
        )


@admin.register(Consent)
class ConsentAdmin(OrderNumberSearch, ReadOnlyAdmin):
    logs_reading = True
    list_display = ("student", moment("accepted_at", "aceptado"), "kind", "legal_text", "order_id")
    list_select_related = ("student", "legal_text")
    list_filter = ("kind", range_filter("accepted_at", "aceptado"))
    search_fields = ("student__email",)
    link_lookups = ("order_id",)


@admin.register(SignIn)
class SignInAdmin(ReadOnlyAdmin):
    """Open and ended sign-ins. A student has at most two open ones."""

    logs_reading = True
    list_display = ("student", moment("started_at", "desde"), moment("ended_at", "hasta"))
    list_select_related = ("student",)
    list_filter = (range_filter("started_at", "empezado"),)
    search_fields = ("student__email",)
    fields = ("student", "started_at", "ended_at")


@admin.register(ErasureRequest)
class ErasureRequestAdmin(ReadOnlyAdmin):
    """Requests for erasure. The admin action on students carries them out and deletes the row."""

    logs_reading = True
    list_display = ("student", moment("requested_at", "pedido el"))
    list_select_related = ("student",)
    search_fields = ("student__email",)
    fields = ("student", "requested_at")
