"""Servers for a number of purchases a minute: a simulation of their queues with measured times."""

import heapq
import math
import random
from dataclasses import dataclass

RATES = (10, 100, 1_000)
# Pages that are not kept, for each purchase.
VIEWS = 20
# A core is planned to be busy for this share of the time.
BUSY = 0.6
# A task may wait this long, in 95 of 100 cases.
LONGEST_WAIT_S = 5.0
SIMULATED_MINUTES = 20
# Stripe allows so many calls a second (https://docs.stripe.com/rate-limits).
STRIPE_LIMIT = 100


@dataclass(frozen=True)
class Costs:
    """The cost of one purchase and of one view of a page that is not kept."""

    queries: float
    cpu_s: float
    web_cpu_s: float
    view_cpu_s: float
    view_queries: float
    calls: float
    tasks: dict[str, float]
    task_s: dict[str, float]


def needs(costs: Costs) -> list[str]:
    """A table in Markdown, and the Spanish sentence that becomes false first."""
    queues = sorted(costs.tasks)
    workers = {rate: {queue: workers_for(costs, queue, rate) for queue in queues} for rate in RATES}
    rows = [
        "| compras por minuto | consultas por segundo | núcleos | llamadas a Stripe por segundo | "
        + " | ".join(f"trabajadores de «{queue}»" for queue in queues)
        + " |",
        "|" + " --- |" * (4 + len(queues)),
    ]
    for rate in RATES:
        a_second = rate / 60
        queries = a_second * (costs.queries + VIEWS * costs.view_queries)
        calls = a_second * costs.calls
        cells = [f"{rate:,}", f"{queries:,.0f}", f"{cores_for(costs, rate):.1f}", f"{calls:.1f}"]
        cells += [str(workers[rate][queue]) for queue in queues]
        rows.append("| " + " | ".join(cells) + " |")
    rows += ["", f"La primera frase que deja de ser cierta: {first_false(costs)}"]
    return rows


def cores_for(costs: Costs, rate: float) -> float:
    """Cores for so many purchases a minute, planned to be busy for BUSY of the time."""
    return rate / 60 * (costs.cpu_s + VIEWS * costs.view_cpu_s) / BUSY


def workers_for(costs: Costs, queue: str, rate: float) -> int:
    """The fewest workers with which 95 of 100 tasks of the queue wait LONGEST_WAIT_S at most."""
    busy = rate / 60 * costs.tasks[queue] * costs.task_s[queue]
    number = max(1, math.ceil(busy))
    while simulated_wait(rate / 60 * costs.tasks[queue], costs.task_s[queue], number) > (
        LONGEST_WAIT_S
    ):
        number += 1
    return number


def simulated_wait(tasks_a_second: float, task_s: float, workers: int) -> float:
    """The wait that 95 of 100 tasks stay below: random arrivals, one line, so many workers."""
    chance = random.Random(1)  # noqa: S311
    free_at = [0.0] * workers
    now, waits = 0.0, []
    while now < SIMULATED_MINUTES * 60:
        now += chance.expovariate(tasks_a_second)
        begins = max(now, heapq.heappop(free_at))
        # Tasks take between half and double the measured mean.
        heapq.heappush(free_at, begins + task_s * chance.triangular(0.5, 2, 0.5))
        waits.append(begins - now)
    return sorted(waits)[int(len(waits) * 0.95)]


def first_false(costs: Costs) -> str:
    """Of the sentences on which one small server rests, the one that the smallest rate breaks."""
    limits = {
        f"«un trabajador de la cola {queue} basta»": 60 / (costs.tasks[queue] * costs.task_s[queue])
        for queue in costs.tasks
    }
    limits["«dos núcleos bastan»"] = 2 / cores_for(costs, 1)
    limits["«Stripe contesta todas las llamadas»"] = 60 * STRIPE_LIMIT / costs.calls
    ordered = sorted(limits.items(), key=lambda item: item[1])
    return "; después, ".join(f"{name}, a {rate:,.0f} por minuto" for name, rate in ordered)
