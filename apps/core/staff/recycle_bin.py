"""Brings back content that staff have deleted by mistake (docs/rules.md, "Staff").

A deletion in the admin stores the row first, with all rows that are deleted with it. Links that the
deletion sets to null are not restored.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.apps import apps
from django.contrib.admin.utils import NestedObjects
from django.core import serializers
from django.core.serializers.base import DeserializationError
from django.db import DEFAULT_DB_ALIAS, IntegrityError, transaction
from django.db.models import ForeignKey, Model

from apps.core.errors import Conflict
from apps.core.models import DeletedRow
from apps.core.privacy import register_retention
from apps.core.staff_records import DELETED_KEPT_FOR

# The apps whose content goes to the bin. Data of customers does not.
RECYCLED_APPS = frozenset({"catalogue", "pages", "pricing"})
# Offers come back switched off: switching one on needs a limit for it (docs/rules.md, "Limits of
# staff").
SWITCHED_OFF = frozenset({"pricing.campaign", "pricing.promocode"})
# Rows that are purged together: their pictures are read, and each may have thousands of links.
ROWS_AT_ONCE = 50
REPLACED = "hay algo nuevo en su lugar."


class CannotRestore(Conflict):
    """The message gives the reason in Spanish."""

    code = "cannot_restore"
    message = "la copia ya no encaja con lo que hay hoy."


def keep(rows: Iterable[Model], *, deleted_by: str) -> None:
    """Store these rows before they are deleted, in the caller's transaction."""
    for row in rows:
        if row._meta.app_label not in RECYCLED_APPS:
            continue
        DeletedRow.objects.create(
            about=row._meta.label_lower,
            object_id=str(row.pk),
            object_repr=str(row)[:200],
            data=_serialized(row),
            deleted_by=deleted_by,
        )


def _serialized(row: Model) -> Any:
    """The row and everything that is deleted with it."""
    collector = NestedObjects(using=DEFAULT_DB_ALIAS)
    collector.collect([row])
    found = [one for rows in collector.data.values() for one in rows]
    for queryset in collector.fast_deletes:
        found += list(queryset)
    unique = {(type(one), one.pk): one for one in found if not _stays_deleted(one)}.values()
    return json.loads(serializers.serialize("json", unique))


def _stays_deleted(row: Model) -> bool:
    """Whether a row of this model is made anew by whoever may: it gives an account a right."""
    return getattr(type(row), "stays_deleted", False)


def _parents(model: type[Model], below: frozenset[type[Model]] = frozenset()) -> int:
    """How many models are above this one by foreign keys, in their longest chain."""
    above = {
        field.remote_field.model
        for field in model._meta.concrete_fields
        if isinstance(field, ForeignKey)
    }
    further = above - below - {model}
    return max((1 + _parents(parent, below | {model}) for parent in further), default=0)


@transaction.atomic
def restore(deleted: DeletedRow, *, by: Any) -> Model:
    """Bring a row back with its number, and return it. Raises CannotRestore.

    A model's own `refuses_return(by)` says in Spanish why this member of staff may not have it
    back; it is empty if they may.
    """
    try:
        with transaction.atomic():
            stored = serializers.deserialize("json", json.dumps(deleted.data))
            # A copy of before the model stayed deleted still has its rows.
            restored = [one for one in stored if not _stays_deleted(one.object)]
            restored.sort(key=lambda one: _parents(type(one.object)))
            _refuse_missing_parents([one.object for one in restored])
            for one in restored:
                refuses = getattr(one.object, "refuses_return", None)
                if refuses is not None and (reason := refuses(by)):
                    raise CannotRestore(reason)
            rows = [one for one in restored if not one.object._meta.auto_created]
            for one in rows:
                _insert(one)
            _insert_links([one.object for one in restored if one.object._meta.auto_created])
            for one in rows:
                # An ordinary save refreshes stored counts, as after any change.
                type(one.object)._base_manager.get(pk=one.object.pk).save()
            _check_foreign_keys()
    except (IntegrityError, DeserializationError) as error:
        raise CannotRestore from error
    row: Model = apps.get_model(deleted.about)._base_manager.get(pk=deleted.object_id)
    deleted.delete()
    return row


def _insert(one: Any) -> None:
    row = one.object
    if row._meta.label_lower in SWITCHED_OFF:
        row.active = False
    name = f"{row._meta.verbose_name} «{row}»"
    if type(row)._base_manager.filter(pk=row.pk).exists():
        raise CannotRestore(f"{name}: {REPLACED}")
    # The rows of many-to-many links were stored themselves.
    one.m2m_data = {}
    with _clash_said(name):
        one.save(force_insert=True)


def _insert_links(links: list[Any]) -> None:
    """Insert the rows of many-to-many links, of which a teacher may have hundreds."""
    for model in {type(row) for row in links}:
        rows = [row for row in links if type(row) is model]
        if model._base_manager.filter(pk__in=[row.pk for row in rows]).exists():
            raise CannotRestore(f"un enlace: {REPLACED}")
        with _clash_said("un enlace"):
            model._base_manager.bulk_create(rows)


@contextmanager
def _clash_said(name: str) -> Iterator[None]:
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        raise CannotRestore(
            f"{name}: choca con algo que se ha creado después, como otro con el mismo nombre."
        ) from error


def _refuse_missing_parents(rows: list[Model]) -> None:
    """Raise CannotRestore if a row belongs to one that no longer exists, and is none of these."""
    links: defaultdict[tuple[Any, str], set[Any]] = defaultdict(set)
    for row in rows:
        for field in row._meta.concrete_fields:
            if isinstance(field, ForeignKey):
                key = (field.remote_field.model, field.target_field.name)
                links[key].add(getattr(row, field.attname))
    for (parent, name), values in links.items():
        values -= {getattr(row, name) for row in rows if type(row) is parent} | {None}
        there = parent._base_manager.filter(**{f"{name}__in": values})
        values -= set(there.values_list(name, flat=True))
        if not values:
            continue
        value = min(values)
        raise CannotRestore(
            f"ya no existe lo que lo contenía ({parent._meta.verbose_name} n.º {value}). Si está "
            "en la papelera, recupéralo antes."
        )


def _check_foreign_keys() -> None:
    """Check foreign keys now: the database would only do so at the end of the transaction."""
    connection = transaction.get_connection()
    connection.check_constraints()


def purge(now: datetime) -> int:
    """Delete the rows that have been in the bin long enough. Returns their number."""
    old = DeletedRow.objects.filter(deleted_at__lt=now - DELETED_KEPT_FOR)
    purged = 0
    while some := list(old.values_list("pk", flat=True)[:ROWS_AT_ONCE]):
        purged += DeletedRow.objects.filter(pk__in=some).delete()[0]
    return purged


def register() -> None:
    register_retention("Contenido borrado hace más de 30 días", purge)
