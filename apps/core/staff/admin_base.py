"""Base classes and helpers for the admin pages of all apps."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ORDER_VAR
from django.core.exceptions import SuspiciousOperation, ValidationError
from django.core.paginator import Paginator
from django.db import IntegrityError, transaction
from django.db.models import (
    DecimalField,
    EmailField,
    ForeignKey,
    ManyToManyField,
    Model,
    QuerySet,
)
from django.forms import BaseInlineFormSet, Field
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from apps.core.input_fields import (
    EmailFormField,
    EurosField,
    RowField,
    RowsField,
    is_row_number,
)
from apps.core.models import StaffAction
from apps.core.money import format_euros, grouped, to_cents
from apps.core.public_pictures import PictureField
from apps.core.staff.admin_log import log_reading, log_rows
from apps.core.staff.admin_lookups import GuardedLookups
from apps.core.staff.admin_search import SearchedList
from apps.core.staff.admin_spanish import SpanishAdmin
from apps.core.staff.fresh_password import PasswordConfirmation
from apps.core.staff.picture_input import PictureInput
from apps.core.staff.public_texts import PublicTexts
from apps.core.staff.recycle_bin import keep
from apps.core.staff.staff_log import with_values

# The type stubs' classes are generic. Django's own are not.
if TYPE_CHECKING:
    _TabularInline = admin.TabularInline[Any, Any]
    _Paginator = Paginator[Any]
    _InlineFormSet = BaseInlineFormSet[Any, Any, Any]
else:
    _TabularInline = admin.TabularInline
    _Paginator = Paginator
    _InlineFormSet = BaseInlineFormSet

NOTHING = "–"
# All decimal columns of the shop are amounts and percentages that staff type with a comma. Chosen
# rows keep the labels under which they were offered.
FORM_FIELDS: dict[Any, dict[str, Any]] = {
    DecimalField: {"form_class": EurosField},
    EmailField: {"form_class": EmailFormField},
    ForeignKey: {"form_class": RowField},
    ManyToManyField: {"form_class": RowsField},
    PictureField: {"widget": PictureInput},
}
# Where the form of a list with editable columns names a row.
_ROW_NUMBER = re.compile(r"form-\d+-id")
# The most rows that a list counts and offers pages for. Older rows are found by search and filter.
MOST_COUNTED = 2_000
# Letters of the order of a list in its address, which has numbers of columns.
LONGEST_ORDER = 60
# Links to other rows, such as the subjects of a teacher, of all rows that are deleted together.
MOST_LINKS_DELETED = 2_000
# The most rows of one file.
MOST_EXPORTED = 50_000
# The most rows of an action that asks first: its question sends each row as a field of a form, of
# which Django takes 1,000.
MOST_ASKED_ABOUT = 500


def _is_taken(field: Field, value: Any) -> bool:
    try:
        field.clean(value)
    except ValidationError:
        return False
    return True


class BoundedPaginator(_Paginator):
    """Counts rows up to `MOST_COUNTED`, because PostgreSQL reads every row that it counts."""

    most_counted = MOST_COUNTED

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        # The order does not change the count, and sorting would read all rows.
        return int(rows.order_by()[:MOST_COUNTED].count())


class AcademyModelAdmin(PublicTexts, GuardedLookups, SpanishAdmin):
    """Base class for admin pages: 50 rows a page, no full count, look-ups by allow-list."""

    formfield_overrides = FORM_FIELDS
    list_per_page = 50
    paginator = BoundedPaginator
    empty_value_display = NOTHING
    # Actions that add log entries of their own, one for each row.
    logged_by_row: tuple[str, ...] = ("delete_selected",)
    # Actions whose first answer is a question with all chosen rows.
    asking_first: tuple[str, ...] = ("delete_selected",)
    # Actions that take any number of rows: with a few statements, or on a page of their own.
    on_whole_lists: tuple[str, ...] = ()
    # Whether opening a row is logged, as personal data are read.
    logs_reading = False
    # Counts beside every choice of every filter would read the whole table.
    show_facets = admin.ShowFacets.NEVER
    # Skip the extra query that counts all rows beside a filtered list.
    show_full_result_count = False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Refuse a saved list with a row number that no database stores (`list_editable`)."""
        numbers = (request.POST[name] for name in request.POST if _ROW_NUMBER.fullmatch(name))
        if not all(is_row_number(number) for number in numbers):
            raise SuspiciousOperation
        return super().changelist_view(request, extra_context)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Refuse a chosen row whose number no database stores: Django would ask for its name.

        Refuse to save a copy, too: no page offers it, and Django would add a row without what
        `add_view` asks, such as the password.
        """
        names = {*self.get_autocomplete_fields(request), *(f.name for f in self.opts.many_to_many)}
        chosen = (number for name in names for number in request.POST.getlist(name) if number)
        if not all(map(is_row_number, chosen)) or "_saveasnew" in request.POST:
            raise SuspiciousOperation
        try:
            return super().changeform_view(request, *args, **kwargs)
        except IntegrityError:
            # Somebody else has just stored such a row. The form finds it now, and says so.
            return super().changeform_view(request, *args, **kwargs)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """The values of a new row that the address has, without those that a field would refuse."""
        fields = self.get_form(request).base_fields
        said = super().get_changeform_initial_data(request)
        return {
            name: value for name, value in said.items()
            if name in fields and _is_taken(fields[name], value)
        }  # fmt: skip

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """The class of the form, which knows as `editor` who sends it."""
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        form.editor = request.user
        return form

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return SearchedList

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Refuse an order by hundreds of columns, and a date outside the calendar.

        The year 9999 of a date hierarchy has no next one.
        """
        if len(request.GET.get(ORDER_VAR, "")) > LONGEST_ORDER:
            raise IncorrectLookupParameters
        try:
            return super().get_changelist_instance(request)
        except (OverflowError, ValueError) as error:
            raise IncorrectLookupParameters from error

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        """Refuse a row number that no database stores."""
        if not all(map(is_row_number, request.POST.getlist(ACTION_CHECKBOX_NAME))):
            raise SuspiciousOperation
        return super().response_action(request, queryset, *args, **kwargs)

    def get_actions(self, request: HttpRequest) -> Any:
        """The actions of the list. Each of them logs the rows that it gets, and has a limit.

        Django alone reads from the request which action runs on which rows: a second reading could
        differ, and then an export would leave no trace.
        """
        actions: Any = super().get_actions(request)
        return {
            name: (self._guarded(function, name, title), name, title)
            for name, (function, _, title) in actions.items()
        }

    def _guarded(self, action: Callable[..., Any], name: str, title: Any) -> Callable[..., Any]:
        if name not in self.logged_by_row:
            action = _logged(action, name, title)
        if name in self.on_whole_lists:
            return action
        if name.startswith("export"):
            return _limited(action, MOST_EXPORTED)
        return _limited(action, MOST_ASKED_ABOUT if name in self.asking_first else MOST_COUNTED)

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> Any:
        # A refused form shows the row as well.
        if self.logs_reading and obj is not None:
            log_reading(request, obj)
        if obj is not None:
            context["page_title"] = self.page_title(obj)
        return super().render_change_form(request, context, add, change, form_url, obj)

    def page_title(self, row: Any) -> str:
        """The heading of a row's page."""
        return str(row)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the row's changes, with old and new values of its personal data."""
        page = super().history_view(request, object_id, extra_context)
        self._log_opened(request, object_id)
        return page

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Ask before a row is deleted. The question names the row and what goes with it."""
        page = super().delete_view(request, object_id, extra_context)
        self._log_opened(request, object_id)
        return page

    def _log_opened(self, request: HttpRequest, object_id: str) -> None:
        # A deleted row is in the log already, as such.
        row = self.get_object(request, object_id) if self.logs_reading else None
        if row is not None:
            log_reading(request, row)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        message = super().construct_change_message(request, form, formsets, add)
        return message if add else with_values(message, form, formsets)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """Log one row at a time, for `staff_log`: Django sends no signal for several at once."""
        log = super().log_deletions
        return [log(request, cast(Any, [row])) for row in queryset]

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Refuse rows with a great many links to others: the question would name each link."""
        links = sum(
            field.remote_field.through._base_manager.filter(
                **{f"{field.m2m_field_name()}__in": objs}
            ).count()
            for field in self.model._meta.many_to_many
        )
        if links > MOST_LINKS_DELETED:
            said = f"{grouped(links)} enlaces a otras filas: son demasiados, borra menos a la vez"
            return [], {}, set(), [said]
        return super().get_deleted_objects(objs, request)

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        keep([obj], deleted_by=request.user.get_username())
        super().delete_model(request, obj)

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        keep(queryset, deleted_by=request.user.get_username())
        super().delete_queryset(request, queryset)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        rows = [row.instance for row in formset.deleted_forms if row.instance.pk]
        keep(rows, deleted_by=request.user.get_username())
        super().save_formset(request, form, formset, change)


def _limited(action: Callable[..., Any], most: int) -> Callable[..., Any]:
    """The action of a list, which refuses more rows than this.

    "Select all" chooses all rows of the list, of which it has counted `MOST_COUNTED` at most: a
    clerk who reads "2000" would mail or delete any number.
    """

    @wraps(action)
    def run(page: Any, request: HttpRequest, rows: QuerySet[Any]) -> Any:
        if rows.order_by()[: most + 1].count() <= most:
            return action(page, request, rows)
        text = f"No se ha hecho nada: son más de {grouped(most)}. Filtra la lista y ve por partes."
        page.message_user(request, text, messages.ERROR)
        return None

    return run


def _logged(action: Callable[..., Any], name: str, title: Any) -> Callable[..., Any]:
    """The action of a list, which then logs the rows that it was run on.

    A page in answer (Django's type for it is TemplateResponse) only asks whether to go on. An
    action that breaks off may have changed the first rows.
    """

    @wraps(action)
    def run(page: Any, request: HttpRequest, rows: QuerySet[Any]) -> Any:
        ids = list(rows.values_list("pk", flat=True))
        is_export = name.startswith("export")
        kind = StaffAction.Kind.EXPORTED if is_export else StaffAction.Kind.ACTION
        try:
            answer = action(page, request, rows)
        except Exception:
            log_rows(request, page.model, ids, f"{title} (interrumpida)", kind=kind)
            raise
        if ids and not isinstance(answer, (TemplateResponse, PasswordConfirmation)):
            log_rows(request, page.model, ids, str(title), kind=kind)
        return answer

    return run


class _ReadOnly:
    """Staff can view these rows but not add, change or delete them."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ReadOnlyAdmin(_ReadOnly, AcademyModelAdmin):
    pass


class _ChecksDeletions(_InlineFormSet):
    """Asks for what a row's own page, if there is one, asks before the row is deleted."""

    request: HttpRequest

    def clean(self) -> None:
        super().clean()
        page = admin.site._registry.get(cast(type[Model], self.model))
        if page is None:
            return
        rows = [form.instance for form in self.deleted_forms if form.instance.pk]
        if any(self.errors) or not rows:
            return
        # All at once, which takes 200 rows the time of two.
        *_, forbidden, protected = page.get_deleted_objects(rows, self.request)
        if not forbidden and not protected:
            return
        for row in rows:
            *_, forbidden, protected = page.get_deleted_objects([row], self.request)
            if forbidden:
                raise ValidationError(
                    f"No puedes borrar «{row}»: no tienes permiso para borrar lo que se borraría "
                    f"con ello ({', '.join(sorted(map(str, forbidden)))})."
                )
            if protected:
                raise ValidationError(f"No se puede borrar «{row}»: hay algo que depende de ello.")


class RowsInline(PublicTexts, _TabularInline):
    """Inline rows that staff edit with their parent."""

    formset = _ChecksDeletions
    formfield_overrides = FORM_FIELDS
    extra = 0
    show_change_link = True

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        formset: Any = super().get_formset(request, obj, **kwargs)
        formset.request = request
        return formset


class ReadOnlyRowsInline(_ReadOnly, _TabularInline):
    """Read-only inline rows."""

    extra = 0
    can_delete = False
    # The style sheet hides the row's title, which repeats its columns.
    classes: Any = ("read-only-rows",)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.fields


MOST_ROWS = 100


class NewestRows:
    """Mixin of read-only rows without a bound: the page has the newest MOST_ROWS of them."""

    # The field that leads to the page's row, and what each row reads.
    of_parent = ""
    select_related: tuple[str, ...] = ()

    def get_formset(self, request: HttpRequest, obj: Model | None = None, **kwargs: Any) -> Any:
        # One page has one instance of this class.
        self.parent = obj
        rows: Any = super()
        return rows.get_formset(request, obj, **kwargs)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: Any = super()
        found: QuerySet[Any] = rows.get_queryset(request)
        of_page = found.filter(**{self.of_parent: getattr(self, "parent", None)})
        newest = list(of_page.order_by("-pk").values_list("pk", flat=True)[:MOST_ROWS])
        shown = found.filter(pk__in=newest)
        # Without a name Django would follow all of them.
        return shown.select_related(*self.select_related) if self.select_related else shown


class OrderNumberSearch:
    """Mixin: a search for a number finds the rows of exactly that order."""

    # The field that holds the order's number.
    order_number_field = "order_id"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        if is_row_number(term):
            return queryset.filter(**{self.order_number_field: int(term)}), False
        page: Any = super()
        results: tuple[QuerySet[Any], bool] = page.get_search_results(
            request, queryset, search_term
        )
        return results


def search_normalized(
    request: HttpRequest, rows: QuerySet[Any], *, field: str, form: str
) -> tuple[QuerySet[Any], bool]:
    """Search a column that stores a normalized name. The flag False means "no duplicates"."""
    return (rows.filter(**{f"{field}__contains": form}) if form else rows), False


def list_link(text: str, changelist: str, **filters: object) -> SafeString:
    """Link to a filtered admin list by name ("orders_order"), so that no app has to import it."""
    query = "&".join(f"{name}={value}" for name, value in filters.items())
    return format_html(
        '<a href="{}?{}">{}</a>', reverse(f"admin:{changelist}_changelist"), query, text
    )


def row_link(text: str, model: str, pk: int | None) -> SafeString:
    """Link to a row's admin page by the model's name ("orders_order")."""
    return format_html('<a href="{}">{}</a>', reverse(f"admin:{model}_change", args=[pk]), text)


def links(*items: SafeString) -> SafeString:
    return format_html_join(SafeString(" · "), "{}", ((link,) for link in items))


def moment(field: str, label: str, *, ordering: str = "") -> Callable[[Model], str]:
    """A list column that shows a datetime as "21/11/2026 07:13", shorter than Django's format.

    A property needs the name of a column for its `ordering`.
    """

    @admin.display(description=label, ordering=ordering or field)
    def shown(row: Model) -> str:
        at = getattr(row, field)
        return f"{localtime(at):%d/%m/%Y %H:%M}" if at else NOTHING

    # Django names the column's CSS class after the function.
    shown.__name__ = field
    return shown


class Tone(StrEnum):
    """The colour of a state. Its word always stands beside it."""

    GOOD = "good"
    WAIT = "wait"
    BAD = "bad"
    QUIET = "quiet"


def pill(word: object, tone: Tone) -> SafeString:
    """A state as a coloured pill with its word."""
    return format_html('<span class="state state--{}">{}</span>', tone, word)


def state_column(tones: Mapping[str, Tone]) -> Callable[[Any], SafeString]:
    """A list column that shows the field `status` as a pill. `tones` has its values."""

    @admin.display(description="estado", ordering="status")
    def status(row: Any) -> SafeString:
        return pill(row.get_status_display(), tones[row.status])

    return status


def attention(text: str) -> SafeString:
    """A mark for a text that staff have to look at; empty without one."""
    return format_html('<span class="attention">{}</span>', text) if text else SafeString("")


def two_lines(first: object, second: object) -> SafeString | str:
    """A cell with what the row is, and below it, smaller, what belongs to it."""
    if not second:
        return str(first)
    return format_html('<span>{}<small class="second">{}</small></span>', first, second)


def person(name: str, email: str) -> SafeString | str:
    """A cell with a person: the name, and the address below it."""
    return two_lines(name or email, email if name else "")


def staff_name(user: Any) -> str:
    """The name of an account of staff, or its user name if it has none."""
    return str(user.get_full_name() or user.get_username())


def money(amount: Any) -> str:
    """Format an amount as "12,00 €"; a dash if there is none."""
    return NOTHING if amount is None else format_euros(to_cents(amount))
