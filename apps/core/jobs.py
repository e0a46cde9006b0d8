"""Scheduled jobs, run by `manage.py clock`. Several clocks may run; each job runs on one of them.

An app registers its jobs in `jobs.py`. The job's row (`ScheduledJob`) holds its lease, its schedule
and its last result. The lease is short and renewed while the job runs, so that another clock takes
over within a minute if this one dies.
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
from django.db.models import Case, F, Q, QuerySet, When
from django.utils import timezone

from apps.core.mail.outbox import queue_mail, requeue_stuck_mails
from apps.core.models import ScheduledJob
from apps.core.monitoring.tracing import new_id
from apps.core.privacy import purge_all
from apps.core.render_memory import piece_of_work
from apps.core.retries import CLOCK_DIFFERENCE, unleased
from apps.core.workers.heartbeats import watchdog
from apps.core.workers.lost_tasks import requeue_killed, start_postponed
from apps.core.workers.silence import mail_about_silent_processes

logger = logging.getLogger(__name__)

# How long a lease lasts without renewal, and how often a running clock renews it.
LEASE = timedelta(seconds=60)
HEARTBEAT_S = 15.0
# If no job has run for this long, the clock is reported as not running.
CLOCK_TIMEOUT = timedelta(minutes=15)
# A job that takes longer hangs: systemd restarts the clock.
JOB_LASTS_AT_MOST = timedelta(hours=2)


@dataclass(frozen=True)
class Job:
    """A scheduled job. `when` is an interval, or a time of day in Madrid.

    `run` returns a Spanish sentence about what it did, or an empty string if there was nothing to
    do. It must be safe to repeat: a clock may be killed after the work and before it is recorded.
    """

    name: str
    title: str
    run: Callable[[], str]
    when: timedelta | time

    def next_after(self, moment: datetime) -> datetime:
        """The next time after `moment` at which the job is due."""
        if isinstance(self.when, timedelta):
            return moment + self.when
        local = timezone.localtime(moment)
        hour, minute = self.when.hour, self.when.minute
        due_at = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
        return due_at if due_at > local else due_at + timedelta(days=1)

    @property
    def schedule(self) -> str:
        """The schedule as Spanish text: "cada 5 min", "cada día a las 03:30"."""
        if isinstance(self.when, time):
            return f"cada día a las {self.when:%H:%M}"
        minutes = int(self.when.total_seconds() // 60)
        return f"cada {minutes // 60} h" if minutes >= 60 else f"cada {minutes} min"


_jobs: dict[str, Job] = {}


def job(
    name: str, title: str, *, when: timedelta | time
) -> Callable[[Callable[[], str]], Callable[[], str]]:
    """Decorator: register a function as a scheduled job (see `Job`)."""

    def register(function: Callable[[], str]) -> Callable[[], str]:
        _jobs[name] = Job(name, title, function, when)
        return function

    return register


def all_jobs() -> dict[str, Job]:
    """Every registered job by its name."""
    return dict(_jobs)


def run_due_jobs(*, stop: Callable[[], bool] = lambda: False) -> list[str]:
    """Run each due job that no other clock is running, one after the other; return their names.

    `stop` is checked before each job, so that a clock that is told to stop finishes its job first.
    """
    now = timezone.now()
    _create_missing_rows(now)
    _mend_after_clock_change(now)
    due = ScheduledJob.objects.filter(name__in=_jobs, due_at__lte=now)
    # A job that takes too long has its clock killed, and is still due: then the others go first.
    was_killed = Q(started_at__isnull=False, finished_at=None) | Q(started_at__gt=F("finished_at"))
    killed_last = Case(When(was_killed, then=1), default=0)
    ran = []
    for name in due.order_by(killed_last, "due_at", "name").values_list("name", flat=True):
        if stop():
            break
        if _run(_jobs[name]):
            ran.append(name)
    return ran


def _create_missing_rows(now: datetime) -> None:
    """Create the row of each newly registered job.

    A job with an interval is due at once, a daily job at its time of day.
    """
    existing = set(ScheduledJob.objects.values_list("name", flat=True))
    for scheduled in _jobs.values():
        if scheduled.name not in existing:
            has_interval = isinstance(scheduled.when, timedelta)
            due_at = now if has_interval else scheduled.next_after(now)
            ScheduledJob.objects.get_or_create(name=scheduled.name, defaults={"due_at": due_at})


def _mend_after_clock_change(now: datetime) -> None:
    """Bring back jobs and leases that a wrong clock of the machine has put too far ahead.

    Otherwise a job that ran while the clock was a day ahead would not run for a day.
    """
    leases = ScheduledJob.objects.filter(leased_until__gt=now + LEASE + CLOCK_DIFFERENCE)
    # A clock that still runs the job renews its lease before this one ends, or loses it.
    leases.update(leased_until=now + LEASE)
    for row in ScheduledJob.objects.filter(name__in=_jobs, due_at__gt=now):
        next_at = _jobs[row.name].next_after(now)
        if row.due_at > next_at + CLOCK_DIFFERENCE:
            ScheduledJob.objects.filter(pk=row.pk, due_at=row.due_at).update(due_at=next_at)
            logger.warning("job %s was due too far ahead: the clock has changed", row.name)


def _run(scheduled: Job) -> bool:
    """Run one job under its lease; False if another clock has claimed it."""
    now = timezone.now()
    lease = now + LEASE
    due = ScheduledJob.objects.filter(unleased(now, LEASE), name=scheduled.name, due_at__lte=now)
    if not due.update(leased_until=lease, started_at=now):
        return False
    started = clock_time.monotonic()
    result, error, lease_lost = "", "", Event()
    try:
        with (
            _renewed_lease(scheduled.name, lease) as lease_lost,
            watchdog.expecting(at_most=JOB_LASTS_AT_MOST),
            piece_of_work(),
            new_id(),
        ):
            result = scheduled.run()
    except Exception as problem:
        # Staff get a mail about the failure, and the clock continues with the other jobs.
        logger.exception("job %s failed", scheduled.name)
        error = f"{type(problem).__name__}: {problem}"
    duration_s = clock_time.monotonic() - started
    _record(scheduled, result, error, duration_s=duration_s, owns_lease=not lease_lost.is_set())
    return True


def _record(
    scheduled: Job, result: str, error: str, *, duration_s: float, owns_lease: bool
) -> None:
    """Store the result. Release the lease unless another clock has taken the job over."""
    now = timezone.now()
    with transaction.atomic():
        row = ScheduledJob.objects.select_for_update(no_key=True).get(name=scheduled.name)
        row.finished_at = now
        if owns_lease:
            row.due_at = scheduled.next_after(now)
            row.leased_until = None
        row.duration = timedelta(seconds=duration_s)
        row.failures = row.failures + 1 if error else 0
        row.last_error = error[:1000]
        # A run without a result keeps the result of the last run that had one.
        row.last_result = result[:300] or row.last_result
        row.save()
        if error:
            _mail_staff(scheduled)


def _mail_staff(scheduled: Job) -> None:
    """Queue a mail about a failed job, at most one a day for each job."""
    queue_mail(
        key=f"job-failed:{scheduled.name}:{timezone.localdate():%Y-%m-%d}",
        template="job_failed",
        to=settings.STAFF_EMAIL,
        context={"name": scheduled.name, "title": scheduled.title},
    )


@contextmanager
def _renewed_lease(name: str, lease: datetime) -> Iterator[Event]:
    """Renew a job's lease while it runs, in a thread with its own database connection.

    The yielded event is set if another clock has taken the job over after the lease expired.
    """
    done, lease_lost = Event(), Event()
    thread = Thread(
        target=_renew, args=(name, lease, done, lease_lost), name=f"lease-{name}", daemon=True
    )
    thread.start()
    try:
        yield lease_lost
    finally:
        done.set()
        thread.join()


def _renew(name: str, lease: datetime, done: Event, lease_lost: Event) -> None:
    try:
        while not done.wait(HEARTBEAT_S):
            renewed = timezone.now() + LEASE
            try:
                # The old value in the filter proves that no other clock has taken the job over.
                rows = ScheduledJob.objects.filter(name=name, leased_until=lease)
                if not rows.update(leased_until=renewed):
                    lease_lost.set()
                    return
                lease = renewed
            except Exception:
                logger.exception("lease of job %s could not be renewed", name)
                close_old_connections()
    finally:
        connection.close()


@job("send_due_mails", "Recuperar correos que se perdieron", when=timedelta(minutes=1))
def send_due_mails() -> str:
    """Requeue mails whose task was lost."""
    count = requeue_stuck_mails()
    return f"Correos recuperados: {count}" if count else ""


@job("alert_silent_processes", "Avisar de procesos parados", when=timedelta(minutes=5))
def alert_silent_processes() -> str:
    """Mail staff about workers without a sign of life."""
    count = mail_about_silent_processes()
    return f"Avisos: {count}" if count else ""


@job("lost_tasks", "Recuperar tareas que nadie terminó", when=timedelta(minutes=5))
def lost_tasks() -> str:
    """Requeue tasks whose worker was killed, and those that a wrong clock has postponed."""
    killed, postponed = requeue_killed(), start_postponed()
    found = (("Tareas interrumpidas", killed), ("Tareas aplazadas", postponed))
    return ". ".join(f"{title}: {count}" for title, count in found if count)


@job("purge_expired", "Borrar lo que ya no se debe conservar", when=time(4, 15))
def purge_expired() -> str:
    """Apply every retention rule (docs/rules.md, "Keeping and deleting data")."""
    return ". ".join(f"{title}: {count}" for title, count in purge_all() if count)


def run_soon(name: str) -> None:
    """Make a job due now."""
    ScheduledJob.objects.filter(name=name).update(due_at=timezone.now())


def failing_jobs() -> QuerySet[ScheduledJob]:
    """The jobs that failed in their last run."""
    return ScheduledJob.objects.filter(name__in=_jobs, failures__gt=0)


def clock_is_running() -> bool:
    """Whether a job has run recently. Some jobs are due every five minutes."""
    since = timezone.now() - CLOCK_TIMEOUT
    return ScheduledJob.objects.filter(
        Q(finished_at__gt=since) | Q(leased_until__gt=timezone.now())
    ).exists()
