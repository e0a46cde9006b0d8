"""Rows of `make bench` about pages and JSON reads, and about the start and memory of a process."""

import itertools
import subprocess
import sys
from statistics import median
from time import perf_counter

import requests

from apps.catalogue.models import University
from tools.dev.bench import Row
from tools.dev.bench_shop import Server, fill_shop, running_shop
from tools.dev.processes import ROOT

PAGES = ("/", "/compra", "/precios")
KEPT, KEPT_MS = 2000, 1.5
RENDERED, RENDERED_MS = 100, 6.0


def page_rows() -> list[Row]:
    """Fill the empty shop with the sample data and measure it as it runs in production."""
    fill_shop()
    largest = University.objects.open().order_by("-subjects_count", "pk")[0]
    catalogue = f"/api/catalogue?university_id={largest.pk}"
    with running_shop() as shop:
        return [
            *(_kept(path, shop) for path in (*PAGES, catalogue, "/api/universities")),
            *(_rendered(f"`{path}`, rendered and kept", path, shop) for path in PAGES),
            _rendered("a search that is new", catalogue + "&search=a{n}", shop),
        ]


def _kept(path: str, shop: Server) -> Row:
    session = requests.Session()
    cpu_ms = shop.cpu_ms(lambda n: session.get(shop.url + path).raise_for_status(), KEPT)
    return Row(f"`{path}`", cpu_ms, "ms of CPU", KEPT_MS)


def _rendered(name: str, path: str, shop: Server) -> Row:
    session = requests.Session()
    ports = itertools.count(1000)

    def ask(number: int) -> None:
        # Each request names another port, so no page has been rendered for its host before.
        host = {"Host": f"127.0.0.1:{next(ports)}"}
        url = shop.url + path.replace("{n}", str(number))
        session.get(url, headers=host).raise_for_status()

    return Row(name, shop.cpu_ms(ask, RENDERED), "ms of CPU", RENDERED_MS)


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
