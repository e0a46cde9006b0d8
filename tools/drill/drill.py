"""`make drill`: does each drill, prints a table, and ends with 1 if anything was lost.

python -m tools.drill.drill            all drills
python -m tools.drill.drill restored   only those whose names begin so
"""

import sys
import time
from collections.abc import Callable

from tools.dev.processes import SetupError, interrupt_on_signals
from tools.drill import hosts, kills, pooler, provider, restarts, restored
from tools.drill.outcome import Outcome
from tools.drill.shop import Shop, running_shop

DRILLS: tuple[Callable[[Shop], Outcome], ...] = (
    restored.restored_backup,
    restarts.database_restarts,
    restarts.workers_killed,
    kills.web_killed,
    kills.instalments_killed,
    provider.provider_in_trouble,
    provider.provider_away,
    provider.mail_server_away,
    hosts.two_hosts,
    pooler.through_pgbouncer,
)


def main(names: list[str]) -> int:
    interrupt_on_signals()
    chosen = [drill for drill in DRILLS if not names or drill.__name__.startswith(tuple(names))]
    if not chosen:
        print("Simulacros: " + ", ".join(drill.__name__ for drill in DRILLS), file=sys.stderr)
        return 2
    began = time.monotonic()
    try:
        with running_shop() as shop:
            print(f"La tienda está abierta en {shop.address} ({_proxy(shop)}).", flush=True)
            lost = sum(_run(drill, shop) for drill in chosen)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    minutes = (time.monotonic() - began) / 60
    print(f"\n{len(chosen)} simulacros en {minutes:.1f} min. Pérdidas: {lost or 'ninguna'}.")
    return 1 if lost else 0


def _proxy(shop: Shop) -> str:
    return "detrás de nginx" if shop.has_proxy else "sin nginx, que no está instalado"


def _run(drill: Callable[[Shop], Outcome], shop: Shop) -> int:
    began = time.monotonic()
    print(f"\n{drill.__name__}", flush=True)
    outcome = drill(shop)
    print(f"  se probó: {outcome.tried}")
    print(f"  pasó:     {outcome.happened} ({time.monotonic() - began:.0f} s)")
    print(f"  se perdió: {'nada' if not outcome.lost else ''}", flush=True)
    for sentence in outcome.lost:
        print(f"    {sentence}", flush=True)
    return len(outcome.lost)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
