"""Rows of `make bench` about public pages and JSON reads, each beside a bare Django view."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from statistics import median

from django.core.management import call_command
from django.db import connections

from apps.catalogue.models import University
from apps.pages.models import Institution, TeamMember, Testimonial
from tools.dev.bench_servers import PRODUCTION, Server, body_size, gunicorn, load
from tools.dev.bench_table import Row
from tools.dev.processes import ROOT

# Both servers are measured in turn, this many times, so that other processes disturb both alike.
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SECONDS = 2.0
PAGES = ("/", "/compra", "/precios")
PAGES_GOAL, ANSWERS_GOAL = 0.7, 0.5
RENDERED_MS = 6.0
# As in the Procfile.
CONFIG = "--config python:academy.gunicorn_conf"
# Each request names another port, so no page has been rendered for its host before.
NEVER_ASKED = "Host: 127.0.0.1:{n}"


def page_rows() -> list[Row]:
    """Fill the empty shop with the sample data and measure it as it runs in production."""
    fill_shop()
    largest = University.objects.open().order_by("-subjects_count", "pk")[0]
    connections.close_all()
    catalogue = f"/api/catalogue?university_id={largest.pk}"
    with running_shop() as shop, gunicorn("tools.dev.bench_bare", {}) as bare:
        return [
            *(_beside_bare(path, shop, bare, PAGES_GOAL) for path in PAGES),
            _beside_bare("/", shop, bare, PAGES_GOAL, "Accept-Encoding: br"),
            _beside_bare(catalogue, shop, bare, ANSWERS_GOAL),
            _beside_bare("/api/universities", shop, bare, ANSWERS_GOAL),
            *(_rendered(f"`{path}`, rendered and kept", shop, path, NEVER_ASKED) for path in PAGES),
            _rendered("a search that is new", shop, catalogue + "&search=a{n}"),
        ]


def fill_shop() -> None:
    call_command("seed", stdout=StringIO())
    for model in (University, Testimonial, TeamMember, Institution):
        model._default_manager.update(is_sample=False)  # Production hides samples.
    if Path(os.environ["VAR_DIR"], "static_root", "build").exists():
        return
    collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity=0"]
    subprocess.run(collect, cwd=ROOT, env={**os.environ, **PRODUCTION}, check=True)


@contextmanager
def running_shop(port: int | None = None, **env: str) -> Iterator[Server]:
    """The shop of this process's database, as in production."""
    with gunicorn("academy.wsgi", {**PRODUCTION, **env}, port=port, options=CONFIG) as server:
        yield server


def _beside_bare(path: str, shop: Server, bare: Server, goal: float, *headers: str) -> Row:
    """Requests per second of a path and of a bare view with as many bytes, measured in turn."""
    size = body_size(shop, path, *headers)
    ours, limits = [], []
    for _ in range(ROUNDS):
        ours.append(load(shop, path, SECONDS, *headers))
        limits.append(load(bare, f"/{size}", SECONDS))
    cpu_ms, limit_cpu_ms = (median(each.cpu_ms for each in side) for side in (ours, limits))
    return Row(
        f"`{path}`{', brotli' if headers else ''}",
        median(answered.per_second for answered in ours),
        "/s",
        median(answered.per_second for answered in limits),
        f"bare view, {size:,} B",
        goal,
        note=f"{cpu_ms:.2f} ms of CPU beside {limit_cpu_ms:.2f}",
    )


def _rendered(name: str, shop: Server, path: str, *headers: str) -> Row:
    """CPU time of the shop for an answer that it has not kept."""
    cpu_ms = median(load(shop, path, SECONDS, *headers).cpu_ms for _ in range(ROUNDS))
    return Row(name, cpu_ms, "ms of CPU", RENDERED_MS, "goal", 1, more_is_better=False)
