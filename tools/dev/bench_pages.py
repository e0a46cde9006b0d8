"""Rows of `make bench` about public pages and JSON reads: CPU time if kept, and if rendered."""

import itertools

import requests

from apps.catalogue.models import University
from tools.dev.bench_shop import Server, fill_shop, running_shop
from tools.dev.bench_table import Row

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
