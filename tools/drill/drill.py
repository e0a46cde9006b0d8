"""`make drill`: does each drill, prints a table, and ends with 1 if anything was lost.

python -m tools.drill.drill            all drills, in two shops side by side
python -m tools.drill.drill restored   only those whose names begin so, in one shop
"""

import os
import sys
import time
import traceback
from collections.abc import Callable

from tools.dev.processes import SetupError, end, interrupt_on_signals, start
from tools.drill import (
    away,
    clocks,
    disk,
    friend_codes,
    hosts,
    kills,
    pooler,
    provider,
    purchase_steps,
    refunds,
    releases,
    restored,
    slow_crowd,
)
from tools.drill.count import Outcome
from tools.drill.shop import Shop, running_shop

Drill = Callable[[Shop], Outcome]
# Each of the two shops does its drills one after the other. Together they take half the time,
# because most of it is spent waiting.
SHOPS: tuple[tuple[Drill, ...], ...] = (
    (
        restored.rehearsed_restore,
        restored.restored_backup,
        away.database_restarts,
        away.database_away,
        kills.instalments_killed,
        provider.provider_in_trouble,
        provider.mail_server_away,
        disk.disk_full,
        clocks.clock_jumps,
        slow_crowd.slow_crowd,
        releases.two_releases,
    ),
    (
        kills.processes_killed,
        purchase_steps.purchases_killed,
        refunds.refunds_killed,
        friend_codes.friend_code_at_once,
        provider.neighbours_hang,
        hosts.two_hosts,
        pooler.through_pgbouncer,
        releases.upgrade_refuses_nobody,
    ),
)
DRILLS = tuple(drill for drills in SHOPS for drill in drills)
# A shop ends its processes and removes its files within this time.
CLOSES_WITHIN_S = 60.0


def main(names: list[str]) -> int:
    interrupt_on_signals()
    chosen = [drill for drill in DRILLS if drill.__name__.startswith(tuple(names))]
    if names and not chosen:
        print("Simulacros: " + ", ".join(drill.__name__ for drill in DRILLS), file=sys.stderr)
        return 2
    if names:
        return _run_in_one_shop(chosen)
    began = time.monotonic()
    command = [sys.executable, "-m", "tools.drill.drill"]
    shops = [start([*command, *(drill.__name__ for drill in each)], os.environ) for each in SHOPS]
    try:
        failed = sum(shop.wait() for shop in shops) > 0
    except KeyboardInterrupt:
        return 130
    finally:
        end(*shops, seconds=CLOSES_WITHIN_S)
    minutes = (time.monotonic() - began) / 60
    print(f"\n{len(DRILLS)} simulacros en {minutes:.1f} min. {_sum(failed)}")
    return int(failed)


def _sum(lost: int) -> str:
    return f"Pérdidas: {'hay, y están arriba' if lost else 'ninguna'}."


def _run_in_one_shop(drills: list[Drill]) -> int:
    began = time.monotonic()
    try:
        with running_shop() as shop:
            proxy = "detrás de nginx" if shop.has_proxy else "sin nginx, que no está instalado"
            print(f"La tienda está abierta en {shop.address} ({proxy}).", flush=True)
            lost = sum(_run(drill, shop) for drill in drills)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    minutes = (time.monotonic() - began) / 60
    print(f"\n{len(drills)} simulacros en {minutes:.1f} min. {_sum(lost)}", flush=True)
    return 1 if lost else 0


def _run(drill: Drill, shop: Shop) -> int:
    """Do a drill and print its lines in one piece. Returns the number of losses."""
    began = time.monotonic()
    try:
        outcome = drill(shop)
    # The other drills go on.
    except Exception:
        outcome = Outcome("", "", [traceback.format_exc()])
        shop.start_afresh()
    lines = [
        f"\n{drill.__name__}",
        f"  se probó:  {outcome.tried}",
        f"  pasó:      {outcome.happened} ({time.monotonic() - began:.0f} s)",
        "  se perdió: " + ("" if outcome.lost else "nada"),
        *(f"    {sentence}" for sentence in outcome.lost),
    ]
    print("\n".join(lines), flush=True)
    return len(outcome.lost)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
