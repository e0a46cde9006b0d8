"""Functions that need a transaction say so, locks, and rows inserted unless they exist."""

import hashlib
from typing import Any

from django.db import connection, transaction
from django.db.models import Model
from django.db.models.expressions import DatabaseDefault


def in_transaction() -> bool:
    """Whether an `atomic` block is open.

    The blocks that Django's TestCase puts around a test do not count: production has none, so what
    needs a transaction must fail without one in tests, too. `atomic(durable=True)` ignores them in
    the same way.
    """
    return any(not block._from_testcase for block in transaction.get_connection().atomic_blocks)


def require_transaction(what: str) -> None:
    """Raise TransactionManagementError outside a transaction. `what` names the calling function."""
    if not in_transaction():
        raise transaction.TransactionManagementError(f"{what} belongs inside a transaction")


def lock_names(*names: str) -> None:
    """Lock these names until the transaction ends, where no row can be locked instead.

    SQLite has one writer at a time and needs no such lock.
    """
    if connection.vendor != "postgresql":
        return
    # In one order for everybody, so that two transactions do not wait for each other.
    keys = sorted({_lock_key(name) for name in names})
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(key) FROM unnest(%s::bigint[]) AS key", [keys])


def _lock_key(name: str) -> int:
    """A number of 64 bits for an advisory lock. Two names with one number would only wait."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)


def lock_key(row: Model) -> None:
    """Let nobody delete the row, or lock all of it, until the transaction ends.

    A foreign key to it does the same, but only at the end of the transaction: Django defers its
    check. `select_for_update(no_key=True)` neither waits for this lock nor holds it up. SQLite has
    one writer at a time and needs no such lock.
    """
    require_transaction("lock_key")
    if connection.vendor != "postgresql":
        return
    meta: Any = type(row)._meta
    quote = connection.ops.quote_name
    # The names are those of a model. The value is a parameter.
    sql = (
        f"SELECT 1 FROM {quote(meta.db_table)} "  # noqa: S608
        f"WHERE {quote(meta.pk.column)} = %s FOR KEY SHARE"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [row.pk])


def insert_new(row: Model) -> bool:
    """Insert the row unless a unique constraint forbids it; return whether it was inserted.

    `get_or_create` needs four statements for a new row: a search, a savepoint, the insert and the
    end of the savepoint. This one also waits for a concurrent transaction that inserts the same. It
    neither calls `save` nor sends signals.
    """
    meta: Any = type(row)._meta
    quote = connection.ops.quote_name
    columns, values = [], []
    for field in meta.concrete_fields:
        value = field.pre_save(row, add=True)
        if isinstance(value, DatabaseDefault) or (field.primary_key and value is None):
            continue
        columns.append(quote(field.column))
        values.append(field.get_db_prep_save(value, connection))
    # The names are those of a model. The values are parameters.
    sql = (
        f"INSERT INTO {quote(meta.db_table)} ({', '.join(columns)}) "  # noqa: S608
        f"VALUES ({', '.join(['%s'] * len(columns))}) "
        f"ON CONFLICT DO NOTHING RETURNING {quote(meta.pk.column)}"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        found = cursor.fetchone()
    if found is None:
        return False
    row.pk = found[0]
    row._state.adding, row._state.db = False, connection.alias
    return True
