"""Two releases: one beside the other on the schema of the newer one, and one after the other."""

import os
import re
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import requests

from tools.dev.processes import ROOT
from tools.dev.upgrade import check_out, previous_release
from tools.drill.buyer import Crowd
from tools.drill.count import Outcome, losses
from tools.drill.shop import BACKGROUND, Host, Shop

PURCHASES, PLANS = 10, 3
PAGES = ("/", "/compra", "/precios")
# What visitors ask for during an upgrade.
PUBLIC = (*PAGES, "/nosotros", "/servicios", "/api/catalogue", "/api/pricing")
# nginx waits as long for an answer (proxy_read_timeout). A restart takes seconds, and on a busy
# machine most of a minute.
PATIENCE_S = 60.0
# TimeoutStopSec of academia-web.service.
STOPS_WITHIN_S = 40.0
AWAY_SECONDS = float(os.environ.get("DRILL_AWAY_SECONDS", "25"))


def two_releases(shop: Shop) -> Outcome:
    """Processes of both releases take turns behind the proxy, and share the queues."""
    release = previous_release()
    tried = "la versión anterior y esta a la vez con el esquema nuevo"
    if not release:
        return Outcome(tried, "no se probó: no hay historia de Git")
    if not shop.has_proxy:
        return Outcome(tried, "no se probó: no hay nginx")
    code = shop.folder / "previous-release"
    code.mkdir()
    check_out(release, code)
    old = shop.add_host("previous", code)
    old.manage_or_fail("collectstatic", "--noinput", "--verbosity", "0")
    old.start()
    shop.serve_from(shop.host, old)
    lost = _missing_files(shop.address)
    with Crowd(shop) as crowd, Crowd(shop, threads=1, plan=True) as plans:
        crowd.wait_for(PURCHASES, seconds=120)
        plans.wait_for(PLANS, seconds=120)
    lost += [f"«{name}» de la versión anterior ha terminado" for name in old.ended()]
    lost += losses(shop, [*crowd.buyers, *plans.buyers])
    shop.serve_from(shop.host)
    old.stop()
    return Outcome(
        f"{tried} (la anterior: {release[:8]})",
        f"{crowd.paid} compras y {plans.paid} a plazos por las dos, "
        f"{crowd.refusals + plans.refusals} intentos repetidos",
        lost,
    )


def _missing_files(address: str) -> list[str]:
    """Scripts and styles of the pages of either release that the other one does not have."""
    named: set[str] = set()
    for path in PAGES:
        for _ in range(6):
            # With a session, so that nginx does not answer for either release.
            page = requests.get(f"{address}{path}", cookies={"sessionid": "x"}, timeout=60)
            page.raise_for_status()
            # An island names its modules in one attribute, with spaces between them.
            named |= set(re.findall(r'(?<=[" ])/static/[^" ]+', page.text))
    missing = [
        file
        for file in sorted(named)
        for _ in range(4)
        if requests.get(f"{address}{file}", timeout=60).status_code != 200
    ]
    return [f"{Path(file).name} no se encuentra" for file in dict.fromkeys(missing)]


def upgrade_refuses_nobody(shop: Shop) -> Outcome:
    """An upgrade, a way back and a database that is away, under visits and purchases.

    The release is a folder with a link to it, and the socket outlives the web process
    (docs/operations.md, "Upgrading and rolling back").
    """
    tried = "actualizar, volver atrás y quedarse sin base de datos, con visitas y compras"
    release = previous_release()
    if not release or not shop.has_proxy:
        return Outcome(tried, "no se probó: no hay nginx o historia de Git")
    old, current = shop.folder / "releases" / release, shop.folder / "current"
    old.mkdir(parents=True)
    check_out(release, old)
    current.symlink_to(old)
    host = shop.add_host("upgraded", current)
    with host.listen():
        host.manage_or_fail("collectstatic", "--noinput", "--verbosity", "0")
        shop.host.stop()
        host.start()
        shop.serve_from(host)
        with Crowd(shop, patience_s=PATIENCE_S) as crowd, Visitors(shop) as visitors:
            crowd.wait_for(PURCHASES // 2)
            took = [_change_release(host, current, code) for code in (ROOT, old, ROOT)]
            crowd.wait_for(PURCHASES // 2)
            # A call to Stripe that fails is no refusal of the restart.
            refused = [text for text in crowd.refused() if "provider_error" not in text]
            lost = [f"compra rechazada: {text}" for text in refused]
            bought = crowd.paid
            shop.database.stop()
            time.sleep(AWAY_SECONDS)
            shop.database.start()
            crowd.wait_for(PURCHASES // 2)
        lost += [f"«{path}» dio {status} {n} veces" for (path, status), n in visitors.refused()]
        lost += [f"«{name}» ha terminado" for name in host.ended()]
        lost += losses(shop, crowd.buyers)
        host.stop()
    shop.host.start()
    shop.serve_from(shop.host)
    restarts = ", ".join(f"{seconds:.1f}" for seconds in took)
    return Outcome(
        f"{tried} (la anterior: {release[:8]})",
        f"tres cambios de versión ({restarts} s sin proceso web) y {AWAY_SECONDS:.0f} s sin "
        f"base de datos: {visitors.answers.total()} páginas, {bought} compras sin un rechazo "
        f"hasta entonces, {crowd.paid} en total",
        lost,
    )


def _change_release(host: Host, current: Path, code: Path) -> float:
    """Install a release and restart. Returns the seconds without a web process that answers."""
    link = current.with_name("next")
    link.symlink_to(code)
    link.replace(current)
    host.manage_or_fail("collectstatic", "--noinput", "--verbosity", "0")
    host.stop(*BACKGROUND)
    host.start(*BACKGROUND)
    began = time.monotonic()
    host.stop("web", seconds=STOPS_WITHIN_S)
    host.start("web")
    return time.monotonic() - began


class Visitors:
    """Anonymous visitors who ask for public pages all the time, until they are told to stop."""

    def __init__(self, shop: Shop, *, threads: int = 2) -> None:
        self.answers: Counter[tuple[str, int]] = Counter()
        self._shop = shop
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._visit) for _ in range(threads)]

    def __enter__(self) -> "Visitors":
        for path in PUBLIC:
            self._ask(path)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def refused(self) -> list[tuple[tuple[str, int], int]]:
        """Address and status of what was not answered with 200, and how often. 0 is no answer."""
        return [(asked, n) for asked, n in self.answers.items() if asked[1] != 200]

    def _ask(self, path: str) -> None:
        status = 0
        with suppress(requests.RequestException):
            status = requests.get(f"{self._shop.address}{path}", timeout=60).status_code
        self.answers[path, status] += 1

    def _visit(self) -> None:
        while not self._over.is_set():
            for path in PUBLIC:
                self._ask(path)
                time.sleep(0.1)
