"""Export, erasure and retention of Stripe's events, which contain personal data of buyers."""

import json
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL

from apps.core.privacy import PersonalData, counted, register_personal_data, register_retention
from apps.orders.models import Order, Payment
from apps.payments.models import BalanceEntry, ProviderEvent

EVENTS_KEPT = timedelta(days=396)
BALANCE_KEPT = timedelta(days=6 * 365)


# The events that have one of these texts, in small letters, as a value anywhere in their payload.
# Each payload is read once, however many texts there are: an ILIKE for each took 20 s.
_MENTIONING = {
    "postgresql": (
        "SELECT event.id FROM payments_providerevent event WHERE EXISTS (SELECT 1 FROM "
        "jsonb_path_query(event.payload, 'strict $.** ? (@.type() == \"string\")') AS found(value) "
        "WHERE lower(found.value #>> '{}') IN (SELECT jsonb_array_elements_text(%s::jsonb)))"
    ),
    "sqlite": (
        "SELECT event.id FROM payments_providerevent event WHERE EXISTS (SELECT 1 FROM "
        "json_tree(event.payload) WHERE lower(atom) IN (SELECT value FROM json_each(%s)))"
    ),
}


def _of(email: str) -> QuerySet[ProviderEvent]:
    """The events that contain this buyer's address, payment ids or customer ids.

    Each kind of event has them in other fields, so the whole payload is searched.
    """
    orders = Order.objects.filter(Q(student__email=email) | Q(email__iexact=email))
    identifiers = {email, *orders.values_list("customer_reference", flat=True)}
    for ids in Payment.objects.filter(order__in=orders).values_list("reference", "session"):
        identifiers |= set(ids)
    texts = json.dumps(sorted(text.lower() for text in identifiers - {""}))
    mentioning = RawSQL(_MENTIONING[connection.vendor], [texts])  # noqa: S611
    return ProviderEvent.objects.filter(pk__in=mentioning)


def _export(email: str) -> str:
    """A sentence: to search all events for a visitor would take seconds of the database."""
    return (
        "Stripe nos avisa de lo que pasa con cada pago. Guardamos esos avisos 13 meses; los pagos "
        "y las devoluciones de los que tratan están en tus pedidos."
    )


def _preview(email: str) -> list[str]:
    return [
        f"Se vacía: {events}, que puede tener datos del comprador."
        for events in counted(_of(email).count(), "evento de Stripe", "eventos de Stripe")
    ]


def _erase(email: str) -> None:
    # The row stays, so that a repeated event is not processed again. The id of its object stays for
    # events that wait to be processed.
    for event in _of(email):
        about = (event.payload.get("data") or {}).get("object") or {}
        event.payload = {"id": event.event_id, "data": {"object": {"id": about.get("id", "")}}}
        event.save(update_fields=["payload"])


def _purge(now: datetime) -> int:
    return ProviderEvent.objects.filter(received_at__lt=now - EVENTS_KEPT).delete()[0]


def _purge_balance(now: datetime) -> int:
    return BalanceEntry.objects.filter(created_at__lt=now - BALANCE_KEPT).delete()[0]


register_personal_data(PersonalData("eventos_de_pago", _export, _preview, _erase))
register_retention("Eventos de Stripe de más de 13 meses", _purge)
register_retention("Movimientos de Stripe de más de 6 años", _purge_balance)
