"""docs/security.md tells what a request of a stranger costs, for every public address."""

import re

from django.urls import resolve

from tests.security.test_hostile_requests import EVERYWHERE
from tools.dev.bench_addresses import ADDRESSES, MOST_MS
from tools.dev.processes import ROOT

KNOWN = {"{university}": "uaf-1", "{degree}": "economia-1", "{slug}": "microeconomia-1"}
# Paths that are answered before the shop looks at its addresses: a probe, and files.
BEFORE = {"/readyz", "/static/a{n}.css"}
MISSING = ("/static/a{n}.css", "/imagenes/a{n}.png")


def route(path):
    for name, value in KNOWN.items():
        path = path.replace(name, value)
    return resolve(path.partition("?")[0]).route


def test_every_public_address_is_measured():
    measured = {route(asked.path) for asked in ADDRESSES if asked.path not in BEFORE}

    assert {route(path) for path in EVERYWHERE} <= measured


def costs_of_the_guide():
    """The web process's milliseconds, PostgreSQL's, and the bound, by the name of a request."""
    guide = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    section = guide.partition("\n## What a request costs\n")[2].partition("\n## ")[0]
    pattern = r"^\| (`.+`) \| ([\d.]+) \| ([\d.]+) \| (.*?) ?\|$"
    lines = re.findall(pattern, section, re.MULTILINE)
    return {name: (float(web), float(database), bound) for name, web, database, bound in lines}


def test_guide_has_the_cost_of_each_address_and_a_bound_for_those_above_the_limit():
    costs = costs_of_the_guide()

    assert {name: bound for name, (*_, bound) in costs.items()} == {
        asked.name: asked.bound for asked in ADDRESSES
    }
    dear = [name for name, (web, database, bound) in costs.items()
            if web + database > MOST_MS and not bound]  # fmt: skip
    assert dear == []


def test_pages_and_files_of_one_network_take_less_than_two_processors():
    """The network asks for the dearest page without a bound of its own, and for missing files."""
    unbounded = {
        name: web + database for name, (web, database, bound) in costs_of_the_guide().items()
        if not bound
    }  # fmt: skip
    rates = (ROOT / "deploy" / "nginx" / "academia-http.conf").read_text(encoding="utf-8")

    def a_second(zone: str) -> int:
        found = re.search(rf"zone=academia_{zone}:10m rate=(\d+)r/s", rates)
        assert found, zone
        return int(found[1])

    for suffix in ("", "_48"):
        pages = a_second(f"asking{suffix}") * max(unbounded.values())
        files = a_second(f"fetching{suffix}") * max(unbounded[f"`GET {path}`"] for path in MISSING)
        assert pages + files < 2_000
