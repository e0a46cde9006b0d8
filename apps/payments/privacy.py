"""The provider's events, which hold what it knows of a buyer."""

from datetime import datetime, timedelta

from django.db.models import QuerySet

from apps.core.privacy import Holding, counted, register_holding, register_retention
from apps.orders.models import Payment
from apps.payments.models import ProviderEvent

EVENTS_KEPT = timedelta(days=396)


def _of(email: str) -> QuerySet[ProviderEvent]:
    """The events about this buyer's payments, and those with the address anywhere in them."""
    references = Payment.objects.filter(order__student__email=email).values_list(
        "reference", flat=True
    )
    about = ProviderEvent.objects.filter(payload__data__object__id__in=list(references))
    return about | ProviderEvent.objects.filter(payload__data__object__receipt_email=email)


def _export(email: str) -> list[dict[str, str]]:
    return [
        {"tipo": event.kind, "recibido": event.received_at.isoformat()}
        for event in _of(email).order_by("received_at")
    ]


def _preview(email: str) -> list[str]:
    return [
        f"Se vacía: {what}, que puede tener datos del comprador."
        for what in counted(_of(email).count(), "evento de Stripe", "eventos de Stripe")
    ]


def _erase(email: str) -> None:
    # The row stays, so that the same event is not acted on again if it comes once more.
    _of(email).update(payload={})


def _purge(now: datetime) -> int:
    return ProviderEvent.objects.filter(received_at__lt=now - EVENTS_KEPT).delete()[0]


register_holding(Holding("eventos_de_pago", _export, _preview, _erase))
register_retention("Eventos de Stripe de más de 13 meses", _purge)
