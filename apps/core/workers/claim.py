"""Claiming the next task of a queue with one statement.

The package's worker takes four for each task: a transaction, a locking search, an update and the
commit.
"""

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult, get_date_max

# The search is in the order of the index "tasks_db_new_ordering_idx". Another worker's claim that
# is not committed yet is skipped.
_CLAIM = """
UPDATE django_tasks_database_dbtaskresult
SET status = %s, started_at = %s, worker_ids = {worker_ids}
WHERE id = (
    SELECT id FROM django_tasks_database_dbtaskresult
    WHERE status = %s AND (run_after = %s OR run_after <= %s) AND backend_name = %s {queues}
    ORDER BY priority DESC, run_after, enqueued_at
    LIMIT 1 {lock}
)
RETURNING *
"""
_APPENDED = {
    "postgresql": "worker_ids || to_jsonb(%s::text)",
    "sqlite": "json_insert(worker_ids, '$[#]', %s)",
}


def claim_task(
    *,
    worker_id: str,
    backend_name: str,
    queues: Sequence[str] | None,
    excluded: Sequence[str] = (),
) -> DBTaskResult[..., Any] | None:
    """The next due task, marked as running in this worker; None if none is due.

    `queues` is None for all of them.
    """
    now = timezone.now()
    condition, names = "", list[str]()
    for operator, group in (("IN", queues), ("NOT IN", excluded or None)):
        if group is not None:
            condition += f" AND queue_name {operator} ({', '.join(['%s'] * len(group))})"
            names += group
    sql = _CLAIM.format(
        worker_ids=_APPENDED[connection.vendor],
        queues=condition,
        lock="FOR UPDATE SKIP LOCKED" if connection.features.has_select_for_update else "",
    )
    params = [
        TaskResultStatus.RUNNING,
        now,
        worker_id,
        TaskResultStatus.READY,
        get_date_max(),
        now,
        backend_name,
        *names,
    ]
    return next(iter(DBTaskResult.objects.raw(sql, params)), None)
