"""Query plans on PostgreSQL: does a page read large tables by index only?

    students = multiply(order.student, 20_000, email="'alumna' || n || '@example.com'")
    multiply(order, 20_000, student_id=f"{students} + n", idempotency_id="gen_random_uuid()")
    with bounded_reads():
        client.get("/admin/orders/order/")

`bounded_reads` runs each query again under EXPLAIN ANALYZE and counts the rows that it really read.
Its tests have the mark `postgres`. `plan_of` works on SQLite, too.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.db.models import Model
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

MOST_QUERIES = 12
# A table of this many rows is large.
LARGE = 5_000
# The most rows of a large table that one step of a query may read. A list counts its rows up to a
# limit below this (`core.staff.admin_base.BoundedPaginator`), and a page shows 50.
MOST_ROWS = 2_500


def earlier(apart: str) -> str:
    """The SQL expression of a moment for copy n: n times that much before now, as in "1 hour".

    Now is the time of the tests, which `--as-of` moves; that of PostgreSQL stays.
    """
    return f"timestamptz '{timezone.now().isoformat()}' - n * interval '{apart}'"


def multiply(row: Model, times: int, **columns: str) -> int:
    """Insert copies of a row in one statement, and refresh the statistics of its table.

    Returns the highest id before: the id of copy n is that plus n, for n from 1 to `times`.
    `columns` gives SQL expressions by column name, in which `n` is that number. Every unique column
    needs one, except a student's random key. All other columns are copied.
    """
    meta = row._meta
    names = [f.column for f in meta.concrete_fields if not f.primary_key and not f.generated]
    assert set(columns) <= set(names), set(columns) - set(names)
    if "classroom_key" in names:
        columns = {"classroom_key": "gen_random_uuid()::text", **columns}
    values = ", ".join(columns.get(name, f'source."{name}"') for name in names)
    quoted = ", ".join(f'"{name}"' for name in names)
    table = meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT max(id) FROM "{table}"')
        (highest,) = cursor.fetchone()
        # The time limit is for the pages' statements, not for making their rows on a busy machine.
        cursor.execute("SHOW statement_timeout")
        (timeout,) = cursor.fetchone()
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(
            f'INSERT INTO "{table}" (id, {quoted}) SELECT {highest} + n, {values} '
            f'FROM "{table}" source, generate_series(1, {times}) n WHERE source.id = {row.pk}'
        )
        cursor.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM \"{table}\""
        )
        cursor.execute(f'ANALYZE "{table}"')
        cursor.execute(f"SET LOCAL statement_timeout = '{timeout}'")
    return int(highest)


def plan_of(sql: str) -> str:
    """The plan of a query, not carried out, one step a line as the database words it."""
    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {sql}")
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


@contextmanager
def bounded_reads(
    *, at_most: int = MOST_QUERIES, rows: int = MOST_ROWS
) -> Iterator[CaptureQueriesContext]:
    """Fail if the queries of this block are more than `at_most`, or one reads a large table widely.

    A query may read `rows` rows of a large table in one step of its plan, by whatever kind of scan.
    """
    large = _large_tables()
    assert large, f"no table has {LARGE} rows: fill some with `multiply`"
    with CaptureQueriesContext(connection) as captured:
        yield captured
    statements = [query["sql"] for query in captured.captured_queries]
    wide = [
        f"{step} reads {count} rows:\n{sql}"
        for sql in statements
        if sql.lstrip("(").startswith("SELECT")  # A union begins with a bracket.
        for step, count in _reads(sql, large)
        if count > rows
    ]
    assert not wide, "\n\n".join(wide)
    assert len(statements) <= at_most, "\n".join([f"{len(statements)} queries", *statements])


def _large_tables() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND reltuples >= %s", [LARGE]
        )
        return {name for (name,) in cursor.fetchall()}


def _reads(sql: str, large: set[str]) -> Iterator[tuple[str, int]]:
    """Each step of the query's plan that reads a large table, with the rows that it has read."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
        (answer,) = cursor.fetchone()
    plans = json.loads(answer) if isinstance(answer, str) else answer
    for step in _steps(plans[0]["Plan"]):
        if step.get("Relation Name") in large:
            by = step.get("Index Name", "no index")
            # EXPLAIN gives averages over the step's loops.
            read = step["Actual Rows"] + step.get("Rows Removed by Filter", 0)
            read += step.get("Rows Removed by Index Recheck", 0)
            name = f"{step['Node Type']} on {step['Relation Name']} ({by})"
            yield name, round(read * step["Actual Loops"])


def _steps(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield step
    for below in step.get("Plans", ()):
        yield from _steps(below)
