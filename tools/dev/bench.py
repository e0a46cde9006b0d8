"""`make bench`: the shop's speed beside its limits, on a temporary PostgreSQL server.

It prints figures and is not a test, because they depend on the machine. `make bench BENCH=pages`
measures one section. The rows are stored as var/bench.md.
"""

import os
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import django
from django.db import connection

from tools.dev.bench_table import Row, store, table
from tools.dev.postgres import temporary_postgres
from tools.dev.processes import ROOT, SetupError
from tools.dev.stack import use_empty_shop

# Each section is a function that measures an empty shop and returns rows. The modules use the
# models, so they are imported when Django is set up.
SECTIONS = {
    "pages": "bench_pages:page_rows",
    "addresses": "bench_addresses:address_rows",
    "start": "bench_start:start_rows",
    "checkout": "bench_checkout:checkout_rows",
    "sizes": "bench_sizes:size_rows",
    "interaction": "bench_interaction:interaction_rows",
}


def bench() -> int:
    """Measure all sections, or those that BENCH names, and print the table."""
    chosen = os.environ.get("BENCH", "").replace(",", " ").split() or list(SECTIONS)
    if unknown := set(chosen) - set(SECTIONS):
        raise SetupError(f"BENCH no conoce: {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    with temporary_postgres() as url, tempfile.TemporaryDirectory() as folder:
        # A million orders are inserted by one statement each for their table.
        use_empty_shop(Path(folder), DATABASE_URL=url, DATABASE_STATEMENT_TIMEOUT="900")
        django.setup()
        for section in chosen:
            print(f"Midiendo: {section}…", flush=True)
            _empty_database()
            module, name = SECTIONS[section].split(":")
            measure: Callable[[], list[Row]] = getattr(import_module(f"tools.dev.{module}"), name)
            rows += measure()
            store(rows, ROOT / "var" / "bench.md")
    print(table(rows))
    return 0


def _empty_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
