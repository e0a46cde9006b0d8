"""Database triggers that record changes of what public pages show.

Triggers see every change: of the admin, of bulk updates, of SQL. They write in the transaction that
changes the rows, so a change is recorded exactly when it is committed. No transaction waits for
another one: each adds a row of its own.
"""

from typing import Any

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.core.models import PublicChange

# Each model with the columns that public pages show.
_shown: dict[type[models.Model], list[str]] = {}

_FUNCTION = """
CREATE OR REPLACE FUNCTION {table}_add() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed boolean := true;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        EXECUTE format(
            'SELECT EXISTS (SELECT %1$s FROM after_rows EXCEPT SELECT %1$s FROM before_rows)',
            TG_ARGV[0]
        ) INTO changed;
    END IF;
    IF changed THEN
        INSERT INTO {table} (at) VALUES (CURRENT_TIMESTAMP);
    END IF;
    RETURN NULL;
END $$
"""
_POSTGRESQL = """
CREATE OR REPLACE TRIGGER {name} AFTER {event} ON {table} {rows}
FOR EACH STATEMENT EXECUTE FUNCTION {changes}_add({columns})
"""
_ROWS = {
    "INSERT": "",
    "DELETE": "",
    "UPDATE": "REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows",
}
# SQLite has no triggers for a whole statement. One row with a new id is enough, because SQLite
# has one writer at a time.
_SQLITE = """
CREATE TRIGGER {name} AFTER {event} ON {table} {when}
BEGIN DELETE FROM {changes}; INSERT INTO {changes} (at) VALUES (CURRENT_TIMESTAMP); END
"""


def shown_publicly(*shown: type[models.Model], hidden: tuple[str, ...] = ()) -> None:
    """Record changes of these models. Changes of `hidden` fields alone are not recorded.

    Called in `ready()` of an app.
    """
    for model in shown:
        fields = [field for field in model._meta.concrete_fields if field.name not in hidden]
        _shown[model] = [str(field.column) for field in fields]


def shown_tables() -> set[str]:
    """The tables whose changes are recorded."""
    return {model._meta.db_table for model in _shown}


def create_triggers(using: str, **kwargs: Any) -> None:
    """Create all triggers, after each migration (post_migrate handler).

    After each, because SQLite loses the triggers of a table that a migration copies.
    """
    if "plan" not in kwargs:  # The command `flush` sends the signal too, and keeps the triggers.
        return
    connection = connections[using]
    tables = connection.introspection.table_names()
    changes = PublicChange._meta.db_table
    if changes not in tables:  # Migrating backwards.
        return
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_FUNCTION.format(table=changes))
        for model, columns in _shown.items():
            if model._meta.db_table in tables:
                for event in _ROWS:
                    for statement in _statements(connection, model, columns, event):
                        cursor.execute(statement)


def _statements(
    connection: BaseDatabaseWrapper, model: type[models.Model], columns: list[str], event: str
) -> list[str]:
    quote = connection.ops.quote_name
    table, changes = model._meta.db_table, PublicChange._meta.db_table
    names = {"name": f"{table}_{event.lower()}_public", "event": event, "changes": changes}
    if connection.vendor == "postgresql":
        listed = ", ".join(map(quote, columns))
        return [
            _POSTGRESQL.format(
                table=quote(table), rows=_ROWS[event], columns=f"'{listed}'", **names
            )
        ]
    differs = " OR ".join(f"old.{quote(name)} IS NOT new.{quote(name)}" for name in columns)
    when = f"WHEN {differs}" if event == "UPDATE" else ""
    return [
        f"DROP TRIGGER IF EXISTS {names['name']}",
        _SQLITE.format(table=quote(table), when=when, **names),
    ]
