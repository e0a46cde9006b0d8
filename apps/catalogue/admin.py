from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.safestring import SafeString

from apps.catalogue.exchange.views import exchange_urls, may_export, may_import
from apps.catalogue.models import Degree, Lesson, PriceChange, Subject, University
from apps.catalogue.price_history import unproven_list_prices
from apps.catalogue.services import prices_changed_by, set_lesson_status
from apps.catalogue.text import search_form, sort_form
from apps.core.admin_base import (
    NOTHING,
    AcademyModelAdmin,
    ReadOnlyAdmin,
    ReadOnlyRowsInline,
    RowsInline,
    list_link,
    moment,
    money,
    search_normalized,
)
from apps.core.money import format_euros, list_price_cents, to_cents


def sample_mark(university: University) -> str:
    return "Ejemplo" if university.is_sample else NOTHING


class CatalogueAdmin(AcademyModelAdmin):
    """Records who changes a price. The search ignores accents."""

    filed_in = "name_sort"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        form = search_form if self.filed_in == "name_search" else sort_form
        return search_normalized(request, queryset, field=self.filed_in, form=form(search_term))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        with prices_changed_by(request.user):
            return super().changeform_view(request, object_id, form_url, extra_context)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Allow deleting a row with its price history, which nobody may delete alone."""
        deleted, counts, forbidden, protected = super().get_deleted_objects(objs, request)
        return deleted, counts, forbidden - {PriceChange._meta.verbose_name}, protected


class DegreeRows(RowsInline):
    model = Degree
    fields = ("name", "acronym", "number_of_courses", "students_offset", "subjects_count")
    readonly_fields = ("subjects_count",)


@admin.register(University)
class UniversityAdmin(CatalogueAdmin):
    list_display = (
        "name",
        "acronym",
        "status",
        "degrees_count",
        "subjects_count",
        "students",
        "sample",
    )
    list_filter = ("status", "is_sample")
    search_fields = ("name",)
    fields = (
        "name",
        "acronym",
        "status",
        "logo_url",
        "students_offset",
        ("degrees_count", "subjects_count", "students"),
        "sample",
    )
    readonly_fields = ("degrees_count", "subjects_count", "students", "sample")
    inlines = (DegreeRows,)

    @admin.display(description="alumnos")
    def students(self, university: University) -> int:
        return university.students

    @admin.display(description="ejemplo", ordering="is_sample")
    def sample(self, university: University) -> str:
        return sample_mark(university)


@admin.register(Degree)
class DegreeAdmin(CatalogueAdmin):
    list_display = ("name", "acronym", "university", "subjects_count", "students_count", "sample")
    list_select_related = ("university",)
    list_filter = ("university",)
    search_fields = ("name",)
    autocomplete_fields = ("university",)
    fields = (
        "university",
        "name",
        "acronym",
        "number_of_courses",
        "students_offset",
        ("subjects_count", "students_count"),
        "subjects",
    )
    readonly_fields = ("subjects_count", "students_count", "subjects")

    @admin.display(description="alumnos")
    def students_count(self, degree: Degree) -> int:
        return degree.students_count

    @admin.display(description="ejemplo", ordering="university__is_sample")
    def sample(self, degree: Degree) -> str:
        return sample_mark(degree.university)

    @admin.display(description="asignaturas del grado")
    def subjects(self, degree: Degree) -> SafeString | str:
        if degree.pk is None:
            return NOTHING
        return list_link("Ver la lista", "catalogue_subject", degree__id__exact=degree.pk)


class LessonRows(RowsInline):
    model = Lesson
    fields = ("position", "title", "price", "status")


class PriceChangeRows(ReadOnlyRowsInline):
    model = PriceChange
    fields = ("changed_at", "before", "after", "changed_by")
    verbose_name_plural = "historial de precios"

    def get_queryset(self, request: HttpRequest) -> QuerySet[PriceChange]:
        changes: QuerySet[PriceChange] = super().get_queryset(request)
        return changes.select_related("changed_by")


@admin.register(Subject)
class SubjectAdmin(CatalogueAdmin):
    filed_in = "name_search"
    list_display = (
        "name",
        "degree",
        "price",
        "discount",
        "active",
        "lessons_on_sale",
        "enrolled_students_count",
        "sample",
    )
    list_select_related = ("degree__university",)
    list_filter = ("active", "university")
    link_lookups = ("degree__id__exact",)
    search_fields = ("name",)
    autocomplete_fields = ("degree",)
    fields = (
        "degree",
        "name",
        "final_price",
        "total_discounts",
        "list_price_warning",
        "active",
        "enrolled_offset",
        ("active_lessons_count", "enrolled_students_count"),
    )
    readonly_fields = ("list_price_warning", "active_lessons_count", "enrolled_students_count")
    inlines = (LessonRows, PriceChangeRows)
    actions = ("put_on_sale", "take_off_sale")

    def get_urls(self) -> list[URLPattern]:
        return [*exchange_urls(self.admin_site), *super().get_urls()]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        may = {"may_import": may_import(request), "may_export": may_export(request)}
        return super().changelist_view(request, {**may, **(extra_context or {})})

    @admin.display(description="precio", ordering="final_price")
    def price(self, subject: Subject) -> str:
        return money(subject.final_price)

    @admin.display(description="dto.", ordering="total_discounts")
    def discount(self, subject: Subject) -> str:
        return (
            f"{subject.total_discounts}\N{NO-BREAK SPACE}%" if subject.total_discounts else NOTHING
        )

    @admin.display(description="lecciones", ordering="active_lessons_count")
    def lessons_on_sale(self, subject: Subject) -> int:
        return subject.active_lessons_count

    @admin.display(description="ejemplo", ordering="degree__university__is_sample")
    def sample(self, subject: Subject) -> str:
        return sample_mark(subject.degree.university)

    @admin.display(description="precio tachado")
    def list_price_warning(self, subject: Subject) -> str:
        if subject.pk is None or not subject.total_discounts:
            return NOTHING
        shown = format_euros(
            list_price_cents(to_cents(subject.final_price), subject.total_discounts)
        )
        if not unproven_list_prices(Subject.objects.filter(pk=subject.pk)):
            return shown
        return f"⚠ {shown}: no se ha cobrado nunca en los últimos 30 días."

    @admin.action(description="Poner a la venta", permissions=["change"])
    def put_on_sale(self, request: HttpRequest, subjects: QuerySet[Subject]) -> None:
        self._set_active(request, subjects, active=True)

    @admin.action(description="Retirar de la venta", permissions=["change"])
    def take_off_sale(self, request: HttpRequest, subjects: QuerySet[Subject]) -> None:
        self._set_active(request, subjects, active=False)

    def _set_active(
        self, request: HttpRequest, subjects: QuerySet[Subject], *, active: bool
    ) -> None:
        for subject in subjects:
            subject.active = active
            subject.save(update_fields=["active"])
        self.message_user(request, f"Asignaturas cambiadas: {len(subjects)}.")


@admin.register(Lesson)
class LessonAdmin(CatalogueAdmin):
    list_display = ("title", "subject", "degree", "amount", "status", "position")
    list_select_related = ("subject__degree",)
    list_filter = ("status", "subject__university")
    search_fields = ("title", "subject__name")
    autocomplete_fields = ("subject",)
    fields = ("subject", "title", "price", "status", "position")
    inlines = (PriceChangeRows,)
    actions = ("expire", "reopen")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Match each word in the title or in the subject's name, as in "micro pec 1"."""
        for word in search_term.split():
            queryset = queryset.filter(
                Q(title__icontains=word) | Q(subject__name_search__contains=search_form(word))
            )
        return queryset, False

    @admin.display(description="precio", ordering="price")
    def amount(self, lesson: Lesson) -> str:
        return money(lesson.price)

    @admin.display(description="grado", ordering="subject__degree__name_sort")
    def degree(self, lesson: Lesson) -> str:
        return lesson.subject.degree.name

    @admin.action(description="Marcar como caducadas", permissions=["change"])
    def expire(self, request: HttpRequest, lessons: QuerySet[Lesson]) -> None:
        changed = set_lesson_status(lessons, Lesson.Status.EXPIRED)
        self.message_user(request, f"Lecciones caducadas: {changed}.")

    @admin.action(description="Marcar como activas", permissions=["change"])
    def reopen(self, request: HttpRequest, lessons: QuerySet[Lesson]) -> None:
        changed = set_lesson_status(lessons, Lesson.Status.ACTIVE)
        self.message_user(request, f"Lecciones activas: {changed}.")


@admin.register(PriceChange)
class PriceChangeAdmin(ReadOnlyAdmin):
    list_display = (
        "what",
        moment("changed_at", "cuándo"),
        "price_before",
        "price_after",
        "changed_by",
    )
    list_select_related = ("subject", "lesson__subject", "changed_by")
    list_filter = (("subject", admin.EmptyFieldListFilter), "changed_by")
    search_fields = ("subject__name", "lesson__subject__name", "lesson__title")
    date_hierarchy = "changed_at"

    @admin.display(description="de qué")
    def what(self, change: PriceChange) -> str:
        lesson: Lesson | None = change.lesson
        return f"{lesson.subject.name}: {lesson.title}" if lesson else str(change.subject)

    @admin.display(description="antes", ordering="before")
    def price_before(self, change: PriceChange) -> str:
        return money(change.before)

    @admin.display(description="después", ordering="after")
    def price_after(self, change: PriceChange) -> str:
        return money(change.after)
