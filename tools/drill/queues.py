"""Lengths of the task queues, and durations of tasks."""

from dataclasses import dataclass

from tools.drill.shop import Shop


@dataclass(frozen=True)
class Work:
    """Tasks that a queue's worker has finished, and the seconds that they took together."""

    tasks: int = 0
    seconds: float = 0.0

    def __sub__(self, other: "Work") -> "Work":
        return Work(self.tasks - other.tasks, self.seconds - other.seconds)


def waiting(shop: Shop) -> dict[str, float]:
    """The seconds that the oldest task of each queue has waited. Empty if nothing waits."""
    return {str(name): float(str(age)) for name, age in shop.database.rows(_WAITING)}


def done(shop: Shop) -> dict[str, Work]:
    """The finished tasks of each queue."""
    rows = shop.database.rows(_DONE)
    return {str(name): Work(int(str(n)), float(str(seconds))) for name, n, seconds in rows}


# A task without a time has one in the year 9999 (django_tasks_db).
_WAITING = """
SELECT queue_name, extract(epoch FROM now() - min(enqueued_at))
FROM django_tasks_database_dbtaskresult
WHERE status IN ('READY', 'RUNNING')
AND (run_after <= now() OR run_after > now() + interval '100 years')
GROUP BY queue_name
"""
_DONE = """
SELECT queue_name, count(*), sum(extract(epoch FROM finished_at - started_at))
FROM django_tasks_database_dbtaskresult WHERE finished_at IS NOT NULL GROUP BY queue_name
"""
