"""docs/security.md tells what a request of a stranger costs, for every public address."""

import re

from django.urls import resolve

from tests.security.test_hostile_requests import EVERYWHERE
from tools.dev.bench_addresses import ADDRESSES, MOST_MS
from tools.dev.processes import ROOT

KNOWN = {"{university}": "uaf-1", "{degree}": "economia-1", "{slug}": "microeconomia-1"}
# Probes that answer before anything else of the shop.
PROBES = {"/readyz"}


def route(path):
    for name, value in KNOWN.items():
        path = path.replace(name, value)
    return resolve(path.partition("?")[0]).route


def test_every_public_address_is_measured():
    measured = {route(asked.path) for asked in ADDRESSES if asked.path not in PROBES}

    assert {route(path) for path in EVERYWHERE} <= measured


def test_guide_has_the_cost_of_each_address_and_a_bound_for_those_above_the_limit():
    guide = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    section = guide.partition("\n## What a request costs\n")[2].partition("\n## ")[0]
    pattern = r"^\| (`.+`) \| ([\d.]+) \| ([\d.]+) \| (.*?) ?\|$"
    lines = re.findall(pattern, section, re.MULTILINE)

    assert {name for name, *_ in lines} == {asked.name for asked in ADDRESSES}
    bounds = {asked.name: asked.bound for asked in ADDRESSES}
    assert [bound for *_, bound in lines] == [bounds[name] for name, *_ in lines]
    dear = [name for name, web, database, bound in lines
            if float(web) + float(database) > MOST_MS and not bound]  # fmt: skip
    assert dear == []
