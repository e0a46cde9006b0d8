"""Rows of `make bench` about the start of a process and its memory."""

import subprocess
import sys
from statistics import median
from time import perf_counter

from tools.dev.bench_pages import fill_shop, running_shop
from tools.dev.bench_servers import Server, load
from tools.dev.bench_table import Row
from tools.dev.processes import ROOT

CHECK_S = 1.0
MEGABYTES = 90.0
FIRST_ANSWER_MS = 300.0
TIMES = 3


def start_rows() -> list[Row]:
    rows = [
        Row("`manage.py check`", median(_check_s() for _ in range(TIMES)), "s", CHECK_S, "goal", 1,
            more_is_better=False)
    ]  # fmt: skip
    fill_shop()
    with running_shop() as shop:
        for path in ("/", "/compra", "/precios", "/api/catalogue", "/login"):
            load(shop, path, 1.0)
        before = shop.worker_megabytes()
        load(shop, "/compra?buscar=a{n}", 5.0)
        after, together = shop.worker_megabytes(), shop.megabytes()
        first_ms = median(_first_answer_ms(shop) for _ in range(TIMES))
    note = f"PSS; all processes of gunicorn together: {together:.0f} MB"
    return [
        *rows,
        Row("memory of a web worker", before, "MB", MEGABYTES, "goal", 1, more_is_better=False),
        Row("… after thousands of new searches", after, "MB", MEGABYTES, "goal", 1,
            more_is_better=False, note=note),
        Row("first answer of new workers, `/`", first_ms, "ms", FIRST_ANSWER_MS, "goal", 1,
            more_is_better=False),
    ]  # fmt: skip


def _first_answer_ms(shop: Server) -> float:
    """The time from the death of all workers to the home page from a new one."""
    began = perf_counter()
    shop.end_workers()
    while not shop.is_ready("/"):
        pass
    return (perf_counter() - began) * 1000


def _check_s() -> float:
    started_at = perf_counter()
    subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, check=True, capture_output=True
    )
    return perf_counter() - started_at
