"""`make load`: mixed visits and purchases on the production stack, then more than it can answer.

LOAD_MINUTES (10) is how long the traffic lasts, LOAD_VISITORS (6) how many visit at once.
"""

import os
import random
import re
import statistics
import sys
import threading
import time
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path

import requests

from tools.dev.processes import SetupError, interrupt_on_signals
from tools.drill.buyer import Buyer
from tools.drill.count import losses
from tools.drill.shop import Shop, running_shop

MINUTES = float(os.environ.get("LOAD_MINUTES", "10"))
VISITORS = int(os.environ.get("LOAD_VISITORS", "6"))
CROWD = 250
CROWD_SECONDS = 20
# What visitors do: of 100 actions, so many of each.
PAGES = ("/", "/compra", "/nosotros", "/precios")
MIX = {"página": 60, "catálogo": 30, "compra": 8, "compra a plazos": 2}


class Traffic:
    """The visits and purchases of one run, with the seconds that each took."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.errors: Counter[str] = Counter()
        self.buyers: list[Buyer] = []
        self._lock = threading.Lock()

    def run(self, visitors: int, seconds: float) -> None:
        ends_at = time.monotonic() + seconds
        threads = [threading.Thread(target=self._visit, args=(ends_at,)) for _ in range(visitors)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _visit(self, ends_at: float) -> None:
        session = requests.Session()
        while time.monotonic() < ends_at:
            [kind] = random.choices(list(MIX), weights=list(MIX.values()))  # noqa: S311
            began = time.monotonic()
            try:
                self._act(session, kind)
            except requests.RequestException as error:
                with self._lock:
                    self.errors[f"{kind}: {type(error).__name__}"] += 1
            with self._lock:
                self.seconds[kind].append(time.monotonic() - began)

    def _act(self, session: requests.Session, kind: str) -> None:
        address = self.shop.address
        # Each action is of another visitor: the limits per address are not what is measured.
        visitor = {"X-Forwarded-For": f"10.9.{random.randrange(256)}.{random.randrange(256)}"}  # noqa: S311
        if kind == "página":
            path = random.choice(PAGES)  # noqa: S311
            session.get(f"{address}{path}", headers=visitor, timeout=30).raise_for_status()
        elif kind == "catálogo":
            path = f"/api/catalogue?page={random.randrange(1, 3)}"  # noqa: S311
            session.get(f"{address}{path}", headers=visitor, timeout=30).raise_for_status()
        else:
            buyer = Buyer(self.shop, plan=kind == "compra a plazos")
            with self._lock:
                self.buyers.append(buyer)
            buyer.buy()
            with self._lock:
                self.errors.update(f"{kind}: {sentence}" for sentence in buyer.refusals)


def overload(shop: Shop) -> tuple[Counter[int], float]:
    """More visitors than can be answered. Returns statuses, and seconds of a later visit."""
    statuses: Counter[int] = Counter()
    ends_at = time.monotonic() + CROWD_SECONDS

    def hurry() -> None:
        while time.monotonic() < ends_at:
            try:
                answer = requests.get(f"{shop.address}/compra", timeout=60)
                statuses[answer.status_code] += 1
            except requests.RequestException:
                statuses[0] += 1

    threads = [threading.Thread(target=hurry) for _ in range(CROWD)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    began = time.monotonic()
    requests.get(f"{shop.address}/compra", timeout=60).raise_for_status()
    return statuses, time.monotonic() - began


def memory_mb(shop: Shop) -> int:
    """The memory in MB of all processes of the shop's host together. Linux only."""
    ours, parents, sizes = set(shop.host.pids()), {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            facts = dict(re.findall(r"^(PPid|VmRSS):\s+(\d+)", status.read_text(), re.MULTILINE))
            pid = int(status.parent.name)
            parents[pid], sizes[pid] = int(facts["PPid"]), int(facts.get("VmRSS", 0))
    for pid in sorted(parents):
        if parents[pid] in ours:
            ours.add(pid)
    return sum(sizes.get(pid, 0) for pid in ours) // 1024


def main() -> int:
    interrupt_on_signals()
    try:
        with running_shop() as shop:
            return _measure(shop)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _measure(shop: Shop) -> int:
    traffic = Traffic(shop)
    traffic.run(VISITORS, 20)
    traffic.seconds.clear()
    before = memory_mb(shop)
    began = time.monotonic()
    traffic.run(VISITORS, MINUTES * 60)
    elapsed = time.monotonic() - began
    after = memory_mb(shop)
    actions = sum(map(len, traffic.seconds.values()))
    print(f"{actions / elapsed:.1f} acciones por segundo durante {elapsed / 60:.1f} min")
    for kind, seconds in traffic.seconds.items():
        cuts = statistics.quantiles(seconds, n=100) if len(seconds) > 1 else [seconds[0]] * 99
        print(
            f"  {kind}: {len(seconds)}; p50 {cuts[49]:.2f} s, p95 {cuts[94]:.2f} s, "
            f"p99 {cuts[98]:.2f} s"
        )
    print(f"memoria: {before} MB al principio, {after} MB al final")
    for sentence, times in traffic.errors.most_common(10):
        print(f"  error {times} veces: {sentence}")
    statuses, later = overload(shop)
    print(
        f"con {CROWD} visitantes a la vez: {dict(statuses)}; después, una página en {later:.2f} s"
    )
    lost = losses(shop, traffic.buyers)
    for sentence in lost:
        print(f"  se perdió: {sentence}")
    print(f"{len(traffic.buyers)} compras. Pérdidas: {len(lost) or 'ninguna'}.")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
