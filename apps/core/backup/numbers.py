"""Moves ids beyond those that were given out between a backup and its restore.

Buyers hold order numbers, Stripe and Moodle hold ids and keys made of ids: a number that was given
to somebody must never mean somebody else (docs/rules.md, "Backups").
"""

from django.apps import apps
from django.db import connection, models
from django.db.models import AutoField, Max

# Between two nightly backups a shop gives out far fewer of any id.
GAP = 10_000


def skip_lost_ids() -> None:
    """Leave a gap after the last id of every table. Call it once after a backup was loaded."""
    for model in apps.get_models(include_auto_created=True):
        if model._meta.managed and not model._meta.proxy and _counts(model):
            _set_last(model, _last_given(model) + GAP)


def skip_ids(model: type[models.Model], highest: int) -> int:
    """Leave a gap after `highest`, unless the ids are beyond that. Returns the next id."""
    last = max(_last_given(model), highest + GAP)
    _set_last(model, last)
    return last + 1


def _counts(model: type[models.Model]) -> bool:
    return isinstance(model._meta.pk, AutoField)


def _last_given(model: type[models.Model]) -> int:
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"SELECT last_value FROM {_sequence(model)}")  # noqa: S608
        else:
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        row = cursor.fetchone()
    highest = model._default_manager.aggregate(highest=Max("pk"))["highest"]
    return max(int(row[0]) if row else 0, highest or 0)


def _set_last(model: type[models.Model], last: int) -> None:
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT setval(%s, %s)", [_sequence(model), last])
            return
        cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table])
        cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, last])


def _sequence(model: type[models.Model]) -> str:
    """The name of the sequence of the table's ids, quoted for SQL."""
    pk = model._meta.pk
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [table, pk.column if pk else ""])
        return str(cursor.fetchone()[0])
