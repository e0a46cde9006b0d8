"""CPU and memory of each process of the shop, with all that it started, and the tasks that wait.

Linux only.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tools.drill.shop import Shop

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1024 / 1024
# This process: its threads are the visitors.
VISITORS = "visitantes"


@dataclass(frozen=True)
class Usage:
    """Seconds of CPU since the start, and memory in MB now."""

    cpu_s: float = 0.0
    memory_mb: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.cpu_s + other.cpu_s, self.memory_mb + other.memory_mb)


def usage(shop: Shop) -> dict[str, Usage]:
    """The usage of each process by its name: those of the Procfile, nginx, PostgreSQL, Stripe.

    Processes of one name, such as the web processes of two hosts, are added up.
    """
    owners = shop.names()
    owners[os.getpid()] = VISITORS
    parents, own = _processes()
    found: dict[str, Usage] = {}
    for pid, used in own.items():
        name = _owner(pid, owners, parents)
        if name:
            found[name] = found.get(name, Usage()) + used
    return found


def _owner(pid: int, owners: dict[int, str], parents: dict[int, int]) -> str | None:
    while pid and pid not in owners:
        pid = parents.get(pid, 0)
    return owners.get(pid)


def _processes() -> tuple[dict[int, int], dict[int, Usage]]:
    """The parent and the usage of each process of this machine, by its id."""
    parents, own = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # After the name, which may have spaces: state, parent… (proc(5), counted from 3).
            fields = stat.read_text().rpartition(")")[2].split()
            pid = int(stat.parent.name)
            parents[pid] = int(fields[1])
            # utime, stime, and those of children that have ended.
            ticks = sum(int(field) for field in fields[11:15])
            own[pid] = Usage(ticks / _TICKS, int(fields[21]) * _PAGE_MB)
    return parents, own


def waiting(shop: Shop) -> dict[str, float]:
    """The seconds that the oldest task of each queue has waited. Empty if nothing waits."""
    return {str(name): float(str(age)) for name, age in shop.database.rows(_WAITING)}


# A task without a time has one in the year 9999 (django_tasks_db).
_WAITING = """
SELECT queue_name, extract(epoch FROM now() - min(enqueued_at))
FROM django_tasks_database_dbtaskresult
WHERE status IN ('READY', 'RUNNING')
AND (run_after <= now() OR run_after > now() + interval '100 years')
GROUP BY queue_name
"""
