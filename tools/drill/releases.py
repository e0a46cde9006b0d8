"""Two releases at once: the previous one beside this one, on this one's schema."""

import re
from pathlib import Path

import requests

from tools.dev.upgrade import check_out, previous_release
from tools.drill.buyer import Crowd
from tools.drill.count import Outcome, losses
from tools.drill.shop import Shop

PURCHASES, PLANS = 10, 3
PAGES = ("/", "/compra", "/precios")


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
