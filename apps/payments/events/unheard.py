"""Notices that Stripe's events do not arrive (docs/rules.md, "Monitoring").

Refused requests alone prove nothing: anybody may send them. A payment that no event follows does.
"""

from datetime import timedelta

from django.db.models import Max
from django.utils import timezone

from apps.core.models import Incident, Restore
from apps.core.monitoring.incidents import IncidentKind, note_incident, register_incident
from apps.orders.models import Payment
from apps.orders.models.statuses import AT_PROVIDER
from apps.payments.models import ProviderEvent
from apps.payments.stripe.events import RefusedBecause

NO_EVENTS = "no-events"
REFUSED = "webhook-"
# An event follows its payment within seconds. With refused ones since, the secret is wrong.
HOUR = timedelta(hours=1)
WITH_REFUSALS = timedelta(minutes=5)
# The clocks of Stripe and of this machine may differ by so much.
CLOCKS_DIFFER = timedelta(minutes=1)

register_incident(
    NO_EVENTS,
    IncidentKind(
        "Los avisos de Stripe no llegan",
        "Hay pagos cobrados y ningún aviso desde entonces. Compara STRIPE_WEBHOOK_SECRET con el "
        "secreto del punto de conexión en el panel de Stripe, y mira allí por qué fallan sus "
        "envíos. Mientras tanto los pagos se aclaran cada cinco minutos.",
        lasts=timedelta(minutes=15),
    ),
)
_TITLES = {
    RefusedBecause.NO_SIGNATURE: "Peticiones a /api/stripe/webhook sin firma",
    RefusedBecause.WRONG_SECRET: "Avisos firmados con otro secreto",
    RefusedBecause.TOO_OLD: "Avisos con una firma de hace más de cinco minutos",
    RefusedBecause.NO_JSON: "Avisos que no son JSON",
}
for _reason, _title in _TITLES.items():
    register_incident(f"{REFUSED}{_reason}", IncidentKind(_title, "Se rechazan con un 400."))


def count_refused_event(reason: RefusedBecause) -> None:
    note_incident(f"{REFUSED}{reason}")


def events_are_missing() -> bool:
    """Whether a payment succeeded an hour ago, and no event of any kind has arrived since.

    If requests with a wrong signature have arrived since, five minutes are enough.
    """
    now = timezone.now()
    last_event = ProviderEvent.objects.aggregate(at=Max("received_at"))["at"]
    # The events of payments between a backup and its restore are lost with them.
    last_restore = Restore.objects.aggregate(at=Max("restored_at"))["at"]
    paid = Payment.objects.filter(
        status=Payment.Status.SUCCEEDED,
        currency="eur",
        order__isnull=False,
        kind__in=AT_PROVIDER,
        succeeded_at__lt=now - WITH_REFUSALS,
    )
    for moment in filter(None, (last_event, last_restore)):
        paid = paid.filter(succeeded_at__gt=moment + CLOCKS_DIFFER)
    if paid.filter(succeeded_at__lt=now - HOUR).exists():
        return True
    wrong = Incident.objects.filter(name=f"{REFUSED}{RefusedBecause.WRONG_SECRET}").first()
    return wrong is not None and paid.filter(succeeded_at__lt=wrong.last_at).exists()


def seconds_since_event() -> float | None:
    """Seconds since the last event of Stripe; None if there was none so far."""
    at = ProviderEvent.objects.aggregate(at=Max("received_at"))["at"]
    return None if at is None else (timezone.now() - at).total_seconds()


def note_missing_events() -> str:
    """Note for "Hoy" that events are missing. Returns a Spanish sentence, or an empty text."""
    if not events_are_missing():
        Incident.objects.filter(name=NO_EVENTS).delete()
        return ""
    note_incident(NO_EVENTS)
    return "Los avisos de Stripe no llegan"
