"""Forms of the admin that refuse to overwrite what somebody else changed meanwhile.

A hidden field holds a digest of each value as the form showed it. When the form comes back, a value
that differs from its digest was changed by somebody else. The form is then shown again, with both
values and everything that was typed. The second attempt counts.
"""

import json
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import Model
from django.http import HttpRequest

from apps.core.database import in_transaction

if TYPE_CHECKING:
    from django.contrib.admin.options import InlineModelAdmin, ModelAdmin

    _ModelForm = forms.ModelForm[Any]
    _ModelAdmin = ModelAdmin[Any]
    _InlineAdmin = InlineModelAdmin[Any, Any]
else:
    _ModelForm, _ModelAdmin, _InlineAdmin = forms.ModelForm, object, object

SEEN = "seen_values"


class _SeenField(forms.CharField):
    widget = forms.HiddenInput

    def has_changed(self, initial: Any, data: Any) -> bool:
        """The field is no value of the row: it never appears in the log."""
        return False


class ConflictCheck(_ModelForm):
    """The part of a form that refuses values which were changed since the form was shown."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if SEEN in self.fields and self.instance.pk:
            self.initial[SEEN] = json.dumps(self._digests())

    def _digests(self) -> dict[str, str]:
        names = (name for name in self.fields if name != SEEN and name in self.initial)
        return {name: _digest(self.initial[name]) for name in names}

    def clean(self) -> dict[str, Any] | None:
        data = super().clean()
        if self.instance.pk and self._refuse_conflicts(_parsed(self.cleaned_data.get(SEEN))):
            # The form is shown again with the values that are stored now: saving again counts.
            sent: Any = self.data
            shown_again = sent.copy()
            shown_again[self.add_prefix(SEEN)] = self.initial[SEEN]
            self.data = shown_again
        return data

    def _refuse_conflicts(self, seen: dict[str, Any]) -> bool:
        conflicts = [
            name
            for name, digest in self._digests().items()
            if name in seen
            and seen[name] != digest
            and _digest(self.cleaned_data.get(name)) != digest
        ]
        for name in conflicts:
            self.add_error(
                name,
                f"Otra persona lo ha cambiado entretanto a «{self._shown(name)}». Lo que has "
                "escrito sigue aquí: guarda otra vez si es lo que vale.",
            )
        return bool(conflicts)

    def _shown(self, name: str) -> str:
        value = self.initial[name]
        if isinstance(value, bool):
            return "sí" if value else "no"
        choices = getattr(self.fields[name], "choices", None)
        if choices is not None and not isinstance(value, (list, tuple)):
            related = getattr(self.instance, name, None)
            shown = getattr(self.instance, f"get_{name}_display", lambda: related)()
            return str(shown if shown is not None else "(vacío)")
        if isinstance(value, (list, tuple)):
            return ", ".join(map(str, value)) or "(vacío)"
        return str(self[name].field.prepare_value(value) or "(vacío)")


def _digest(value: Any) -> str:
    return sha256(_text(value).encode()).hexdigest()[:16]


def _text(value: Any) -> str:
    """Return one text for equal values, whether they come from the database or the form."""
    if value is None or value is False:
        return ""
    if isinstance(value, Model):
        return str(value.pk)
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and not _is_file(value):
        return ",".join(sorted(_text(item) for item in value))
    return str(value).replace("\r\n", "\n").strip()


def _is_file(value: Any) -> bool:
    return hasattr(value, "chunks")


def _parsed(text: Any) -> dict[str, Any]:
    """Return the digests of the hidden field. A form without them, or with others, has none."""
    try:
        seen = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return seen if isinstance(seen, dict) else {}


@cache
def _checked(form: type[Any]) -> type[Any]:
    return type(
        f"Checked{form.__name__}", (ConflictCheck, form), {SEEN: _SeenField(required=False)}
    )


def _with_seen(fieldsets: Any) -> list[tuple[Any, dict[str, Any]]]:
    (title, options), *others = fieldsets
    return [(title, {**options, "fields": (*options["fields"], SEEN)}), *others]


class GuardsChanges(_ModelAdmin):
    """Mixin of an admin page whose form refuses to overwrite the changes of others."""

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        kwargs["form"] = _checked(kwargs.get("form", self.form))
        return super().get_form(request, obj, change=change, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        return _with_seen(fieldsets) if self._is_edited(request, obj) else fieldsets

    def _is_edited(self, request: HttpRequest, obj: Any) -> bool:
        return obj is not None and self.has_change_permission(request, obj)

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Lock the row before its values are compared and saved."""
        row = super().get_object(request, *args, **kwargs)
        if row is None or request.method != "POST" or not in_transaction():
            return row
        self.lock_row(row)
        return super().get_object(request, *args, **kwargs)

    def lock_row(self, row: Model) -> None:
        list(type(row)._base_manager.select_for_update(no_key=True).filter(pk=row.pk))


class GuardsRows(_InlineAdmin):
    """Mixin of inline rows that refuse to overwrite the changes of others."""

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        kwargs["form"] = _checked(kwargs.get("form", self.form))
        return super().get_formset(request, obj, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        edited = obj is not None and self.has_change_permission(request, obj)
        return _with_seen(fieldsets) if edited else fieldsets
