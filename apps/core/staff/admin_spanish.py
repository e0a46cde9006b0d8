"""What Django's admin says badly in Spanish, in words that fit nouns of both genders.

Django's translation puts "El" before every noun ("El universidad … fue agregado") and leaves fields
of its widgets without a name. The sentences here name the noun without an article.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected as djangos_delete_selected
from django.contrib.admin.widgets import AdminSplitDateTime
from django.db.models import Field, Model, QuerySet
from django.forms import BaseForm
from django.forms import Field as FormField
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

# The type stubs' classes are generic. Django's own are not.
if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin

# The attribute of a request that holds the sentence to say instead of Django's.
_OUTCOME = "outcome_in_spanish"
HOURS_OF = "Hora de Madrid."


@contextmanager
def _saying(request: HttpRequest, sentence: str | SafeString) -> Iterator[None]:
    """Replace the success message that Django's admin writes inside the block."""
    setattr(request, _OUTCOME, sentence)
    try:
        yield
    finally:
        delattr(request, _OUTCOME)


def _named(verbose_name: str, text: object) -> str:
    """ "pedido 12" from "pedido" and "Pedido 12", else "universidad «Levante»"."""
    if str(text).casefold().startswith(verbose_name.casefold()):
        return f"{verbose_name}{str(text)[len(verbose_name) :]}"
    return f"{verbose_name} «{text}»"


class SpanishAdmin(_ModelAdmin):
    """Messages, and names of the fields, of lists and forms."""

    def message_user(
        self, request: HttpRequest, message: Any, level: Any = messages.INFO, *args: Any, **kw: Any
    ) -> None:
        if level == messages.SUCCESS:
            message = getattr(request, _OUTCOME, message)
        super().message_user(request, message, level, *args, **kw)

    def response_add(self, request: HttpRequest, obj: Model, *args: Any) -> HttpResponse:
        with _saying(request, f"Creado: {_named(self._noun(), obj)}."):
            return super().response_add(request, obj, *args)

    def response_change(self, request: HttpRequest, obj: Model) -> HttpResponse:
        with _saying(request, f"Cambios guardados: {_named(self._noun(), obj)}."):
            return super().response_change(request, obj)

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: Any) -> HttpResponse:
        with _saying(request, f"Borrado: {_named(self._noun(), obj_display)}."):
            return super().response_delete(request, obj_display, obj_id)

    def _noun(self) -> str:
        return str(self.opts.verbose_name)

    def formfield_for_dbfield(
        self, db_field: "Field[Any, Any]", request: HttpRequest | None, **kwargs: Any
    ) -> Any:
        """Name both parts of a moment, and say whose hours they are."""
        field: FormField | None = super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[arg-type]
        if field is not None and isinstance(field.widget, AdminSplitDateTime):
            for part, widget in zip(("fecha", "hora"), field.widget.widgets, strict=True):
                widget.attrs["aria-label"] = f"{capfirst(str(field.label))}: {part}"
            field.help_text = f"{field.help_text} {HOURS_OF}".strip()
        return field

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> Any:
        """The form of a row whose cells can be edited: each field names its column and row."""
        form_class: type[BaseForm] = super().get_changelist_form(request, **kwargs)

        class NamedRow(form_class):  # type: ignore[valid-type,misc]
            def __init__(self, *args: Any, **kw: Any) -> None:
                super().__init__(*args, **kw)
                for field in self.fields.values():
                    field.widget.attrs["aria-label"] = (
                        f"{capfirst(str(field.label))} de {self.instance}"
                    )

        return NamedRow


@admin.action(permissions=["delete"], description="Borrar lo elegido")
def delete_selected(
    modeladmin: _ModelAdmin, request: HttpRequest, queryset: QuerySet[Any]
) -> HttpResponse | None:
    """Django's action, with its message in words that fit."""
    count = queryset.count()
    noun = modeladmin.opts.verbose_name if count == 1 else modeladmin.opts.verbose_name_plural
    with _saying(request, format_html("Borrado: {} {}.", count, noun)):
        return djangos_delete_selected(modeladmin, request, queryset)
