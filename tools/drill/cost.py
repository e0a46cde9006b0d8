"""`make cost`: what one purchase costs, and what 10, 100 and 1,000 a minute need.

Measures purchases one after the other on the production stack, less what the idle shop does, and
simulates the queues of more purchases with the measured times.
"""

import re
import sys
import time
from collections import Counter
from dataclasses import dataclass

import requests

from tools.dev.processes import SetupError, interrupt_on_signals
from tools.drill.buyer import buy_one_by_one, wait
from tools.drill.queues import Work, done, waiting
from tools.drill.scale import Costs, needs
from tools.drill.shop import BACKGROUND, Shop, running_shop
from tools.drill.traffic import search
from tools.drill.usage import VISITORS, usage

PURCHASES = 20
VIEWS = 100
IDLE_SECONDS = 30
OWN = ("web", *BACKGROUND)
# The log of PostgreSQL with `log_statement`: the process of a statement, and the statement.
_STATEMENT = re.compile(r"^([\w-]*)\|LOG:  (?:statement|execute [^:]*): (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Reading:
    """Counters of the whole shop at one moment."""

    at: float
    queries: Counter[str]
    cpu_s: dict[str, float]
    work: dict[str, Work]
    calls: int


class Meter:
    """Counts queries, CPU, tasks and calls to Stripe."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        # A fault that delays by nothing counts the calls of the shop.
        self._fault = shop.sandbox.fault(calls="*", do="slow", seconds=0, caller="server")
        shop.database.set("log_statement", "all")
        # Each process takes it over between two statements.
        time.sleep(1)

    def read(self) -> Reading:
        log = self.shop.database.log.read_text(encoding="utf-8", errors="replace")
        # BEGIN and COMMIT are no queries.
        queries = Counter(
            name for name, word in _STATEMENT.findall(log) if word not in _NOT_COUNTED
        )
        faults = self.shop.sandbox.control("GET", "faults")["faults"]
        calls = sum(fault["matched"] for fault in faults if fault["id"] == self._fault)
        cpu_s = {name: used.cpu_s for name, used in usage(self.shop).items()}
        return Reading(time.monotonic(), queries, cpu_s, done(self.shop), calls)


_NOT_COUNTED = {"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "SET"}


def main() -> int:
    interrupt_on_signals()
    try:
        with running_shop() as shop:
            _measure(shop)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _measure(shop: Shop) -> None:
    buy_one_by_one(shop, 3)
    _settle(shop)
    meter = Meter(shop)
    first = meter.read()
    time.sleep(IDLE_SECONDS)
    second = meter.read()
    buy_one_by_one(shop, PURCHASES)
    _settle(shop)
    third = meter.read()
    for _ in range(VIEWS):
        requests.get(f"{shop.address}{search()}", timeout=30).raise_for_status()
    fourth = meter.read()
    idle = (second.at - first.at, first, second)

    cores = [name for name in third.cpu_s if name not in (VISITORS, "stripe")]
    cpu_s = {name: _more(idle, second, third, name) / PURCHASES for name in cores}
    queries = {
        name: (
            third.queries[name] - second.queries[name] - _idle_queries(idle, third, second, name)
        )
        / PURCHASES
        for name in OWN
    }
    work = {name: third.work[name] - second.work.get(name, Work()) for name in third.work}
    view_s = sum(_more(idle, third, fourth, name) for name in cores) / VIEWS
    costs = Costs(
        queries=sum(queries.values()),
        cpu_s=sum(cpu_s.values()),
        web_cpu_s=cpu_s["web"],
        view_cpu_s=view_s,
        view_queries=(fourth.queries["web"] - third.queries["web"]) / VIEWS,
        calls=(third.calls - second.calls) / PURCHASES,
        tasks={name: each.tasks / PURCHASES for name, each in work.items()},
        task_s={name: each.seconds / max(1, each.tasks) for name, each in work.items()},
    )
    print(f"Una compra ({PURCHASES} medidas, una tras otra):")
    print(f"  consultas: {costs.queries:.0f} (" + _parts(queries, "{:.0f}") + ")")
    print(f"  CPU: {costs.cpu_s:.2f} s (" + _parts(cpu_s, "{:.3f}") + ")")
    print(f"  llamadas a Stripe: {costs.calls:.1f}")
    for name in sorted(costs.tasks):
        print(
            f"  cola «{name}»: {costs.tasks[name]:.1f} tareas de {costs.task_s[name] * 1000:.0f} ms"
        )
    print(
        f"Una página sin guardar: {costs.view_cpu_s * 1000:.0f} ms de CPU, "
        f"{costs.view_queries:.0f} consultas\n"
    )
    print("\n".join(needs(costs)))


def _settle(shop: Shop) -> None:
    wait(lambda: not waiting(shop), 120)


def _more(idle: tuple[float, Reading, Reading], start: Reading, end: Reading, name: str) -> float:
    """The seconds of CPU of a process between two readings, less what it takes when idle."""
    seconds, before, after = idle
    idle_share = (after.cpu_s[name] - before.cpu_s[name]) / seconds
    return max(0.0, end.cpu_s[name] - start.cpu_s[name] - idle_share * (end.at - start.at))


def _idle_queries(
    idle: tuple[float, Reading, Reading], end: Reading, start: Reading, name: str
) -> float:
    seconds, before, after = idle
    return (after.queries[name] - before.queries[name]) / seconds * (end.at - start.at)


def _parts(parts: dict[str, float], shape: str) -> str:
    listed = sorted(parts.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {shape.format(value)}" for name, value in listed)


if __name__ == "__main__":
    sys.exit(main())
