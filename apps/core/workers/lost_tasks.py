"""Tasks that no worker will finish: their worker was killed, or the machine's clock was wrong.

A task only prompts a worker to look at a row (`core.retries`), so running one twice does no harm.
"""

import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult, get_date_max

from apps.core.retries import CLOCK_DIFFERENCE

logger = logging.getLogger(__name__)

# No task takes as long: its calls have time-outs of seconds.
TASK_LASTS_AT_MOST = timedelta(minutes=15)
# The task may be what kills its worker, for example by its need for memory.
MOST_STARTS = 3
# No task is queued for later than this: the last retry of an event of Stripe is after 4 hours.
LATEST_START = timedelta(hours=5)
KILLED = "apps.core.workers.lost_tasks.WorkerKilled"


def requeue_killed() -> int:
    """Requeue tasks whose worker was killed; return how many.

    A task that was started MOST_STARTS times without an end is marked as failed instead.
    """
    now = timezone.now()
    running = DBTaskResult.objects.filter(status=TaskResultStatus.RUNNING)
    # A start in the future: the clock was wrong then.
    killed = running.exclude(started_at__range=(now - TASK_LASTS_AT_MOST, now + CLOCK_DIFFERENCE))
    return sum(_end(task) for task in killed)


def _end(task: DBTaskResult[..., Any]) -> int:
    """Requeue the task or give it up; 1 if its worker has not ended it meanwhile."""
    starts = len(task.worker_ids)
    same = DBTaskResult.objects.filter(
        pk=task.pk, status=TaskResultStatus.RUNNING, started_at=task.started_at
    )
    if starts < MOST_STARTS:
        changed = same.update(status=TaskResultStatus.READY, started_at=None)
    else:
        changed = same.update(
            status=TaskResultStatus.FAILED,
            finished_at=timezone.now(),
            exception_class_path=KILLED,
            traceback=f"Started {starts} times and never ended.",
        )
    if changed:
        outcome = "requeued" if starts < MOST_STARTS else "given up"
        logger.error("task %s (%s) was never ended: %s", task.pk, task.task_path, outcome)
    return changed


def start_postponed() -> int:
    """Make tasks due that would start later than any task is queued for; return how many."""
    latest = timezone.now() + LATEST_START
    waiting = DBTaskResult.objects.filter(status=TaskResultStatus.READY, run_after__gt=latest)
    # A task that may run at once has this date.
    return waiting.exclude(run_after=get_date_max()).update(run_after=get_date_max())


def failed_since(age: timedelta) -> Iterable[str]:
    """The names of the tasks that failed for good within that time, each once."""
    failed = DBTaskResult.objects.filter(
        status=TaskResultStatus.FAILED, finished_at__gt=timezone.now() - age
    )
    return failed.order_by("task_path").values_list("task_path", flat=True).distinct()
