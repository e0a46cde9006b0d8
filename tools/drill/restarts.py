"""Drills in which the database or a process goes away while buyers buy."""

import time

from tools.drill.buyer import Crowd
from tools.drill.count import losses
from tools.drill.outcome import Outcome
from tools.drill.shop import BACKGROUND, Shop


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


def workers_killed(shop: Shop) -> Outcome:
    """Each process beside the web process is killed with SIGKILL, and started again."""
    with Crowd(shop) as crowd:
        for name in BACKGROUND:
            crowd.wait_for(2)
            shop.host.kill(name)
            crowd.wait_for(1)
            shop.host.start(name)
    return Outcome(
        "kill -9 a cada trabajador y al reloj",
        f"{crowd.paid} compras, {crowd.refusals} intentos repetidos",
        losses(shop, crowd.buyers, killed=True),
    )
