"""Jobs that the clock runs: each on its own rhythm, by one clock at a time, however many there are.

An app says in its `jobs.py` what is to be run and how often; `manage.py clock` runs what is due.
The row of a job (`ScheduledJob`) is its lock and its record. A clock that dies in the middle of a
job lets go of it within a minute: the lease is short, and prolonged while the job runs.
"""

import logging
import time as clock_time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from threading import Event, Thread

from django.conf import settings
from django.db import close_old_connections, connection, transaction
from django.db.models import Q
from django.utils import timezone

from apps.core.mail.outbox import queue_mail, requeue_stuck_mails
from apps.core.models import ScheduledJob
from apps.core.privacy import purge_all

logger = logging.getLogger(__name__)

# How long a job stays taken after its clock was last seen alive, and how often that is said.
LEASE = timedelta(seconds=60)
HEARTBEAT_S = 15.0
# After so long without a job nobody can say any more that the clock is running.
SILENCE = timedelta(minutes=15)


@dataclass(frozen=True)
class Job:
    """Something to be done again and again: every so often, or daily at a time of Madrid.

    `run` returns one Spanish sentence about what it did, empty where there was nothing to do. It
    must be safe to repeat: a clock may be killed between the work and the record of it.
    """

    name: str
    title: str
    run: Callable[[], str]
    when: timedelta | time

    def next_after(self, moment: datetime) -> datetime:
        """The first moment after `moment` at which it is due."""
        if isinstance(self.when, timedelta):
            return moment + self.when
        local = timezone.localtime(moment)
        hour, minute = self.when.hour, self.when.minute
        due_at = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
        return due_at if due_at > local else due_at + timedelta(days=1)

    @property
    def rhythm(self) -> str:
        """For people: "cada 5 min", "cada día a las 03:30"."""
        if isinstance(self.when, time):
            return f"cada día a las {self.when:%H:%M}"
        minutes = int(self.when.total_seconds() // 60)
        return f"cada {minutes // 60} h" if minutes >= 60 else f"cada {minutes} min"


_jobs: dict[str, Job] = {}


def job(
    name: str, title: str, *, when: timedelta | time
) -> Callable[[Callable[[], str]], Callable[[], str]]:
    """Make a function a job of the clock, every so often or daily at a time of Madrid."""

    def register(function: Callable[[], str]) -> Callable[[], str]:
        _jobs[name] = Job(name, title, function, when)
        return function

    return register


def all_jobs() -> dict[str, Job]:
    """Every registered job by its name."""
    return dict(_jobs)


def run_due_jobs(*, stop: Callable[[], bool] = lambda: False) -> list[str]:
    """Run each job that is due and that no other clock is running; return the names of those run.

    One after the other. `stop` is asked before each: a clock that is told to end finishes what it
    began.
    """
    now = timezone.now()
    known = set(ScheduledJob.objects.values_list("name", flat=True))
    for scheduled in _jobs.values():
        if scheduled.name not in known:
            # What is done every few minutes is due at once, what is done daily at its hour.
            often = isinstance(scheduled.when, timedelta)
            due_at = now if often else scheduled.next_after(now)
            ScheduledJob.objects.get_or_create(name=scheduled.name, defaults={"due_at": due_at})
    due = ScheduledJob.objects.filter(name__in=_jobs, due_at__lte=now).order_by("due_at", "name")
    ran = []
    for name in due.values_list("name", flat=True):
        if stop():
            break
        if _run(_jobs[name]):
            ran.append(name)
    return ran


def _run(scheduled: Job) -> bool:
    """Run one job under its lease; False where another clock was faster."""
    now = timezone.now()
    lease = now + LEASE
    taken = (
        ScheduledJob.objects.filter(name=scheduled.name, due_at__lte=now)
        .filter(Q(leased_until=None) | Q(leased_until__lte=now))
        .update(leased_until=lease, started_at=now)
    )
    if not taken:
        return False
    began = clock_time.monotonic()
    result, error, lost = "", "", Event()
    try:
        with _kept_alive(scheduled.name, lease) as lost:
            result = scheduled.run()
    except Exception as problem:
        # Whatever it was: the clock goes on with the other jobs, and staff are told.
        logger.exception("job %s failed", scheduled.name)
        error = f"{type(problem).__name__}: {problem}"
    duration_s = clock_time.monotonic() - began
    _record(scheduled, result, error, duration_s=duration_s, is_ours=not lost.is_set())
    return True


def _record(scheduled: Job, result: str, error: str, *, duration_s: float, is_ours: bool) -> None:
    """Write down how it went, and let go of the job unless another clock has taken it over."""
    now = timezone.now()
    with transaction.atomic():
        row = ScheduledJob.objects.select_for_update().get(name=scheduled.name)
        row.finished_at = now
        if is_ours:
            row.due_at = scheduled.next_after(now)
            row.leased_until = None
        row.duration = timedelta(seconds=duration_s)
        row.failures = row.failures + 1 if error else 0
        row.last_error = error[:1000]
        # The last thing it did stays in view over the runs that found nothing to do.
        row.last_result = result[:300] or row.last_result
        row.save()
        if error:
            queue_mail(
                # One mail a day for each job, however often it fails.
                key=f"job-failed:{scheduled.name}:{timezone.localdate():%Y-%m-%d}",
                template="job_failed",
                to=settings.STAFF_EMAIL,
                context={"name": scheduled.name, "title": scheduled.title},
            )


@contextmanager
def _kept_alive(name: str, lease: datetime) -> Iterator[Event]:
    """Prolong a job's lease while it runs, from a thread with a database connection of its own.

    The event is set where another clock has taken the job over, because this one seemed dead.
    """
    done, lost = Event(), Event()

    def prolong() -> None:
        held = lease
        try:
            while not done.wait(HEARTBEAT_S):
                longer = timezone.now() + LEASE
                try:
                    # Only what is still ours: another clock may have taken it over meanwhile.
                    if not ScheduledJob.objects.filter(name=name, leased_until=held).update(
                        leased_until=longer
                    ):
                        lost.set()
                        return
                    held = longer
                except Exception:
                    logger.exception("lease of job %s could not be prolonged", name)
                    close_old_connections()
        finally:
            connection.close()

    thread = Thread(target=prolong, name=f"lease-{name}", daemon=True)
    thread.start()
    try:
        yield lost
    finally:
        done.set()
        thread.join()


@job("send_due_mails", "Recuperar correos que se perdieron", when=timedelta(minutes=5))
def send_due_mails() -> str:
    """Mails whose task went with a worker that died."""
    count = requeue_stuck_mails()
    return f"Correos recuperados: {count}" if count else ""


@job("purge_expired", "Borrar lo que ya no se debe conservar", when=time(4, 15))
def purge_expired() -> str:
    """Every rule of "Keeping and forgetting"."""
    return ". ".join(f"{title}: {count}" for title, count in purge_all() if count)


def run_soon(name: str) -> None:
    """Let a job be due now, whatever its rhythm says."""
    ScheduledJob.objects.filter(name=name).update(due_at=timezone.now())


def failing_jobs() -> int:
    """How many jobs failed when they were last run."""
    return ScheduledJob.objects.filter(name__in=_jobs, failures__gt=0).count()


def clock_is_running() -> bool:
    """Whether a clock has done anything of late: some job is due every five minutes."""
    since = timezone.now() - SILENCE
    return ScheduledJob.objects.filter(
        Q(finished_at__gt=since) | Q(leased_until__gt=timezone.now())
    ).exists()
