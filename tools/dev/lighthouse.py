"""`make lighthouse`: measure every public page as on a phone with a slow connection.

The shop runs as in production, with the sample data. Each page is measured three times; a figure is
the median. `PAGES="/ /compra"` measures these pages only, `RUNS=1` each of them once. npx fetches
Lighthouse, which is not a dependency of the project.
"""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import django

from tools.dev.bench_shop import fill_shop, running_shop
from tools.dev.chromium import install_chromium
from tools.dev.processes import SetupError, run_to_end
from tools.dev.stack import use_empty_shop

LIGHTHOUSE = "lighthouse@12.8.2"  # the last of those that run on Node 20
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
LEAST_SCORE = 100
MOST_BLOCKING_MS = 50
RUNS = 3
PAGES = (
    "/", "/servicios", "/nosotros", "/precios", "/compra", "/contenido-asignatura",
    "/terminos", "/privacidad", "/cookies", "/aviso-legal", "/accesibilidad",
    "/asignaturas", "/asignaturas/uamed-1", "/asignaturas/uamed-1/grados/ade-1",
    "/asignaturas/uamed-1/introduccion-a-la-empresa-1", "/profesores/lucia-martin-1",
)  # fmt: skip
# Search engines are kept off these, so they have no SEO figure.
NOT_INDEXED = ("/buscar?q=economia", "/login", "/desistimiento")


@dataclass(frozen=True)
class Figures:
    """One page: its scores by category, its total blocking time, and the audits that it fails."""

    scores: Mapping[str, int]
    blocking_ms: int
    failed: frozenset[str] = frozenset()

    @property
    def is_good(self) -> bool:
        return self.blocking_ms <= MOST_BLOCKING_MS and all(
            score >= LEAST_SCORE for score in self.scores.values()
        )


def measure() -> int:
    """Measure the pages and print a table. Returns 1 if a figure misses its goal."""
    pages = chosen_pages(os.environ.get("PAGES", ""))
    runs = int(os.environ.get("RUNS") or RUNS)
    chromium = install_chromium()
    with tempfile.TemporaryDirectory(prefix="academy-lighthouse-") as folder:
        use_empty_shop(Path(folder))
        django.setup()
        fill_shop()
        with running_shop() as shop:
            by_page = {}
            for page in pages:
                url = shop.url + page
                runs_of_page = [_judge(page, url, folder, chromium) for _ in range(runs)]
                by_page[page] = median_of(runs_of_page)
                print(line(page, by_page[page]), flush=True)
    print(f"\n{table(by_page)}")
    return 0 if all(figures.is_good for figures in by_page.values()) else 1


def chosen_pages(text: str) -> list[str]:
    """Return the pages that the text names, or all of them."""
    return text.replace(",", " ").split() or [*PAGES, *NOT_INDEXED]


def _judge(page: str, url: str, folder: str, chromium: str | None) -> Figures:
    report = Path(folder) / "report.json"
    command = [
        *("npx", "--yes", LIGHTHOUSE, url, "--quiet", "--output=json"),
        *(f"--output-path={report}", f"--only-categories={','.join(CATEGORIES)}"),
        "--chrome-flags=--headless=new --no-sandbox",
    ]
    _run(command, {"CHROME_PATH": chromium} if chromium else {})
    return figures_of(page, json.loads(report.read_text(encoding="utf-8")))


def figures_of(page: str, report: Mapping[str, Any]) -> Figures:
    """Return the figures of one run from Lighthouse's JSON report."""
    audits = report["audits"]
    counted = [name for name in CATEGORIES if name != "seo" or page not in NOT_INDEXED]
    failed = frozenset(
        reference["id"]
        for name in counted
        for reference in report["categories"][name]["auditRefs"]
        if reference["weight"] and (audits[reference["id"]].get("score") or 0) < 0.9
        if audits[reference["id"]].get("score") is not None
    )
    return Figures(
        {name: round(report["categories"][name]["score"] * 100) for name in counted},
        round(audits["total-blocking-time"]["numericValue"]),
        failed,
    )


def median_of(runs: Sequence[Figures]) -> Figures:
    """Return the median of each figure, and the audits that failed in most of the runs."""
    return Figures(
        {name: round(median(run.scores[name] for run in runs)) for name in runs[0].scores},
        round(median(run.blocking_ms for run in runs)),
        frozenset(
            name
            for name in frozenset().union(*(run.failed for run in runs))
            if sum(name in run.failed for run in runs) * 2 > len(runs)
        ),
    )


def _run(command: list[str], env: Mapping[str, str]) -> None:
    if run_to_end(command, env=env) != 0:
        raise SetupError(f"«{' '.join(command[:4])}» ha fallado.")


def line(page: str, figures: Figures) -> str:
    """Return one line of the table, with ✗ if a figure misses its goal, and the failed audits."""
    columns = "".join(f"{figures.scores.get(name, '–'):>16}" for name in CATEGORIES)
    mark = "✓" if figures.is_good else "✗"
    failed = f"  {', '.join(sorted(figures.failed))}" if figures.failed else ""
    return f"{mark} {page:<50}{columns}{figures.blocking_ms:>10}{failed}"


def table(by_page: Mapping[str, Figures]) -> str:
    head = f"  {'':<50}" + "".join(f"{name:>16}" for name in CATEGORIES) + f"{'TBT (ms)':>10}"
    return "\n".join([head, *(line(page, figures) for page, figures in by_page.items())])
