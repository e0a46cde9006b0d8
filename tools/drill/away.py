"""Drills in which the database restarts, or is away for a while, under load."""

import os
import time
from collections import Counter

import requests

from tools.drill.buyer import Crowd, wait
from tools.drill.count import Outcome, losses
from tools.drill.shop import Shop

SECONDS = float(os.environ.get("DRILL_AWAY_SECONDS", "25"))
# Asked for while PostgreSQL is away. A page that is kept answers without the database.
PATHS = ("/compra", "/", "/api/catalogue", "/readyz")
SLOWEST_S = 10.0


def database_away(shop: Shop) -> Outcome:
    """PostgreSQL is away: visitors are told to come back, and then everything goes on."""
    statuses: Counter[int] = Counter()
    slowest, is_red = 0.0, False
    with Crowd(shop) as crowd:
        crowd.wait_for(2)
        shop.database.stop()
        ends_at = time.monotonic() + SECONDS
        while time.monotonic() < ends_at:
            for path in PATHS:
                began = time.monotonic()
                status = requests.get(f"{shop.address}{path}", timeout=60).status_code
                slowest = max(slowest, time.monotonic() - began)
                statuses[status] += 1
                is_red = is_red or (path == "/readyz" and status == 503)
            time.sleep(0.5)
        shop.database.start()
        began = time.monotonic()
        crowd.wait_for(3)
        back_after = time.monotonic() - began
    lost = [f"«{name}» ha terminado" for name in shop.host.ended()]
    lost += [
        f"respuesta {status}, {times} veces"
        for status, times in statuses.items()
        if status not in (200, 503)
    ]
    if not is_red:
        lost.append("/readyz no lo dice")
    if slowest > SLOWEST_S:
        lost.append(f"una respuesta tardó {slowest:.1f} s")
    lost += losses(shop, crowd.buyers)
    if not wait(lambda: requests.get(f"{shop.address}/readyz", timeout=60).ok, 40):
        lost.append("/readyz sigue en rojo")
    return Outcome(
        f"PostgreSQL falta {SECONDS:.0f} s con compras en marcha",
        f"{crowd.paid} compras, {crowd.refusals} intentos repetidos; mientras faltaba, respuestas "
        f"{dict(statuses)}, la más lenta {slowest:.1f} s; tres compras más en {back_after:.0f} s",
        lost,
    )


def database_restarts(shop: Shop) -> Outcome:
    """PostgreSQL restarts under load: three times in order, twice as after a crash."""
    with Crowd(shop) as crowd:
        crowd.wait_for(3)
        for crash in (False, True, False, True, False):
            shop.database.stop(crash=crash)
            time.sleep(1)
            shop.database.start()
            crowd.wait_for(2)
    lost = [f"«{name}» ha terminado" for name in shop.host.ended()]
    lost += losses(shop, crowd.buyers)
    return Outcome(
        "PostgreSQL se reinicia 5 veces con compras en marcha",
        f"{crowd.paid} compras, {crowd.refusals} intentos repetidos",
        lost,
    )
