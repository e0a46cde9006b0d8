"""Work that is retried until it succeeds, kept as a database row.

The row is authoritative. A background task only prompts a worker to look at it, so a task that is
lost, runs twice or belongs to a dead worker does no harm. `claim` gives the row to one worker at a
time under a lease, `schedule_retry` delays it after a failure, and `requeue_stuck` enqueues rows
whose task was lost.
"""

import logging
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self

from django.db import connection, models, transaction
from django.db.models import Q
from django.utils import timezone
from django_tasks.base import Task, TaskResultStatus
from django_tasks_db.models import DBTaskResult, get_date_max

logger = logging.getLogger(__name__)

# Delays between attempts: 1, 5 and 15 minutes, then every hour for a day.
RETRY_DELAYS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, *[60] * 24))
# How long a worker may hold a row. Longer than any call to a mail server or classroom may take.
LEASE = timedelta(minutes=5)
# Processes read the time one after another, and hosts never agree on it. A moment that is this much
# too far ahead was written by a wrong clock; one that is less so may be right.
CLOCK_DIFFERENCE = timedelta(minutes=5)
# A row that has been due for this long is checked for a lost task.
LOST_TASK_AFTER = timedelta(minutes=2)


class ErrorForStaff(Exception):
    """An error whose message is a Spanish sentence for staff."""


class RetriedWork(models.Model):
    """The fields and state changes of a row that workers process with retries.

    A subclass defines the choices of `status` and names the unfinished status in `OPEN`.
    """

    OPEN: ClassVar[str]
    FAILED: ClassVar[str] = "failed"

    status = models.CharField("estado", max_length=10)
    attempts = models.PositiveSmallIntegerField("intentos", default=0)
    last_error = models.CharField("último error", max_length=300, blank=True)
    due_at = models.DateTimeField("próximo intento", default=timezone.now)
    leased_until = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True

    @property
    def task_priority(self) -> int | None:
        """The priority of the row's task; None for that of all tasks of its kind."""
        return None

    @classmethod
    def claim(cls, **lookup: Any) -> Self | None:
        """Lease the row to this worker; None if it is finished, not yet due or already leased.

        A single conditional update decides, so two workers never claim the same row. It is plain
        SQL, because Django's update can't return the row. Its condition is that of `unleased`.
        """
        now, quote = timezone.now(), connection.ops.quote_name
        [(name, value)] = lookup.items()
        meta: Any = cls._meta
        column = (meta.pk if name == "pk" else meta.get_field(name)).column
        rows = cls._default_manager.raw(
            f"UPDATE {quote(meta.db_table)} SET "  # noqa: S608
            "leased_until = %s, attempts = attempts + 1 "
            f"WHERE {quote(column)} = %s AND status = %s AND due_at <= %s "
            "AND (leased_until IS NULL OR leased_until <= %s OR leased_until > %s) RETURNING *",
            [now + LEASE, value, cls.OPEN, now, now, now + LEASE + CLOCK_DIFFERENCE],
        )
        return next(iter(rows), None)

    def schedule_retry(
        self,
        error: Exception,
        enqueue: Callable[[datetime], object],
        *,
        permanent: bool = False,
    ) -> None:
        """Release the lease after a failed attempt and schedule the next attempt.

        After the last attempt, or at once for a `permanent` error, the row is marked as failed
        instead. `enqueue` gets the earliest time at which the task may run. Does nothing if the
        lease has expired and another worker has claimed the row.
        """
        last = permanent or self.attempts > len(RETRY_DELAYS)
        due_at = self.due_at if last else timezone.now() + RETRY_DELAYS[self.attempts - 1]
        with transaction.atomic():
            held = type(self)._default_manager.filter(pk=self.pk, leased_until=self.leased_until)
            changed = held.update(
                status=self.FAILED if last else self.OPEN,
                due_at=due_at,
                leased_until=None,
                last_error=_reason(error)[:300],
            )
            if changed and not last:
                enqueue(due_at)
        self._log_failure(error, last=last)

    def _log_failure(self, error: Exception, *, last: bool) -> None:
        # The error's message may contain an e-mail address: it is kept in the row, not logged.
        logger.warning(
            "%s %s failed with %s, try %s%s",
            self._meta.model_name,
            self.pk,
            type(error).__name__,
            self.attempts,
            ", given up" if last else "",
        )

    def restart(self, enqueue: Callable[[], object], *, states: Collection[str] = ()) -> bool:
        """Reopen failed work with a fresh set of attempts; False if it has not failed.

        `states` are the states to reopen, if they are others than "failed".
        """
        with transaction.atomic():
            changed = (
                type(self)
                ._default_manager.filter(pk=self.pk, status__in=states or (self.FAILED,))
                .update(status=self.OPEN, attempts=0, due_at=timezone.now(), leased_until=None)
            )
            if changed:
                enqueue()
        return bool(changed)

    def bring_forward(self, enqueue: Callable[[], object]) -> bool:
        """Make an unfinished row due now; False if it is finished or a worker holds it."""
        with transaction.atomic():
            waiting = type(self)._default_manager.filter(
                pk=self.pk, status=self.OPEN, leased_until=None
            )
            changed = waiting.update(due_at=timezone.now())
            if changed:
                enqueue()
        return bool(changed)

    @classmethod
    def requeue_stuck(cls, task: Task[..., None], argument: str, field: str = "pk") -> int:
        """Enqueue a task for every due row whose task was lost; return how many.

        A row that would be due later than any retry was postponed by a wrong clock: it is due too.

        The row's `field` becomes the task's keyword `argument`. Rows whose task is still in the
        queue are skipped, however late the worker is.
        """
        now = timezone.now()
        latest = now + max(RETRY_DELAYS) + CLOCK_DIFFERENCE
        is_due = Q(due_at__lt=now - LOST_TASK_AFTER) | Q(due_at__gt=latest)
        overdue = cls._default_manager.filter(unleased(now), is_due, status=cls.OPEN)
        stuck = list(overdue)
        queued = _queued_values(task, argument) if stuck else set()
        requeued = 0
        for row in stuck:
            value = getattr(row, field)
            if value in queued:
                continue
            with transaction.atomic():
                # Changing `due_at` stops a concurrent caller from enqueueing the same row.
                if cls._default_manager.filter(pk=row.pk, due_at=row.due_at).update(due_at=now):
                    task.using(priority=row.task_priority).enqueue(**{argument: value})
                    requeued += 1
        return requeued


def _reason(error: Exception) -> str:
    """The failure as staff read it. Many messages say nothing without the name of their class."""
    return str(error) if isinstance(error, ErrorForStaff) else f"{type(error).__name__}: {error}"


def unleased(now: datetime, longest: timedelta = LEASE) -> Q:
    """Rows that no worker holds: the lease is absent or has expired.

    A lease of much more than `longest` was taken while the machine's clock was wrong. It counts as
    none.
    """
    free = Q(leased_until=None) | Q(leased_until__lte=now)
    return free | Q(leased_until__gt=now + longest + CLOCK_DIFFERENCE)


def _queued_values(task: Task[..., None], argument: str) -> set[Any]:
    """The values of `argument` for which the task is waiting in the queue."""
    soon = Q(run_after__lte=timezone.now() + max(RETRY_DELAYS)) | Q(run_after=get_date_max())
    waiting = DBTaskResult.objects.filter(
        soon, task_path=task.module_path, status=TaskResultStatus.READY
    )
    return {row.args_kwargs["kwargs"].get(argument) for row in waiting}
