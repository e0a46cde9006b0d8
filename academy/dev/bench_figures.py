"""The figures of `make bench`, taken inside Django."""

import csv
import json
import os
import tempfile
from collections.abc import Callable
from io import BytesIO, StringIO
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from openpyxl import Workbook

from academy.dev.bench import FILE_OF, SIZES
from apps.catalogue import reads
from apps.catalogue.exchange.writing import TITLES
from apps.catalogue.models import Subject, University

TIMES = 7


def print_figures() -> None:
    for size in SIZES:
        _line(f"seed --subjects {size}", _command("seed", subjects=size))
        for name, question in _questions().items():
            _reads(name, question)
    _exchange()


def _questions() -> dict[str, dict[str, Any]]:
    university = University.objects.open().order_by("-subjects_count", "pk")[0]
    degree = university.degrees.order_by("-subjects_count", "pk")[0]
    here = {"university_id": university.pk}
    return {
        "una universidad": here,
        "una universidad, última página": {**here, "page": 10**6},
        "un grado": {**here, "degree_id": degree.pk},
        "buscar «contabilidad» en una universidad": {**here, "search": "contabilidad"},
        "buscar «co» en una universidad": {**here, "search": "co"},
        "todas": {},
        "todas, última página": {"page": 10**6},
        "buscar «contabilidad» en todas": {"search": "contabilidad"},
        "buscar «co» en todas": {"search": "co"},
    }


def _reads(name: str, question: dict[str, Any]) -> None:
    def ask() -> dict[str, Any]:
        return reads.catalogue_page(page_size=18, **question)

    with CaptureQueriesContext(connection) as captured:
        count = ask()["count"]
    plans = [
        _plan(query["sql"])
        for query in captured.captured_queries
        if "catalogue_subject" in query["sql"]
    ]
    took = median(_spent(ask).clock for _ in range(TIMES)) * 1000
    through = "sí" if any("Seq Scan on catalogue_subject" in plan for plan in plans) else "no"
    print(
        f"  {name:<44}{count:>8} asignaturas{len(captured):>3} consultas{took:>8.1f} ms"
        f"   recorre la tabla: {through}"
    )


def _plan(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}")
        return "\n".join(row[0] for row in cursor.fetchall())


def _exchange() -> None:
    """Files of ten thousand subjects, imported into the large catalogue."""
    total = Subject.objects.count()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for ending in ("csv", "json"):
            spent = _command("export_catalogue", folder / f"catalogo.{ending}")
            _line(f"export_catalogue .{ending}, {total} asignaturas", spent)
        part = _part((folder / "catalogo.csv").read_bytes())
        for ending in ("csv", "xlsx", "json"):
            file = folder / f"parte.{ending}"
            # The universities of each file are new ones.
            file.write_bytes(
                FORMATS[ending]([[f"{ending}{row[0]}"[:20], *row[1:]] for row in part])
            )
            what = f"import_catalogue .{ending}, {FILE_OF} asignaturas nuevas, {len(part)} líneas"
            _line(what, _command("import_catalogue", file))
        _line("otra vez, sin cambios", _command("import_catalogue", file))
    assert Subject.objects.count() == total + 3 * FILE_OF  # noqa: S101


def _part(export: bytes) -> list[list[str]]:
    """The lines of the first ten thousand subjects of an export, the acronym in the first cell."""
    found: list[list[str]] = []
    seen: set[tuple[str, ...]] = set()
    columns = [TITLES.index(name) for name in ("universidad_siglas", "grado", "asignatura")]
    for row in islice(csv.reader(StringIO(export.decode("utf-8-sig")), delimiter=";"), 1, None):
        subject = tuple(row[column] for column in columns)
        if subject[-1]:
            if subject not in seen and len(seen) == FILE_OF:
                break
            seen.add(subject)
            found.append(row)
    return found


def _as_csv(rows: list[list[str]]) -> bytes:
    text = StringIO(newline="")
    csv.writer(text, delimiter=";").writerows([TITLES, *rows])
    return text.getvalue().encode()


def _as_xlsx(rows: list[list[str]]) -> bytes:
    book = Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in (TITLES, *rows):
        sheet.append(row)
    file = BytesIO()
    book.save(file)
    return file.getvalue()


def _as_json(rows: list[list[str]]) -> bytes:
    return json.dumps([dict(zip(TITLES, row, strict=True)) for row in rows]).encode()


FORMATS: dict[str, Callable[[list[list[str]]], bytes]] = {
    "csv": _as_csv,
    "xlsx": _as_xlsx,
    "json": _as_json,
}


class Spent(NamedTuple):
    """Seconds on the clock, of CPU here, and of CPU in the database's process."""

    clock: float
    python: float
    database: float


def _command(name: str, *arguments: Any, **options: Any) -> Spent:
    return _spent(lambda: call_command(name, *arguments, stdout=StringIO(), **options))


def _spent(do: Callable[[], object]) -> Spent:
    before = Spent(perf_counter(), process_time(), _database_cpu())
    do()
    after = Spent(perf_counter(), process_time(), _database_cpu())
    return Spent(*(now - then for now, then in zip(after, before, strict=True)))


def _database_cpu() -> float:
    """What PostgreSQL's process for this connection has used so far; 0 where there is no /proc."""
    connection.ensure_connection()
    stat = Path(f"/proc/{connection.connection.info.backend_pid}/stat")
    if not stat.exists():
        return 0.0
    # User and system time stand 14th and 15th; the name before them may hold spaces.
    fields = stat.read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _line(what: str, spent: Spent) -> None:
    print(
        f"{what:<66}{spent.clock:>7.1f} s   CPU: Python {spent.python:.1f} s, "
        f"PostgreSQL {spent.database:.1f} s",
        flush=True,
    )
