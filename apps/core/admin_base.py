"""What the admin pages of all apps have in common."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from apps.core.money import format_euros, to_cents

# The stubs' classes are generic, Django's own are not.
if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
    _TabularInline = admin.TabularInline[Any, Any]
else:
    _ModelAdmin = admin.ModelAdmin
    _TabularInline = admin.TabularInline

NOTHING = "–"


class DeskAdmin(_ModelAdmin):
    """An admin page for a clerk: short lists, and no query per row."""

    list_per_page = 50
    empty_value_display = NOTHING
    # Counting everything beside a filtered list is a query for a number that nobody reads.
    show_full_result_count = False


class _ReadOnly:
    """Shown to staff, written by the shop alone."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ReadOnlyAdmin(_ReadOnly, DeskAdmin):
    pass


class RowsInline(_TabularInline):
    """Rows that are edited with their parent."""

    extra = 0
    show_change_link = True


class ReadOnlyRowsInline(_ReadOnly, _TabularInline):
    """Rows that belong to their parent's story and are only read."""

    extra = 0
    can_delete = False
    # Hides the row's name above the row, which says the same.
    classes: Any = ("read-only-rows",)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.fields


def search_as_filed(
    request: HttpRequest, rows: QuerySet[Any], *, field: str, form: str
) -> tuple[QuerySet[Any], bool]:
    """A model admin's search in a stored form of the name; the flag says "no duplicates"."""
    return (rows.filter(**{f"{field}__contains": form}) if form else rows), False


def list_link(text: str, changelist: str, **filters: object) -> SafeString:
    """A link to a filtered list, "orders_order" for example, of any app: by name, not by import."""
    query = "&".join(f"{name}={value}" for name, value in filters.items())
    return format_html(
        '<a href="{}?{}">{}</a>', reverse(f"admin:{changelist}_changelist"), query, text
    )


def links(*several: SafeString) -> SafeString:
    return format_html_join(SafeString(" · "), "{}", ((link,) for link in several))


def moment(field: str, label: str) -> Callable[[Model], str]:
    """A list's column for a moment, "21/11/2026 07:13"; Django's own takes half of a row."""

    @admin.display(description=label, ordering=field)
    def shown(row: Model) -> str:
        at = getattr(row, field)
        return f"{localtime(at):%d/%m/%Y %H:%M}" if at else NOTHING

    # The list's style sheet and tests know columns by the function's name.
    shown.__name__ = field
    return shown


def money(amount: Any) -> str:
    """ "12,00 €" for a list, or a dash where there is no amount."""
    return NOTHING if amount is None else format_euros(to_cents(amount))
