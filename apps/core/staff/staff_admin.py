"""The log of staff and the recycle bin in the admin."""

from typing import Any

from django.apps import apps
from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.db.models import Case, F, QuerySet, TextField, When
from django.db.models.functions import Left
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from apps.core.models import DeletedRow, StaffAction
from apps.core.staff.admin_base import NOTHING, ReadOnlyAdmin, moment
from apps.core.staff.admin_filters import LoggedFilter
from apps.core.staff.admin_log import log_action, logged_numbers
from apps.core.staff.recycle_bin import SWITCHED_OFF, CannotRestore, restore

# Letters of a detail in the list. The entry's own page has all of them.
LONGEST_IN_LIST = 1_000
# Rows that one press brings back, with all that was deleted with them.
MOST_RESTORED = 1_000


def _kind_of_row(label: str) -> str:
    """ "orders.order" as "pedido"."""
    try:
        return str(apps.get_model(label)._meta.verbose_name) if label else NOTHING
    except LookupError:
        return label


def _link_to_rows(action: Any) -> SafeString | None:
    """A link to the rows of an action, if their list can show them and the text names them."""
    pages = {model._meta.label_lower: page for model, page in admin.site._registry.items()}
    page = pages.get(action.about)
    if page is None or LoggedFilter not in page.list_filter or not logged_numbers(action.shown):
        return None
    url = reverse(f"admin:{action.about.replace('.', '_')}_changelist")
    name = LoggedFilter.parameter_name
    return format_html('<a href="{}?{}={}">{}</a>', url, name, action.pk, action.object_repr)


def _in_lines(text: str) -> SafeString:
    return format_html_join(SafeString("<br>"), "{}", ((line,) for line in text.splitlines()))


class ActorFilter(admin.SimpleListFilter):
    """By account. A filter of the names would read the whole log."""

    title = "quién"
    parameter_name = "cuenta"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        staff = get_user_model().objects.filter(is_staff=True).order_by("username")
        return [(str(user.pk), user.get_username()) for user in staff]

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        value = self.value() or ""
        return rows.filter(actor=int(value)) if value.isdecimal() and len(value) < 19 else None


class AboutFilter(admin.SimpleListFilter):
    title = "tipo"
    parameter_name = "tipo"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        pages = admin.site._registry
        found = [
            (model._meta.label_lower, capfirst(str(model._meta.verbose_name_plural)))
            for model in pages
        ]
        return sorted(found, key=lambda pair: pair[1])

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        return rows.filter(about=self.value()) if self.value() else None


@admin.register(StaffAction)
class StaffActionAdmin(ReadOnlyAdmin):
    list_display = (
        moment("at", "cuándo"), "actor_name", "kind", "about_shown", "row", "beginning",
    )  # fmt: skip
    list_filter = ("kind", ActorFilter, AboutFilter, "at")
    search_fields = ("actor_name", "object_repr", "object_id", "text")
    search_help_text = "Quién, de qué, o lo que pone en el detalle"
    fields = ("at", "actor_name", "kind", "about_shown", "row", "detail")
    readonly_fields = ("about_shown", "row", "detail")

    def get_queryset(self, request: HttpRequest) -> QuerySet[StaffAction]:
        """The rows with the beginning of their text; of an action with all its row numbers."""
        numbers = When(kind=StaffAction.Kind.ACTION, then=F("text"))
        beginning = Left("text", LONGEST_IN_LIST + 1)
        shown = Case(numbers, default=beginning, output_field=TextField())
        rows: QuerySet[StaffAction] = super().get_queryset(request)
        return rows.defer("text").annotate(shown=shown)

    @admin.display(description="tipo", ordering="about")
    def about_shown(self, action: StaffAction) -> str:
        return _kind_of_row(action.about)

    @admin.display(description="de qué")
    def row(self, action: StaffAction) -> SafeString | str:
        if not action.object_id and action.kind == StaffAction.Kind.ACTION:
            return _link_to_rows(action) or action.object_repr
        if not action.object_id or action.kind == StaffAction.Kind.DELETED:
            return action.object_repr
        try:
            name = f"admin:{action.about.replace('.', '_')}_change"
            url = reverse(name, args=[action.object_id])
        except NoReverseMatch:
            return action.object_repr
        return format_html('<a href="{}">{}</a>', url, action.object_repr)

    @admin.display(description="detalle")
    def detail(self, action: StaffAction) -> SafeString:
        return _in_lines(action.text)

    @admin.display(description="detalle")
    def beginning(self, action: Any) -> SafeString:
        is_cut = len(action.shown) > LONGEST_IN_LIST
        return _in_lines(f"{action.shown[:LONGEST_IN_LIST]}…" if is_cut else action.shown)


@admin.register(DeletedRow)
class DeletedRowAdmin(ReadOnlyAdmin):
    """The recycle bin. A row comes back through the list's action."""

    list_display = (
        "object_repr",
        "about_shown",
        "deleted_by",
        moment("deleted_at", "borrado"),
        moment("kept_until", "se puede recuperar hasta", ordering="deleted_at"),
    )
    list_filter = ("deleted_at",)
    search_fields = ("object_repr", "deleted_by")
    fields = ("object_repr", "about_shown", "deleted_by", "deleted_at", "with_it")
    readonly_fields = ("about_shown", "with_it")
    actions = ("restore",)
    logged_by_row = ("restore",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[DeletedRow]:
        """Only rows of models that this member of staff may see."""
        # The data of one row, with those of all that was deleted with it, can have megabytes.
        rows: QuerySet[DeletedRow] = super().get_queryset(request).defer("data")
        if not self.has_view_permission(request):
            return rows  # Django's page finds the row and then refuses it.
        return rows.filter(about__in=_labels(request, "view"))

    @admin.display(description="tipo", ordering="about")
    def about_shown(self, row: DeletedRow) -> str:
        return _kind_of_row(row.about)

    @admin.display(description="con ello")
    def with_it(self, row: DeletedRow) -> str:
        others = len(row.data) - 1
        return f"{others} {'fila' if others == 1 else 'filas'} más" if others else NOTHING

    @admin.action(description="Recuperar", permissions=["restore"])
    def restore(self, request: HttpRequest, rows: QuerySet[DeletedRow]) -> None:
        """Restore the rows of models that this member of staff may create; name the others."""
        allowed = _labels(request, "add")
        left = MOST_RESTORED
        # The newest first: what contained the others was deleted after them.
        for row in rows.order_by("-pk"):
            if left <= 0:
                text = f"El resto sigue en la papelera, desde «{row}»: recupera menos a la vez."
                self.message_user(request, text, messages.ERROR)
                break
            left -= len(row.data)
            try:
                if row.about not in allowed:
                    raise CannotRestore(
                        f"no tienes permiso para crear nada del tipo «{_kind_of_row(row.about)}»."
                    )
                restored = restore(row, by=request.user)
            except CannotRestore as refusal:
                sentence = f"No se puede recuperar «{row}»: {refusal.message}"
                log_action(request, row, sentence)
                self.message_user(request, sentence, messages.ERROR)
            else:
                off = " Está sin activar." if row.about in SWITCHED_OFF else ""
                log_action(request, restored, "Recuperado de la papelera")
                text = f"Recuperado: {row.object_repr}.{off}"
                self.message_user(request, text, messages.SUCCESS)

    def has_restore_permission(self, request: HttpRequest) -> bool:
        # A deleted row has no edit form, so its change permission controls this action.
        return request.user.has_perm("core.change_deletedrow")


def _labels(request: HttpRequest, verb: str) -> list[str]:
    return [
        model._meta.label_lower
        for model in admin.site._registry
        if request.user.has_perm(f"{model._meta.app_label}.{verb}_{model._meta.model_name}")
    ]
