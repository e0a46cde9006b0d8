"""Mails to staff about money.

- `audit_differences` {"differences", "count"}: the result of the nightly audit. It names orders by
  number, and no person.
- `charge_without_order` {"charge_id", "payment_reference", "amount_cents", "currency",
  "charged_at", "email", "order_number"}: a charge at Stripe that no order of the shop has. The
  context has the facts themselves, because there is no order to read them from.
- `card_testing` {"per_minute", "since"}: so many refused cards that strangers have to wait
- `event_unreadable` {"event_row_id"}: a webhook body that is signed but is no Stripe event
"""

from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils import timezone

from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import absolute_url, register_mail
from apps.payments.audit.charges_without_order import amount_text
from apps.payments.models import ProviderEvent


def register() -> None:
    register_mail(
        "audit_differences",
        "Las cuentas no cuadran: {{ count }} diferencia{{ count|pluralize }}",
        differences_context,
        origin=Origin.STAFF,
        is_fixed=True,
    )
    register_mail(
        "charge_without_order",
        "Cobro sin pedido: {{ amount }} de {{ email }}",
        charge_context,
        origin=Origin.STAFF,
        is_fixed=True,
    )
    register_mail(
        "card_testing",
        "Se están rechazando muchas tarjetas",
        lambda ids: {
            "per_minute": ids["per_minute"],
            "since": timezone.localtime(datetime.fromisoformat(ids["since"])),
            "admin_url": absolute_url(reverse("admin:orders_order_changelist")),
        },
        origin=Origin.STAFF,
        is_fixed=True,
    )
    register_mail(
        "event_unreadable",
        "Stripe ha enviado un evento que no se puede leer",
        unreadable_context,
        origin=Origin.STAFF,
        is_fixed=True,
    )


def differences_context(ids: dict[str, Any]) -> dict[str, Any]:
    """The first differences, and how many there are in all."""
    return {**ids, "more": ids["count"] - len(ids["differences"])}


def charge_context(ids: dict[str, Any]) -> dict[str, Any]:
    """The facts with which staff recreate the order or refund the charge."""
    return {
        "amount": amount_text(ids["amount_cents"], ids["currency"]),
        "charged_at": datetime.fromisoformat(ids["charged_at"]),
        "charge_id": ids["charge_id"],
        "payment_reference": ids["payment_reference"],
        "email": ids["email"] or "un comprador sin correo",
        "order_number": ids["order_number"],
    }


def unreadable_context(ids: dict[str, Any]) -> dict[str, Any]:
    """When the event arrived, and its page in the admin."""
    event = ProviderEvent.objects.get(pk=ids["event_row_id"])
    page = reverse("admin:payments_providerevent_change", args=[event.pk])
    return {"received_at": event.received_at, "admin_url": absolute_url(page)}
