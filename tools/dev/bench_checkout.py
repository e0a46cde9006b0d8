"""Rows of `make bench` about paid purchases: checkout, card payment, access and mails.

The shop is that of the drills. Its neighbours and the buyers run on the same processors, so the CPU
time of each is told.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median, quantiles

from tools.dev.bench import Row
from tools.dev.processes import SetupError
from tools.drill.buyer import Buyer, wait
from tools.drill.shop import BACKGROUND, Shop, running_shop
from tools.drill.traffic import Traffic
from tools.drill.usage import usage, waiting

SECONDS = 15.0
FEW_BUYERS, BUYERS = 2, 16
# With a slow Stripe most buyers wait. 32 are as many as the web processes have threads.
MANY_BUYERS = 32
GOAL_PER_SECOND = 25.0
GOAL_CPU_MS = 80.0
SOON_S = 5.0
LATENCY_S = 0.3
# How long the workers may need for what is left at the end of a run.
FINISHED_WITHIN_S = 300
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
# "pgbouncer" and "cache" are only in the stack of two web hosts (`make load`).
OURS = ("web", *BACKGROUND, "postgresql", "pgbouncer", "cache")


@dataclass(frozen=True)
class Run:
    """Purchases of one run until their access was given and their mails were sent."""

    per_second: float
    # CPU milliseconds of each process for one purchase.
    cpu_ms: Mapping[str, float]
    # Seconds from the payment to access and all mails, of the slowest 5 % of the purchases.
    p95_s: float
    # Requests that were refused, such as by a full queue for Stripe, and made again.
    refused: int
    buyers: list[Buyer]

    @property
    def ours_ms(self) -> float:
        return sum(self.cpu_ms.get(name, 0) for name in OURS)


def checkout_rows() -> list[Row]:
    with running_shop() as shop:
        buy_for(shop, BUYERS, seconds=3.0)  # Fills caches and opens connections.
        at_once = [buy_for(shop, BUYERS) for _ in range(ROUNDS)]
        calm = [buy_for(shop, FEW_BUYERS) for _ in range(ROUNDS)]
        shop.sandbox.fault(calls="*", do="slow", seconds=LATENCY_S, caller="server")
        late = [buy_for(shop, MANY_BUYERS) for _ in range(ROUNDS)]
    middle = sorted(at_once, key=lambda run: run.ours_ms)[len(at_once) // 2]
    cpu = ", ".join(f"{name} {ms:.0f}" for name, ms in middle.cpu_ms.items())
    refused = f"refused and tried again: {sum(run.refused for run in late)}"
    fastest, slowed = (median(run.per_second for run in runs) for runs in (at_once, late))
    p95_s = median(run.p95_s for run in calm)
    name = "paid purchases, access and mails included"
    return [
        Row(name, fastest, "/s", GOAL_PER_SECOND, at_least=True),
        Row(f"… if Stripe answers after {LATENCY_S * 1000:.0f} ms", slowed, "/s", GOAL_PER_SECOND,
            refused, at_least=True),
        Row("CPU of one purchase", middle.ours_ms, "ms of CPU", GOAL_CPU_MS, cpu),
        Row(f"p95: payment to access and mails, {FEW_BUYERS} buyers at once", p95_s, "s", SOON_S),
    ]  # fmt: skip


def buy_for(shop: Shop, buyers: int, seconds: float = SECONDS) -> Run:
    """Buy for so many seconds, and wait until the workers have finished."""
    traffic = Traffic(shop, {"compra": 1})
    before, began = usage(shop), time.monotonic()
    [(last,)] = shop.database.rows("SELECT coalesce(max(id), 0) FROM orders_order")
    traffic.run(buyers, seconds)
    if not wait(lambda: not waiting(shop), FINISHED_WITHIN_S):
        raise SetupError(f"Los trabajadores no acaban. Registro: {shop.log.name}")
    elapsed, after = time.monotonic() - began, usage(shop)
    mailed = [float(str(late)) for (late,) in shop.database.rows(_MAILED.format(last=last))]
    paid = sum(buyer.paid for buyer in traffic.buyers)
    if len(mailed) < paid or paid < 2:
        raise SetupError(f"Faltan correos: {len(mailed)} de {paid} compras.")
    cpu_ms = {name: (after[name].cpu_s - before[name].cpu_s) * 1000 / paid for name in before}
    refused = sum(len(buyer.refusals) for buyer in traffic.buyers)
    return Run(paid / elapsed, cpu_ms, quantiles(mailed, n=20)[-1], refused, traffic.buyers)


# Seconds from the payment of each order after `last` to its last mail.
_MAILED = """
SELECT extract(epoch FROM max(mail.sent_at) - paid.paid_at) FROM orders_order paid
JOIN classroom_provisioning access ON access.order_id = paid.id
JOIN core_mail mail ON mail.status = 'sent' AND (
    mail.context->>'order_id' = paid.id::text
    OR mail.context->>'provisioning_id' = access.id::text
)
WHERE paid.id > {last} AND paid.paid_at IS NOT NULL GROUP BY paid.id
"""
