"""The figures of the shop in Prometheus' text format.

They are counted in the database when they are asked for. No process keeps counters of its own, so
any number of web processes gives the same answer.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from django.db.models import Count, Sum
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from apps.backoffice.monitor.facts import heartbeat_ages, last_audit, last_backup_age, queues
from apps.core.disk_space import free_megabytes
from apps.core.incidents import incident_counts
from apps.core.jobs import failing_jobs
from apps.core.models import Mail
from apps.core.money import to_cents
from apps.leads.attachments import MEGABYTE, waiting_bytes
from apps.orders.models import Order, OrderEvent, Payment, Refund
from apps.orders.models.statuses import EventKind
from apps.payments.events.unheard import REFUSED
from apps.payments.models import ProviderEvent

CONTENT_TYPE = CONTENT_TYPE_LATEST


class ShopCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        yield _by_label(
            "academy_orders",
            "Orders",
            "status",
            Order.objects.order_by().values_list("status").annotate(Count("pk")),
        )
        rows = Payment.objects.order_by().values_list("status")
        payments = list(rows.annotate(Count("pk"), Sum("amount")))
        counts = ((status, count) for status, count, _ in payments)
        yield _by_label("academy_payments", "Payments", "status", counts)
        cents = ((status, to_cents(total)) for status, _, total in payments)
        yield _by_label("academy_payments_cents", "Sum of the payments", "status", cents)
        yield _by_label(
            "academy_refunds",
            "Refunds",
            "status",
            Refund.objects.order_by().values_list("status").annotate(Count("pk")),
        )
        yield _by_label(
            "academy_refusals_last_hour", "Refused cards and charges", "kind", _refusals()
        )
        yield from _queues()
        yield _by_label(
            "academy_heartbeat_age_seconds",
            "Seconds since the last sign of life; absent before the first",
            "process",
            ((name, age) for name, age in heartbeat_ages().items() if age is not None),
        )
        age, differences = last_audit()
        if age is not None:
            yield GaugeMetricFamily(
                "academy_audit_age_seconds", "Seconds since the last audit of money", value=age
            )
        yield GaugeMetricFamily(
            "academy_audit_differences", "Differences of the last audit", value=differences
        )
        backup_age = last_backup_age()
        if backup_age is not None:
            yield GaugeMetricFamily(
                "academy_backup_age_seconds", "Seconds since the last backup", value=backup_age
            )
        yield _by_label(
            "academy_disk_free_megabytes", "Space left", "folder", free_megabytes().items()
        )
        yield GaugeMetricFamily(
            "academy_attachments_waiting_megabytes",
            "Attachments of forms that nobody has answered",
            value=waiting_bytes() / MEGABYTE,
        )
        yield GaugeMetricFamily(
            "academy_jobs_failing", "Jobs whose last run failed", value=failing_jobs().count()
        )
        yield GaugeMetricFamily(
            "academy_mails_stuck", "Mails that need a person", value=Mail.objects.stuck().count()
        )
        yield GaugeMetricFamily(
            "academy_provider_events_unprocessed",
            "Events of Stripe that are not processed",
            value=ProviderEvent.objects.filter(processed_at=None).count(),
        )
        refused = CounterMetricFamily(
            "academy_webhook_refusals", "Refused requests to Stripe's webhook", labels=["reason"]
        )
        for reason, times in incident_counts(REFUSED).items():
            refused.add_metric([reason], times)
        yield refused


def exposition() -> bytes:
    """All figures, as the body of an answer of CONTENT_TYPE."""
    registry = CollectorRegistry()
    registry.register(ShopCollector())
    return generate_latest(registry)


def _refusals() -> list[tuple[str, int]]:
    kinds = (EventKind.CARD_REFUSED, EventKind.CHARGE_REFUSED)
    recent = OrderEvent.objects.filter(at__gt=timezone.now() - timedelta(hours=1), kind__in=kinds)
    found = dict(recent.order_by().values_list("kind").annotate(Count("pk")))
    return [(kind.value, found.get(kind, 0)) for kind in kinds]


def _queues() -> Iterator[GaugeMetricFamily]:
    found = queues()
    yield _by_label(
        "academy_queue_length",
        "Tasks that could run now",
        "queue",
        ((name, queue.waiting) for name, queue in found.items()),
    )
    yield _by_label(
        "academy_queue_age_seconds",
        "Age of the oldest task that could run now",
        "queue",
        ((name, queue.oldest_seconds) for name, queue in found.items()),
    )


def _by_label(
    name: str, text: str, label: str, values: Iterable[tuple[str, float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, number in values:
        family.add_metric([value], number)
    return family
