"""`make load`: mixed visits and purchases on the production stack, then more than it can answer.

LOAD_MINUTES (10) is how long the traffic lasts. LOAD_VISITORS is how many visit at once; without it
the number is looked for: the smallest one with the highest rate without errors. LOAD_HOSTS=2 is for
two web hosts with folders of their own, a bucket, a PgBouncer and a Valkey or Redis.
"""

import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tools.dev.bench_checkout import buy_for
from tools.dev.processes import SetupError, interrupt_on_signals
from tools.drill.buyer import wait
from tools.drill.count import losses
from tools.drill.hosts import cache_program, two_web_hosts
from tools.drill.pooler import is_installed, running_pgbouncer
from tools.drill.shop import BACKGROUND, Shop, running_shop
from tools.drill.traffic import Crowd, Traffic, seconds_until_calm
from tools.drill.usage import Usage, usage, waiting

MINUTES = float(os.environ.get("LOAD_MINUTES", "10"))
CHOSEN_VISITORS = int(os.environ.get("LOAD_VISITORS", "0"))
HOSTS = int(os.environ.get("LOAD_HOSTS", "1"))
# PgBouncer's connections to PostgreSQL (deploy/pgbouncer/pgbouncer.ini).
POOL = 20
STEPS = (2, 4, 8, 16, 32)
STEP_SECONDS = 15
# A larger number of visitors must bring at least this much more.
WORTHWHILE = 1.05
CROWD = 250
CROWD_BUYERS = 4
CROWD_SECONDS = 20
# How long purchases alone are made, to measure what one costs.
COST_SECONDS = 30.0
# Memory that a process may gain between the first tenth of the run and its end.
MOST_GAIN = 0.1
LONGEST_QUEUE_S = 900


@dataclass
class Watch:
    """Memory and waiting tasks during the run, read every few seconds."""

    shop: Shop
    memory_mb: list[dict[str, float]] = field(default_factory=list)
    oldest_s: dict[str, float] = field(default_factory=dict)
    most_connections: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "Watch":
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(min(5, MINUTES * 6)):
            used = usage(self.shop)
            own = ("web", *BACKGROUND)
            self.memory_mb.append({name: used[name].memory_mb for name in own})
            [(connections,)] = self.shop.database.rows(_CONNECTIONS)
            self.most_connections = max(self.most_connections, int(str(connections)))
            for queue, seconds in waiting(self.shop).items():
                self.oldest_s[queue] = max(self.oldest_s.get(queue, 0), seconds)

    def growth(self) -> list[str]:
        """A sentence for each process that has grown since the first tenth of the run."""
        tenth = max(1, len(self.memory_mb) // 10)
        found = []
        for name in self.memory_mb[0] if self.memory_mb else ():
            first = statistics.median(row[name] for row in self.memory_mb[tenth : 2 * tenth])
            last = statistics.median(row[name] for row in self.memory_mb[-tenth:])
            print(f"  {name}: {first:.0f} MB tras la primera décima parte, {last:.0f} MB al final")
            if last > first * (1 + MOST_GAIN) + 5:
                found.append(f"la memoria de «{name}» crece de {first:.0f} a {last:.0f} MB")
        return found


def main() -> int:
    interrupt_on_signals()
    try:
        with running_shop() as shop, _hosts(shop):
            return _measure(shop)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


@contextmanager
def _hosts(shop: Shop) -> Iterator[None]:
    """With LOAD_HOSTS=2 the stack of docs/deploy.md, "Several web hosts", takes over."""
    if HOSTS == 1:
        yield
        return
    if not (shop.has_proxy and is_installed() and cache_program()):
        raise SetupError("Hacen falta nginx, pgbouncer y valkey-server o redis-server.")
    with (
        running_pgbouncer(shop, POOL) as address,
        two_web_hosts(shop, DATABASE_URL=address, PGBOUNCER="1") as (*_, cache),
    ):
        print(f"Dos máquinas web, PgBouncer con {POOL} conexiones y {cache}.", flush=True)
        yield


def _measure(shop: Shop) -> int:
    traffic = Traffic(shop)
    traffic.run(2, 5)
    visitors = CHOSEN_VISITORS or _best_number(shop, traffic)
    # Errors of a number that was too high do not count.
    traffic.errors.clear()
    wait(lambda: not waiting(shop), LONGEST_QUEUE_S)
    traffic.seconds.clear()
    bought = len(traffic.buyers)
    before, began = usage(shop), time.monotonic()
    with Watch(shop) as watch:
        rate = traffic.run(visitors, MINUTES * 60)
    elapsed = time.monotonic() - began
    purchases = len(traffic.buyers) - bought
    print(
        f"\n{visitors} visitantes a la vez durante {elapsed / 60:.1f} min: {rate:.1f} acciones por "
        f"segundo, entre ellas {purchases * 60 / elapsed:.0f} compras por minuto"
    )
    _print_seconds(traffic)
    _print_usage(before, usage(shop), elapsed, watch)
    problems = [f"error {n} veces: {name}" for name, n in traffic.errors.most_common(10)]
    problems += watch.growth()
    began = time.monotonic()
    emptied = wait(lambda: not waiting(shop), LONGEST_QUEUE_S)
    print(
        f"  colas vacías {time.monotonic() - began:.0f} s después" if emptied else "  colas llenas"
    )
    alone = buy_for(shop, visitors, COST_SECONDS)
    listed = sorted(alone.cpu_ms.items(), key=lambda item: -item[1])
    print(
        f"  CPU de una compra con acceso y correos, de {len(alone.buyers)} sin visitas: "
        f"{alone.ours_ms:.0f} ms sin visitantes, Stripe ni nginx; "
        + ", ".join(f"{name} {ms:.0f}" for name, ms in listed),
        flush=True,
    )
    crowd, sentences = _overload(shop)
    problems += sentences
    buyers = [*traffic.buyers, *alone.buyers, *crowd.buyers]
    problems += losses(shop, buyers)
    for sentence in problems:
        print(f"  falla: {sentence}")
    print(f"{len(buyers)} compras. Pérdidas y fallos: {len(problems) or 'ninguno'}.")
    return 1 if problems else 0


def _best_number(shop: Shop, traffic: Traffic) -> int:
    """The smallest number of visitors with the highest rate without errors."""
    best, highest = STEPS[0], 0.0
    for visitors in STEPS:
        errors = traffic.errors.total()
        rate = traffic.run(visitors, STEP_SECONDS)
        failed = traffic.errors.total() - errors
        print(f"{visitors} visitantes: {rate:.1f} acciones por segundo, {failed} errores")
        if failed or rate < highest * WORTHWHILE:
            break
        best, highest = visitors, rate
    return best


def _print_seconds(traffic: Traffic) -> None:
    for kind, seconds in sorted(traffic.seconds.items()):
        cuts = statistics.quantiles(seconds, n=100) if len(seconds) > 1 else [seconds[0]] * 99
        print(
            f"  {kind}: {len(seconds)}; p50 {cuts[49]:.2f} s, p95 {cuts[94]:.2f} s, "
            f"p99 {cuts[98]:.2f} s"
        )


def _print_usage(
    before: dict[str, Usage], after: dict[str, Usage], elapsed: float, watch: Watch
) -> None:
    """Print the cores that each process kept busy, and the longest wait in each queue."""
    cores = {name: (used.cpu_s - before[name].cpu_s) / elapsed for name, used in after.items()}
    listed = sorted(cores.items(), key=lambda item: -item[1])
    print(
        f"  núcleos, de {os.cpu_count()}: "
        + ", ".join(f"{name} {used:.2f}" for name, used in listed)
    )
    waits = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in watch.oldest_s.items())
    print(f"  la tarea más antigua: {waits or 'ninguna'}")
    print(f"  conexiones a PostgreSQL: {watch.most_connections} como mucho")


def _overload(shop: Shop) -> tuple[Crowd, list[str]]:
    """A crowd of visitors with some buyers. Returns it with a sentence for each failure."""
    crowd = Crowd(shop, CROWD, CROWD_BUYERS)
    crowd.rush(CROWD_SECONDS)
    calm_s = seconds_until_calm(shop)
    tries = sum(len(buyer.refusals) for buyer in crowd.buyers)
    print(
        f"{CROWD} visitantes a la vez durante {CROWD_SECONDS} s: {dict(crowd.statuses)}; el "
        f"rechazo más lento tardó {crowd.slowest_refusal_s:.1f} s; {len(crowd.buyers)} compras con "
        f"{tries} intentos repetidos; después, en calma tras {calm_s:.1f} s"
    )
    problems = [f"{name} ({n} veces)" for name, n in crowd.faults.items()]
    if shop.has_proxy and not crowd.statuses[503]:
        problems.append("la multitud no llegó al límite: no se ha visto ningún 503")
    refused = refused_events(shop)
    if refused:
        problems.append(f"{refused} avisos de Stripe rechazados")
    if calm_s > 10:
        problems.append(f"la tienda tardó {calm_s:.0f} s en recuperarse")
    return crowd, problems


# The drill's own connection, which asks, is not counted.
_CONNECTIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


def refused_events(shop: Shop) -> int:
    """How many of Stripe's events nginx or the shop has refused."""
    log = shop.folder / "nginx" / "access.log"
    lines: Sequence[str] = log.read_text().splitlines() if log.exists() else ()
    entries = [json.loads(line) for line in lines]
    return sum(e["path"] == "/api/stripe/webhook" and e["status"] != 200 for e in entries)


if __name__ == "__main__":
    sys.exit(main())
