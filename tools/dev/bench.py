"""`make bench`: the shop's speed beside its limits, on a temporary PostgreSQL server.

It prints figures and is not a test, because they depend on the machine. `make bench BENCH=pages`
measures one section. The rows are stored as var/bench.md.
"""

import os
import platform
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from os import cpu_count, getloadavg
from pathlib import Path

import django
from django.db import connection

from tools.dev.postgres import temporary_postgres
from tools.dev.processes import ROOT, SetupError
from tools.dev.stack import use_empty_shop


@dataclass(frozen=True)
class Row:
    """One measurement beside its limit: what it may be at most, or `at_least`."""

    name: str
    value: float
    unit: str
    limit: float
    note: str = ""
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def table(rows: Sequence[Row]) -> str:
    lines = ["| measured | ours | limit | |", "| --- | ---: | ---: | --- |"]
    for row in rows:
        sign = "≥" if row.at_least else "≤"
        missed = "" if row.is_met else "**missed**"
        lines.append(
            f"| {row.name} | {_number(row.value)} {row.unit} | {sign} {_number(row.limit)} "
            f"| {' '.join(filter(None, (missed, row.note)))} |"
        )
    return "\n".join(lines)


def store(rows: Sequence[Row], file: Path) -> None:
    """Write the table to a file, below a line about the machine and its load."""
    machine = (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {cpu_count()} processors, load "
        f"{getloadavg()[0]:.1f}, Python {platform.python_version()}"
    )
    file.write_text(f"{machine}\n\n{table(rows)}\n", encoding="utf-8")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# Each section is a function that measures an empty shop and returns rows. The modules use the
# models, so they are imported when Django is set up.
SECTIONS = {
    "pages": "bench_pages:page_rows",
    "addresses": "bench_addresses:address_rows",
    "start": "bench_pages:start_rows",
    "checkout": "bench_checkout:checkout_rows",
    "sizes": "bench_sizes:size_rows",
    "interaction": "bench_interaction:interaction_rows",
    "phones": "bench_phones:phone_rows",
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
