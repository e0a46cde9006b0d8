"""The log of staff (docs/rules.md, "Staff"): who did, read or exported what, and old values.

Django's own log is the one door: whatever writes a `LogEntry` also writes a `StaffAction`. That one
outlives its author and can be filtered.
"""

import json
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.core.exceptions import ObjectDoesNotExist
from django.forms import BaseForm, ModelChoiceField, ModelForm, ModelMultipleChoiceField
from django.utils.timezone import localtime

from apps.core.models import StaffAction

KINDS = {
    ADDITION: StaffAction.Kind.ADDED,
    CHANGE: StaffAction.Kind.CHANGED,
    DELETION: StaffAction.Kind.DELETED,
}
# The part of Django's message that holds the lines with old and new values. Django ignores it.
VALUES = "values"
LONGEST_VALUE = 200
# Of longer values the log has what differs, with so many letters before and after it.
AROUND_CHANGE = 40
# Whole texts that visitors read are that long. Legal texts keep their versions.
LONGEST_CHANGE = 6_000
EMPTY = "(vacío)"


def save_as(entry: LogEntry, kind: str) -> None:
    """Save an entry of Django's log whose kind is none of Django's three."""
    entry.staff_kind = kind  # type: ignore[attr-defined]  # read by `copy_entry`
    entry.save()


def copy_entry(sender: Any, instance: LogEntry, created: bool, **kwargs: Any) -> None:
    """Copy a new entry of Django's log (post_save receiver)."""
    if not created:
        return
    model = instance.content_type.model_class() if instance.content_type else None
    StaffAction.objects.create(
        at=instance.action_time,
        actor_id=instance.user_id,
        actor_name=instance.user.get_username(),
        kind=getattr(instance, "staff_kind", None) or KINDS[instance.action_flag],
        about=model._meta.label_lower if model else "",
        object_id=str(instance.object_id or "")[:60],
        object_repr=instance.object_repr,
        text="\n".join([instance.get_change_message(), *_lines(instance.change_message)]).strip(),
    )


def _lines(message: str) -> list[str]:
    try:
        parts = json.loads(message)
    except json.JSONDecodeError:
        return []
    return [line for part in parts for line in part.get(VALUES, [])]


def changes_of(form: BaseForm, prefix: str = "") -> list[str]:
    """A line for each field that the form changes: "Precio: 10 → 12". Passwords are left out."""
    lines = []
    for name in form.changed_data:
        field = form.fields.get(name)
        if field is None or "password" in name or name not in form.cleaned_data:
            continue
        label = field.label or name
        old, new = _shown(_old(form, name, field), field), _shown(form.cleaned_data[name], field)
        lines.append(f"{prefix}{label}: {shown_change(old, new)}")
    return lines


def shown_change(old: str, new: str) -> str:
    """ "old → new" of two texts; of long ones all that differs, from shortly before it."""
    if max(len(old), len(new)) <= LONGEST_VALUE:
        return f"{old} → {new}"
    same_start = _same(old, new)
    same_end = _same(old[same_start:][::-1], new[same_start:][::-1])
    return f"{_around(old, same_start, same_end)} → {_around(new, same_start, same_end)}"


def _same(one: str, other: str) -> int:
    """How many letters two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    shorter = min(len(one), len(other))
    return next((at for at, (letter, its) in pairs if letter != its), shorter)


def _around(text: str, same_start: int, same_end: int) -> str:
    first = max(0, same_start - AROUND_CHANGE)
    last = min(len(text), len(text) - same_end + AROUND_CHANGE, first + LONGEST_CHANGE)
    return f"{'…' * (first > 0)}{text[first:last]}{'…' * (last < len(text))}"


def _old(form: BaseForm, name: str, field: Any) -> Any:
    """The value before. A form for a foreign key begins with the number of its row."""
    value = form.get_initial_for_field(field, name)
    if isinstance(field, ModelMultipleChoiceField) or not isinstance(field, ModelChoiceField):
        return value
    if value in (None, ""):
        return None
    try:
        rows: Any = field.queryset
        return rows.model._base_manager.get(pk=value)
    except (ObjectDoesNotExist, ValueError, TypeError):
        return value


def _shown(value: Any, field: Any) -> str:
    if value is None or value == "":
        return EMPTY
    if value is True or value is False:
        return "sí" if value else "no"
    if isinstance(field, ModelMultipleChoiceField):
        return ", ".join(sorted(str(row) for row in value))[:LONGEST_VALUE] or EMPTY
    choices = getattr(field, "choices", None)
    if choices is not None and not isinstance(field, ModelChoiceField):
        value = dict(choices).get(value, value)
    if hasattr(value, "tzinfo") and hasattr(value, "hour") and hasattr(value, "year"):
        return f"{localtime(value):%d/%m/%Y %H:%M}" if value.tzinfo else str(value)
    return " ".join(str(value).split())


def with_values(message: Any, form: Any, formsets: Any) -> Any:
    """Django's message about a form, with the lines of old and new values."""
    lines = changes_of(form) if isinstance(form, ModelForm) else []
    for formset in formsets or ():
        for row in formset.initial_forms:
            if row.has_changed() and hasattr(row, "cleaned_data"):
                lines += changes_of(row, prefix=f"{row.instance} · ")
    return [*message, {VALUES: lines}] if isinstance(message, list) and lines else message
