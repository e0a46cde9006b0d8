"""The checks that an outside monitor reads, each with its verdict and the figures behind it.

Everything is read from the database when it is asked for, so every web process gives the same
answer, and the answer does not depend on a worker.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Min, Q
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult, get_date_max

from apps.core.jobs import failing_jobs
from apps.core.models import Backup, Heartbeat, Mail, ScheduledJob
from apps.core.monitoring.disk_space import free_megabytes, full_folders
from apps.core.monitoring.incidents import incident_counts, is_current
from apps.core.web.health import readiness
from apps.core.web.proxies import UNKNOWN_PROXY
from apps.core.workers.lost_tasks import failed_since
from apps.leads.attachments import MEGABYTE, waiting_bytes
from apps.orders.reads import paid_without_access
from apps.payments.events.unheard import REFUSED, events_are_missing, seconds_since_event
from apps.payments.models import AuditDifference, ProviderEvent

# A task that waits for longer, or a job that is overdue for longer, needs a person.
TASK_WAITS_TOO_LONG = timedelta(minutes=5)
TASK_FAILED_LATELY = timedelta(hours=1)
JOB_OVERDUE = timedelta(minutes=15)
ACCESS_TAKES_TOO_LONG = timedelta(minutes=15)
# The audit runs every night.
AUDIT_TOO_OLD = timedelta(hours=36)
# The share of ATTACHMENTS_MAX_MB from which on a person should look.
NEARLY_FULL = 0.8


@dataclass(frozen=True)
class Check:
    """The verdict of one check and its figures: numbers and names, no personal data."""

    ok: bool
    figures: dict[str, Any]


@dataclass(frozen=True)
class Queue:
    """The tasks of one queue that could run now: their number, and the age of the oldest."""

    waiting: int
    oldest_seconds: float


def queues() -> dict[str, Queue]:
    """Every queue, the empty ones included."""
    now = timezone.now()
    # A task that may run at once has a date far ahead in `run_after`.
    due = DBTaskResult.objects.filter(status=TaskResultStatus.READY).filter(
        Q(run_after=get_date_max()) | Q(run_after__lte=now)
    )
    rows = (
        due.order_by()
        .values_list("queue_name")
        .annotate(
            waiting=Count("pk"),
            at_once=Min("enqueued_at", filter=Q(run_after=get_date_max())),
            later=Min("run_after", filter=Q(run_after__lte=now)),
        )
    )
    found = {
        name: Queue(waiting=waiting, oldest_seconds=_age(at_once, later, now=now))
        for name, waiting, at_once, later in rows
    }
    return {name: found.get(name, Queue(0, 0.0)) for name in settings.TASKS["default"]["QUEUES"]}


def heartbeat_ages() -> dict[str, float | None]:
    """Seconds since the last sign of life of each process; None if there was none so far."""
    now = timezone.now()
    seen = Heartbeat.objects.values_list("name", "seen_at")
    return {name: None if at is None else (now - at).total_seconds() for name, at in seen}


def last_audit() -> tuple[float | None, int]:
    """Seconds since the last nightly audit (None: never) and the differences that it found."""
    at = ScheduledJob.objects.filter(name="audit_money").values_list("finished_at", flat=True)
    finished_at = at.first()
    age = None if finished_at is None else (timezone.now() - finished_at).total_seconds()
    return age, AuditDifference.objects.count()


def _age(*moments: datetime | None, now: datetime) -> float:
    return max(((now - at).total_seconds() for at in moments if at is not None), default=0.0)


def _processes() -> Check:
    silent = sorted(Heartbeat.objects.silent().values_list("name", flat=True))
    return Check(not silent, {"silent": silent, "seconds_since": heartbeat_ages()})


def _queues() -> Check:
    found = queues()
    limit = TASK_WAITS_TOO_LONG.total_seconds()
    return Check(
        all(queue.oldest_seconds < limit for queue in found.values()),
        {
            name: {"waiting": queue.waiting, "oldest_seconds": queue.oldest_seconds}
            for name, queue in found.items()
        },
    )


def _tasks() -> Check:
    failed = list(failed_since(TASK_FAILED_LATELY))
    return Check(not failed, {"failed": failed})


def _jobs() -> Check:
    failing = sorted(failing_jobs().values_list("name", flat=True))
    now = timezone.now()
    late = ScheduledJob.objects.filter(due_at__lt=now - JOB_OVERDUE).exclude(leased_until__gt=now)
    overdue = sorted(late.values_list("name", flat=True))
    return Check(not failing and not overdue, {"failing": failing, "overdue": overdue})


def _audit() -> Check:
    age, differences = last_audit()
    is_old = age is not None and age > AUDIT_TOO_OLD.total_seconds()
    return Check(not is_old and not differences, {"age_seconds": age, "differences": differences})


def _mails() -> Check:
    stuck = Mail.objects.stuck().count()
    return Check(not stuck, {"stuck": stuck})


def _access() -> Check:
    since = timezone.now() - ACCESS_TAKES_TOO_LONG
    missing = paid_without_access().filter(paid_at__lt=since).count()
    return Check(not missing, {"paid_without_access": missing})


def _events() -> Check:
    since = timezone.now() - TASK_WAITS_TOO_LONG
    waiting = ProviderEvent.objects.filter(processed_at=None, received_at__lt=since).count()
    return Check(not waiting, {"unprocessed": waiting})


def _disk() -> Check:
    full = full_folders()
    return Check(not full, {"full": full, "free_mb": free_megabytes()})


def _attachments() -> Check:
    waiting, most = waiting_bytes() // MEGABYTE, settings.ATTACHMENTS_MAX_MB
    return Check(waiting < most * NEARLY_FULL, {"waiting_mb": waiting, "most_mb": most})


def last_backup_age() -> float | None:
    """Seconds since the last backup was completed; None if there was none."""
    made_at = Backup.objects.values_list("made_at", flat=True).first()
    return None if made_at is None else (timezone.now() - made_at).total_seconds()


def _backup() -> Check:
    return Check(not Backup.objects.late().exists(), {"age_seconds": last_backup_age()})


def _rehearsal() -> Check:
    """Red, so that nobody takes a rehearsal for the shop, or leaves the shop in a rehearsal."""
    return Check(not settings.REHEARSAL, {})


def _webhooks() -> Check:
    figures = {"refused": incident_counts(REFUSED), "seconds_since_event": seconds_since_event()}
    return Check(not events_are_missing(), figures)


def _proxy() -> Check:
    return Check(not is_current(UNKNOWN_PROXY), {})


CHECKS: dict[str, Callable[[], Check]] = {
    "rehearsal": _rehearsal,
    "processes": _processes,
    "queues": _queues,
    "tasks": _tasks,
    "jobs": _jobs,
    "audit": _audit,
    "backup": _backup,
    "disk": _disk,
    "attachments": _attachments,
    "mails": _mails,
    "access": _access,
    "provider_events": _events,
    "webhooks": _webhooks,
    "proxy": _proxy,
}


def all_checks() -> dict[str, Check]:
    """Every check of CHECKS after those of `/readyz`. Only the latter if these fail."""
    ready = readiness()
    basics = {name: Check(ok, {}) for name, ok in ready.items() if name not in CHECKS}
    if not all(check.ok for check in basics.values()):
        return basics
    return basics | {name: check() for name, check in CHECKS.items()}
