"""The figures of the shop in Prometheus' text format.

They are counted in the database when they are asked for, so any number of web processes gives the
same answer. Only requests are counted by the processes of one host (`academy/request_metrics.py`).

What never happened has a value as well: a count of 0, or a moment of 0, which is 1970.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.conf import settings
from django.db import connection
from django.db.models import Count, Max, Q, Sum, TextChoices
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from academy.request_metrics import register_requests
from apps.backoffice.monitor.facts import queues
from apps.core.jobs import failing_jobs
from apps.core.models import Backup, Heartbeat, Mail, ScheduledJob
from apps.core.monitoring.disk_space import disk_room
from apps.core.monitoring.incidents import incident_counts
from apps.leads.attachments import MEGABYTE, waiting_bytes
from apps.orders.ledger.history import REFUSAL
from apps.orders.models import Order, Payment, Refund
from apps.orders.models.statuses import OrderStatus, PaymentStatus, RefundStatus
from apps.orders.reads import paid_without_access
from apps.payments.events.unheard import REFUSED
from apps.payments.models import AuditDifference, ProviderEvent

CONTENT_TYPE = CONTENT_TYPE_LATEST


class ShopCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        yield from _sales()
        yield from _work()
        yield from _moments()
        yield from _room()


def exposition() -> bytes:
    """All figures, as the body of an answer of CONTENT_TYPE."""
    registry = CollectorRegistry()
    registry.register(ShopCollector())
    register_requests(registry)
    return generate_latest(registry)


def _sales() -> Iterator[Metric]:
    orders = list(
        Order.objects.order_by().values_list("status").annotate(Count("pk"), Count("paid_at"))
    )
    yield _statuses("academy_orders", "Orders", OrderStatus, ((row[0], row[1]) for row in orders))
    yield CounterMetricFamily(
        "academy_orders_paid",
        "Orders that were paid in full or in part, refunded ones included",
        value=sum(paid for _, _, paid in orders),
    )
    rows = Payment.objects.order_by().values_list("status")
    payments = list(rows.annotate(Count("pk"), euros=Sum("amount", filter=Q(currency="eur"))))
    counts = ((status, count) for status, count, _ in payments)
    yield _statuses("academy_payments", "Payments", PaymentStatus, counts)
    euros = ((status, float(total or 0)) for status, _, total in payments)
    yield _statuses("academy_payments_euros", "Sum of the payments", PaymentStatus, euros)
    refunds = Refund.objects.order_by().values_list("status").annotate(Count("pk"))
    yield _statuses("academy_refunds", "Refunds", RefundStatus, refunds)
    refused = incident_counts(REFUSAL).items()
    yield _counter("academy_refused_payments", "Refused cards and charges", "kind", refused)
    yield _counter(
        "academy_webhook_refusals",
        "Refused requests to Stripe's webhook",
        "reason",
        incident_counts(REFUSED).items(),
    )


def _work() -> Iterator[Metric]:
    """What waits, and what needs a person."""
    found = queues()
    waiting = ((name, queue.waiting) for name, queue in found.items())
    yield _gauge("academy_queue_tasks", "Tasks that could run now", "queue", waiting)
    ages = ((name, queue.oldest_seconds) for name, queue in found.items())
    yield _gauge(
        "academy_queue_age_seconds", "Age of the oldest task that could run now", "queue", ages
    )
    figures = {
        "academy_audit_differences": (
            "Differences of the last audit of money",
            AuditDifference.objects.count(),
        ),
        "academy_jobs_failing": ("Jobs whose last run failed", failing_jobs().count()),
        "academy_mails_stuck": ("Mails that need a person", Mail.objects.stuck().count()),
        "academy_orders_without_access": (
            "Paid orders that have no access yet",
            paid_without_access().count(),
        ),
        "academy_provider_events_unprocessed": (
            "Events of Stripe that are not processed",
            ProviderEvent.objects.filter(processed_at=None).count(),
        ),
    }
    for name, (text, value) in figures.items():
        yield GaugeMetricFamily(name, text, value=value)


def _moments() -> Iterator[Metric]:
    """When something last happened, in Unix seconds; 0 if it never did."""
    seen = Heartbeat.objects.values_list("name", "seen_at")
    yield _gauge(
        "academy_heartbeat_timestamp_seconds",
        "The last sign of life of a process",
        "process",
        ((name, _unix(at)) for name, at in seen),
    )
    audits = ScheduledJob.objects.filter(name="audit_money")
    moments = {
        "audit": audits.aggregate(at=Max("finished_at"))["at"],
        "backup": Backup.objects.aggregate(at=Max("made_at"))["at"],
        "sale": Order.objects.aggregate(at=Max("paid_at"))["at"],
        "provider_event": ProviderEvent.objects.aggregate(at=Max("received_at"))["at"],
    }
    for name, at in moments.items():
        yield GaugeMetricFamily(
            f"academy_last_{name}_timestamp_seconds",
            f"The last {name.replace('_', ' ')}",
            value=_unix(at),
        )


def _room() -> Iterator[Metric]:
    room = disk_room()
    free = ((name, disk.free) for name, disk in room.items())
    yield _gauge("academy_disk_free_bytes", "Left on the disk of a folder", "folder", free)
    total = ((name, disk.total) for name, disk in room.items())
    yield _gauge("academy_disk_size_bytes", "Size of the disk of a folder", "folder", total)
    figures = {
        "academy_database_size_bytes": ("Size of the database on its disk", _database_bytes()),
        "academy_attachments_waiting_bytes": (
            "Attachments of forms that nobody has answered",
            waiting_bytes(),
        ),
        "academy_attachments_limit_bytes": (
            "What they may take",
            settings.ATTACHMENTS_MAX_MB * MEGABYTE,
        ),
    }
    for name, (text, value) in figures.items():
        yield GaugeMetricFamily(name, text, value=value)


def _database_bytes() -> int:
    if connection.vendor == "postgresql":
        query = "SELECT pg_database_size(current_database())"
    else:
        query = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    with connection.cursor() as cursor:
        cursor.execute(query)
        return int(cursor.fetchone()[0])


def _unix(at: datetime | None) -> float:
    return 0.0 if at is None else at.timestamp()


def _statuses(
    name: str, text: str, choices: type[TextChoices], found: Iterable[tuple[str, float]]
) -> GaugeMetricFamily:
    """One value for each status, those that no row has included."""
    return _gauge(name, text, "status", (dict.fromkeys(choices.values, 0) | dict(found)).items())


def _gauge(
    name: str, text: str, label: str, values: Iterable[tuple[str, float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, number in values:
        family.add_metric([value], number)
    return family


def _counter(
    name: str, text: str, label: str, values: Iterable[tuple[str, float]]
) -> CounterMetricFamily:
    family = CounterMetricFamily(name, text, labels=[label])
    for value, number in values:
        family.add_metric([value], number)
    return family
