"""The figures of `make bench`: seeding, lists, import and export."""

import os
import tempfile
from collections.abc import Callable
from functools import partial
from io import StringIO
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import Value
from django.db.models.functions import Concat
from django.test.utils import CaptureQueriesContext

from apps.catalogue import reads
from apps.catalogue.exchange.writing import write_catalogue
from apps.catalogue.models import Subject, University

SMALL, FILE_OF, LARGE = 1_000, 10_000, 100_000
FORMATS = ("csv", "xlsx", "json")
TIMES = 7


def print_figures() -> None:
    """Fill the empty database in steps and print one line for each measurement."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _command("seed", subjects=SMALL)
        _lists()
        _command("seed", subjects=FILE_OF)
        _write_files(folder)
        _command("seed", subjects=LARGE)
        _lists()
        for ending in ("csv", "json"):
            _command("export_catalogue", folder / f"todo.{ending}")
        for ending in (*FORMATS, FORMATS[-1]):  # The last file twice: then nothing changes.
            _command("import_catalogue", folder / f"nuevo.{ending}")
    assert Subject.objects.count() == LARGE + len(FORMATS) * FILE_OF  # noqa: S101


def _write_files(folder: Path) -> None:
    """Write the catalogue in each format. With acronyms of its own, each file has new rows only."""
    for ending in FORMATS:
        with transaction.atomic():
            University.objects.update(acronym=Concat(Value(ending), "acronym"))
            (folder / f"nuevo.{ending}").write_bytes(write_catalogue(f"nuevo.{ending}"))
            transaction.set_rollback(True)


def _lists() -> None:
    university = University.objects.open().order_by("-subjects_count", "pk")[0]
    degree = university.degrees.order_by("-subjects_count", "pk")[0]
    in_university = {"university_id": university.pk}
    questions: dict[str, dict[str, Any]] = {
        "una universidad": in_university,
        "una universidad, última página": {**in_university, "page": 10**6},
        "un grado": {**in_university, "degree_id": degree.pk},
        "buscar «contabilidad» en una universidad": {**in_university, "search": "contabilidad"},
        "buscar «co» en una universidad": {**in_university, "search": "co"},
        "todas": {},
        "todas, última página": {"page": 10**6},
        "buscar «contabilidad» en todas": {"search": "contabilidad"},
        "buscar «co» en todas": {"search": "co"},
    }
    for name, question in questions.items():
        _list(name, partial(reads.catalogue_page, page_size=18, **question))


def _list(name: str, read: Callable[[], dict[str, Any]]) -> None:
    with CaptureQueriesContext(connection) as captured:
        count = read()["count"]
    queries = [query["sql"] for query in captured.captured_queries]
    scans = any("Seq Scan on catalogue_subject" in _plan(sql) for sql in queries)
    milliseconds = median(_spent(read)[0] for _ in range(TIMES)) * 1000
    print(
        f"  {name:<44}{count:>8} asignaturas{len(queries):>3} consultas{milliseconds:>8.1f} ms"
        f"   recorre la tabla: {'sí' if scans else 'no'}"
    )


def _plan(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}")
        return "\n".join(row[0] for row in cursor.fetchall())


def _command(name: str, *files: Path, **options: Any) -> None:
    clock, python, database = _spent(
        lambda: call_command(name, *files, stdout=StringIO(), **options)
    )
    label = " ".join([name, *(file.name for file in files), *map(str, options.values())])
    print(
        f"{label:<40}{Subject.objects.count():>8} asignaturas{clock:>7.1f} s"
        f"   CPU: Python {python:.1f} s, PostgreSQL {database:.1f} s",
        flush=True,
    )


def _spent(do: Callable[[], object]) -> tuple[float, ...]:
    """Elapsed seconds, CPU seconds of Python, and CPU seconds of PostgreSQL."""
    before = (perf_counter(), process_time(), _database_cpu())
    do()
    after = (perf_counter(), process_time(), _database_cpu())
    return tuple(now - then for now, then in zip(after, before, strict=True))


def _database_cpu() -> float:
    """CPU seconds of PostgreSQL's process for this connection; 0 without /proc."""
    connection.ensure_connection()
    stat = Path(f"/proc/{connection.connection.info.backend_pid}/stat")
    if not stat.exists():
        return 0.0
    # Fields 14 and 15 are user and system time; the name before them may contain spaces.
    fields = stat.read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
