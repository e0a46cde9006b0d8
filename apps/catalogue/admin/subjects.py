from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern

from apps.catalogue.admin.catalogue_admin import CatalogueAdmin, sample_mark
from apps.catalogue.admin.price_admin import BulkPriceActions, PriceChangeRows, bulk_price_answer
from apps.catalogue.admin.price_forms import LessonForm, SubjectForm
from apps.catalogue.admin.subject_pages import subject_urls
from apps.catalogue.exchange.views import exchange_urls, may_export, may_import
from apps.catalogue.models import Lesson, Subject
from apps.catalogue.price_history import has_proven_list_price
from apps.catalogue.price_limits import cheap_stay_off_sale, check_put_on_sale
from apps.catalogue.sale_state import (
    not_sold,
    sale_problems,
    sale_problems_of,
    with_sale_problem,
)
from apps.catalogue.services import set_lesson_status
from apps.catalogue.text import search_form
from apps.catalogue.vat import may_change_vat
from apps.core.money import format_euros, list_price_cents, to_cents
from apps.core.staff.admin_base import NOTHING, RowsInline, Tone, money, pill
from apps.core.staff.admin_conflicts import GuardsRows
from apps.core.staff.admin_filters import LoggedFilter
from apps.core.staff.admin_log import MOST_LISTED, log_rows
from apps.core.staff.fresh_password import AsksPasswordForFields
from apps.core.staff.limits import OverLimit
from apps.core.staff.questions import how_many, question

# Each takes 17 ms, for what it changes besides.
MOST_AT_ONCE = 300


class LessonRows(GuardsRows, RowsInline):
    model = Lesson
    form = LessonForm
    fields = ("title", "kind", "price", "status")


class SaleFilter(admin.SimpleListFilter):
    title = "a la venta"
    parameter_name = "venta"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        problems = [("si", "Sí, sin problemas"), ("no", "No, por lo que sea")]
        return [*problems, *((each.code, each.label) for each in sale_problems())]

    def queryset(self, request: HttpRequest, subjects: Any) -> Any:
        if self.value() == "si":
            return subjects.filter(sale_problem="")
        if self.value() == "no":
            return subjects.filter(not_sold())
        for each in sale_problems():
            if each.code == self.value():
                return subjects.filter(each.condition())
        return None


@admin.register(Subject)
class SubjectAdmin(AsksPasswordForFields, BulkPriceActions, CatalogueAdmin):
    form = SubjectForm
    # A wrong one costs a part of each sale, and an issued invoice keeps it.
    password_fields = ("vat",)
    password_to_add = True
    filed_in = "name_search"
    list_display = (
        "name",
        "degree",
        "price",
        "discount",
        "sale",
        "lessons_on_sale",
        "enrolled_students_count",
        "sample",
    )
    list_select_related = ("degree__university",)
    list_filter = (SaleFilter, "complete_only", "semester", "university", LoggedFilter)
    link_lookups = ("degree__id__exact",)
    search_fields = ("name",)
    autocomplete_fields = ("degree",)
    # The long texts are folded, so that the lessons follow what every subject needs.
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "degree",
                    "name",
                    ("final_price", "vat"),
                    "total_discounts",
                    "list_price_warning",
                    "active",
                    "sale_problems",
                    ("active_lessons_count", "enrolled_students_count"),
                )
            },
        ),
        (
            "La ficha",
            {
                "fields": (
                    ("semester", "code"),
                    ("language", "hours"),
                    ("exam_on", "resit_on"),
                    ("complete_only", "videos_count"),
                    "enrolled_offset",
                )
            },
        ),
        (
            "Textos de su página",
            {"classes": ("collapse",), "fields": ("pecs_content", "exam_content", "questions")},
        ),
    )
    readonly_fields = (
        "list_price_warning",
        "sale_problems",
        "active_lessons_count",
        "enrolled_students_count",
    )
    inlines = (LessonRows, PriceChangeRows)
    actions = ("change_prices", "put_on_sale", "take_off_sale", "expire_lessons", "open_lessons")
    on_whole_lists = ("change_prices", "expire_lessons", "open_lessons")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = super().get_readonly_fields(request, obj)
        return fields if may_change_vat(request.user) else (*fields, "vat")

    def save_model(self, request: HttpRequest, obj: Subject, form: Any, change: bool) -> None:
        """Give a new subject the VAT of its degree if who adds it may not choose it."""
        if not change and not may_change_vat(request.user):
            of_degree = Subject.objects.filter(degree=obj.degree_id).vat_by_degree()
            obj.vat = Subject.objects.vat_of_new(obj.degree_id)
            why = (
                ", como las demás de su grado."
                if of_degree
                else ". Si debe ser otro, pide que lo cambie alguien que pueda."
            )
            self.message_user(request, f"IVA: {obj.get_vat_display()}{why}")
        super().save_model(request, obj, form, change)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Subject]:
        return with_sale_problem(super().get_queryset(request))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Match the code at the university, too, if all of it was typed."""
        with_code = queryset.filter(code=search_term.strip().upper()[:20])
        if search_term.strip() and with_code.exists():
            return with_code, False
        return super().get_search_results(request, queryset, search_term)

    def get_urls(self) -> list[URLPattern]:
        return [
            *exchange_urls(self.admin_site),
            *subject_urls(self.admin_site),
            *super().get_urls(),
        ]

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

    @admin.display(description="a la venta", ordering="active")
    def sale(self, subject: Any) -> str:
        for each in sale_problems():
            if each.code == subject.sale_problem:
                return pill(each.label, each.tone)
        return pill("Sí", Tone.GOOD)

    @admin.display(description="qué falta para venderla")
    def sale_problems(self, subject: Subject) -> str:
        if subject.pk is None:
            return NOTHING
        problems = ". ".join(each.label for each in sale_problems_of(subject))
        return problems or "Nada: está a la venta"

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
        if has_proven_list_price(subject):
            return shown
        return f"⚠ {shown}: no es el precio más bajo de los 30 días anteriores al actual."

    @admin.action(description="Cambiar precios…", permissions=["change_prices"])
    def change_prices(self, request: HttpRequest, subjects: QuerySet[Subject]) -> HttpResponse:
        return bulk_price_answer(request, subjects)

    @admin.action(description="Poner a la venta", permissions=["change"])
    def put_on_sale(
        self, request: HttpRequest, subjects: QuerySet[Subject]
    ) -> TemplateResponse | None:
        return self._set_active(request, subjects, active=True)

    @admin.action(description="Retirar de la venta", permissions=["change"])
    def take_off_sale(
        self, request: HttpRequest, subjects: QuerySet[Subject]
    ) -> TemplateResponse | None:
        return self._set_active(request, subjects, active=False)

    @admin.action(description="Caducar sus lecciones", permissions=["change_lessons"])
    def expire_lessons(
        self, request: HttpRequest, subjects: QuerySet[Subject]
    ) -> TemplateResponse | None:
        return _change_lessons(self, request, subjects, Lesson.Status.EXPIRED)

    @admin.action(description="Abrir sus lecciones", permissions=["change_lessons"])
    def open_lessons(
        self, request: HttpRequest, subjects: QuerySet[Subject]
    ) -> TemplateResponse | None:
        return _change_lessons(self, request, subjects, Lesson.Status.ACTIVE)

    def has_change_lessons_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("catalogue.change_lesson")

    def _set_active(
        self, request: HttpRequest, subjects: QuerySet[Subject], *, active: bool
    ) -> TemplateResponse | None:
        """Change what is on sale after a question, and log which subjects that changes."""
        changed = list(subjects.exclude(active=active))
        if not changed:
            self.message_user(request, "Ya estaban así: no cambia nada.", messages.WARNING)
            return None
        if len(changed) > MOST_AT_ONCE:
            self.message_user(
                request, f"Elige como mucho {MOST_AT_ONCE} de una vez.", messages.ERROR
            )
            return None
        what = how_many(len(changed), "asignatura", "asignaturas")
        if active:
            try:
                check_put_on_sale(request.user, changed)
            except OverLimit as refusal:
                self.message_user(request, refusal.message, messages.ERROR)
                return None
            title, button = "¿Poner a la venta estas asignaturas?", "Ponerlas a la venta"
            facts = (
                f"Se {'pone' if len(changed) == 1 else 'ponen'} a la venta {what}.",
                "Si con ello se abre una universidad anunciada, quienes la esperan reciben su "
                "aviso en unos minutos, y no se puede recuperar.",
            )
        else:
            title, button = "¿Retirar de la venta estas asignaturas?", "Retirarlas"
            facts = (
                f"Se {'retira' if len(changed) == 1 else 'retiran'} de la venta {what}.",
                "Las que ya estaban retiradas no cambian.",
            )
        names = [str(subject) for subject in changed]
        asked = question(
            self, request, subjects, title=title, facts=facts, names=names, button=button
        )
        if asked is not None:
            return asked
        ids = [subject.pk for subject in changed]
        # One by one, and so logged before: a whole list would hold the locks of its universities.
        log_rows(request, Subject, ids, "Puestas a la venta" if active else "Retiradas")
        for subject in changed:
            subject.active = active
            subject.save(update_fields=["active"])
        self.message_user(request, f"Asignaturas cambiadas: {len(changed)}.")
        return None


def _change_lessons(
    page: Any, request: HttpRequest, rows: QuerySet[Any], status: Lesson.Status
) -> TemplateResponse | None:
    """Expire or open lessons, or those of subjects, after a question.

    The log names the lessons that this changes, and no other ones: with it, a press by mistake is
    put right.
    """
    is_expiry = status == Lesson.Status.EXPIRED
    of_subjects = rows.model is Subject
    chosen = {"subject__in" if of_subjects else "pk__in": rows.order_by().values("pk")}
    lessons = Lesson.objects.filter(**chosen)
    count = lessons.exclude(status=status).count()
    if not count:
        page.message_user(request, "Ya estaban así: no cambia nada.", messages.WARNING)
        return None
    what = how_many(count, "lección", "lecciones")
    if of_subjects:
        what += f" de {how_many(rows.order_by().count(), 'asignatura', 'asignaturas')}"
    if is_expiry:
        title, button = "¿Caducar estas lecciones?", "Caducarlas"
        fact = (
            f"Caduca {what}: deja de venderse."
            if count == 1
            else f"Caducan {what}: dejan de venderse."
        )
    else:
        title, button = "¿Abrir estas lecciones?", "Abrirlas"
        fact = (
            f"Se abre {what}: se vende desde ahora."
            if count == 1
            else f"Se abren {what}: se venden desde ahora, también las que caducaron hace tiempo."
        )
    facts = (fact, "«Actividad» guarda el número de cada lección que cambia.")
    asked = question(page, request, rows, title=title, facts=facts, button=button)
    if asked is not None:
        return asked
    try:
        with transaction.atomic(), cheap_stay_off_sale(request.user):
            changed = set_lesson_status(lessons, status)
            for start in range(0, len(changed), MOST_LISTED):
                part = changed[start : start + MOST_LISTED]
                log_rows(request, Lesson, part, "Caducadas" if is_expiry else "Abiertas")
    except OverLimit as refusal:
        page.message_user(request, refusal.message, messages.ERROR)
        return None
    word = "caducadas" if is_expiry else "activas"
    page.message_user(request, f"Lecciones {word}: {len(changed)}.")
    return None


@admin.register(Lesson)
class LessonAdmin(BulkPriceActions, CatalogueAdmin):
    form = LessonForm
    list_display = ("title", "subject", "degree", "amount", "status", "position")
    list_select_related = ("subject__degree",)
    list_filter = ("status", "subject__semester", "subject__university", LoggedFilter)
    search_fields = ("title", "subject__name")
    autocomplete_fields = ("subject",)
    fields = ("subject", "title", "kind", "price", "status", "syllabus")
    inlines = (PriceChangeRows,)
    actions = ("change_prices", "expire", "reopen")
    on_whole_lists = actions

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

    @admin.action(description="Cambiar precios…", permissions=["change_prices"])
    def change_prices(self, request: HttpRequest, lessons: QuerySet[Lesson]) -> HttpResponse:
        return bulk_price_answer(request, lessons)

    @admin.action(description="Marcar como caducadas", permissions=["change"])
    def expire(self, request: HttpRequest, lessons: QuerySet[Lesson]) -> TemplateResponse | None:
        return _change_lessons(self, request, lessons, Lesson.Status.EXPIRED)

    @admin.action(description="Marcar como activas", permissions=["change"])
    def reopen(self, request: HttpRequest, lessons: QuerySet[Lesson]) -> TemplateResponse | None:
        return _change_lessons(self, request, lessons, Lesson.Status.ACTIVE)
