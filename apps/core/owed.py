"""Work that is owed: kept as a row until it is done, whatever happens to workers and queue.

The row is the truth and the task only a hint to look at it. A task that is lost, runs twice or
belongs to a worker that died changes nothing: one worker at a time holds the row (`claim`), a
failure puts it off with growing pauses (`put_off`), and `requeue_stuck` finds what no task will
look at any more.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self

from django.db import models, transaction
from django.db.models import F, Q
from django.utils import timezone
from django_tasks.base import Task, TaskResultStatus
from django_tasks_db.models import DBTaskResult

logger = logging.getLogger(__name__)

# Pauses between tries: 1, 5 and 15 minutes, then hourly for a day.
PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, *[60] * 24))
# How long a worker may hold a row. Longer than any mail server or classroom is waited for.
LEASE = timedelta(minutes=5)
# How long something due may wait for its task before the task is looked for.
GRACE = timedelta(minutes=2)


class Owed(models.Model):
    """Fields and steps of a row that a worker has to bring to its end.

    A subclass gives `status` its choices and names the open one in `OPEN`.
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

    @classmethod
    def claim(cls, **lookup: Any) -> Self | None:
        """The row for this worker alone; None where it is done, not yet due, or in other hands.

        One conditional update decides, so that two workers never get the same row.
        """
        now = timezone.now()
        claimed = (
            cls._default_manager.filter(**lookup)
            .filter(Q(leased_until=None) | Q(leased_until__lte=now))
            .filter(status=cls.OPEN, due_at__lte=now)
            .update(leased_until=now + LEASE, attempts=F("attempts") + 1)
        )
        return cls._default_manager.get(**lookup) if claimed else None

    def put_off(
        self,
        error: Exception,
        enqueue: Callable[[datetime], object],
        *,
        for_good: bool = False,
    ) -> None:
        """Let go after a failed try: another one after a pause, or given up after the last.

        `enqueue` is told the moment from which the task may run; `for_good` is given up at once.
        Does nothing where the lease ran out meanwhile and another worker has the row.
        """
        last = for_good or self.attempts > len(PAUSES)
        due_at = self.due_at if last else timezone.now() + PAUSES[self.attempts - 1]
        with transaction.atomic():
            held = type(self)._default_manager.filter(pk=self.pk, leased_until=self.leased_until)
            changed = held.update(
                status=self.FAILED if last else self.OPEN,
                due_at=due_at,
                leased_until=None,
                last_error=f"{type(error).__name__}: {error}"[:300],
            )
            if changed and not last:
                enqueue(due_at)
        # The error's own text may hold an address; the row has it, the log does not.
        logger.warning(
            "%s %s failed with %s, try %s%s",
            self._meta.model_name,
            self.pk,
            type(error).__name__,
            self.attempts,
            ", given up" if last else "",
        )

    def reopen(self, enqueue: Callable[[], object]) -> bool:
        """Start over with what was given up, from the first pause; False where it was not."""
        with transaction.atomic():
            changed = (
                type(self)
                ._default_manager.filter(pk=self.pk, status=self.FAILED)
                .update(status=self.OPEN, attempts=0, due_at=timezone.now(), leased_until=None)
            )
            if changed:
                enqueue()
        return bool(changed)

    @classmethod
    def requeue_stuck(cls, task: Task[..., None], argument: str, field: str = "pk") -> int:
        """Enqueue a task for every row that is due and that no task will look at; return how many.

        The task takes the row's `field` as its keyword `argument`. Rows whose task still waits in
        the queue are left alone, however late the worker is.
        """
        now = timezone.now()
        stuck = list(
            cls._default_manager.filter(status=cls.OPEN, due_at__lt=now - GRACE).filter(
                Q(leased_until=None) | Q(leased_until__lte=now)
            )
        )
        if not stuck:
            return 0
        waiting = {
            task_row.args_kwargs["kwargs"].get(argument)
            for task_row in DBTaskResult.objects.filter(
                task_path=task.module_path, status=TaskResultStatus.READY
            )
        }
        requeued = 0
        for row in stuck:
            value = getattr(row, field)
            if value in waiting:
                continue
            with transaction.atomic():
                # Moving the due moment keeps a second caller from enqueueing it, too.
                if cls._default_manager.filter(pk=row.pk, due_at=row.due_at).update(due_at=now):
                    task.enqueue(**{argument: value})
                    requeued += 1
        return requeued
