"""The figures of `make bench`, taken inside Django."""

import tempfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from academy.dev.bench import FILE_OF, SIZES
from apps.catalogue import reads
from apps.catalogue.exchange.reading import read_lines
from apps.catalogue.exchange.writing import write_catalogue
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
    took = median(_seconds(ask) for _ in range(TIMES)) * 1000
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
    """A file of ten thousand subjects, imported into the large catalogue."""
    total = Subject.objects.count()
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("csv", "xlsx"):
            file = Path(folder) / f"catalogo.{ending}"
            _line(
                f"export_catalogue .{ending}, {total} asignaturas",
                _command("export_catalogue", file),
            )
        part = Path(folder) / "parte.csv"
        part.write_bytes(_part(write_catalogue("catalogo.csv")))
        lines = len(read_lines(part.read_bytes(), part.name))
        _line(
            f"import_catalogue, {FILE_OF} asignaturas nuevas, {lines} líneas",
            _command("import_catalogue", part),
        )
        _line("otra vez, sin cambios", _command("import_catalogue", part))
    assert Subject.objects.count() == total + FILE_OF  # noqa: S101


def _part(export: bytes) -> bytes:
    """The first ten thousand subjects of an export, as those of universities that are new."""
    head, *lines = export.decode("utf-8-sig").splitlines()
    names = head.split(";")
    acronym, degree, subject = (
        names.index(name) for name in ("universidad_siglas", "grado", "asignatura")
    )
    taken: list[str] = []
    seen: set[tuple[str, str, str]] = set()
    for line in lines:
        cells = line.split(";")
        key = (cells[acronym], cells[degree], cells[subject])
        if not key[2]:
            continue
        if key not in seen and len(seen) == FILE_OF:
            break
        seen.add(key)
        cells[acronym] = f"N{cells[acronym]}"
        taken.append(";".join(cells))
    return "\n".join([head, *taken]).encode()


def _command(name: str, *arguments: Any, **options: Any) -> float:
    return _seconds(lambda: call_command(name, *arguments, stdout=StringIO(), **options))


def _seconds(do: Callable[[], object]) -> float:
    began = perf_counter()
    do()
    return perf_counter() - began


def _line(what: str, seconds: float) -> None:
    print(f"{what:<80}{seconds:>8.1f} s", flush=True)
