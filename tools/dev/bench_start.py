"""Rows of `make bench` about the start of a process and its memory."""

import subprocess
import sys
from statistics import median
from time import perf_counter

import requests

from tools.dev.bench_shop import Server, fill_shop, running_shop
from tools.dev.bench_table import Row
from tools.dev.processes import ROOT

CHECK_S = 1.0
MEGABYTES = 90.0
FIRST_ANSWER_MS = 300.0
TIMES = 3
PATHS = ("/", "/compra", "/precios", "/api/catalogue", "/login")
SEARCHES = 2000


def start_rows() -> list[Row]:
    check_s = median(_check_s() for _ in range(TIMES))
    fill_shop()
    session = requests.Session()
    with running_shop() as shop:
        for path in PATHS * 20:
            session.get(shop.url + path).raise_for_status()
        before = shop.worker_megabytes()
        for number in range(SEARCHES):
            session.get(f"{shop.url}/compra?buscar=a{number}").raise_for_status()
        after, together = shop.worker_megabytes(), shop.megabytes()
        first_ms = median(_first_answer_ms(shop) for _ in range(TIMES))
    note = f"PSS; all processes of gunicorn together: {together:.0f} MB"
    return [
        Row("`manage.py check`", check_s, "s", CHECK_S),
        Row("memory of a web worker", before, "MB", MEGABYTES),
        Row(f"… after {SEARCHES:,} new searches", after, "MB", MEGABYTES, note),
        Row("first answer of new workers, `/`", first_ms, "ms", FIRST_ANSWER_MS),
    ]


def _first_answer_ms(shop: Server) -> float:
    """The time from the death of all workers to the home page from a new one."""
    began = perf_counter()
    shop.end_workers()
    while not _answers(shop.url):
        pass
    return (perf_counter() - began) * 1000


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=10).ok
    except requests.RequestException:
        return False


def _check_s() -> float:
    started_at = perf_counter()
    subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, check=True, capture_output=True
    )
    return perf_counter() - started_at
