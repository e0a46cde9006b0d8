"""Sample data of the mails to staff about money (see `apps.core.mail.samples`)."""

from typing import Any

from django.utils import timezone

from apps.core.mail.registry import absolute_url
from apps.core.mail.samples import STAFF, preview_mail


def _differences() -> dict[str, dict[str, Any]]:
    one = "Pedido 1042: los cobros suman 100,00 € en lugar de 194,40 €."
    other = "Código BIENVENIDA10: su contador dice 3 usos y hay 2."
    return {
        "Una": {"differences": [one], "count": 1, "more": 0},
        "Muchas": {"differences": [one, other], "count": 52, "more": 50},
    }


preview_mail(
    "audit_differences",
    title="diferencias de la auditoría",
    when="Una vez al día, si la auditoría nocturna encuentra diferencias",
    to=STAFF,
    samples=_differences,
)


def _charge() -> dict[str, dict[str, Any]]:
    return {
        "Un cobro": {
            "amount": "182,40 €",
            "charged_at": timezone.now(),
            "charge_id": "ch_3Q9x2b",
            "payment_reference": "pi_3Q9x2b",
            "email": "bruno@example.com",
            "order_number": 1042,
        }
    }


preview_mail(
    "charge_without_order",
    title="cobro sin pedido",
    when="Una vez por cada cobro de la tienda en Stripe que no es de ningún pedido, por ejemplo "
    "tras recuperar una copia de la base de datos",
    to=STAFF,
    samples=_charge,
)


def _card_testing() -> dict[str, dict[str, Any]]:
    page = absolute_url("/admin/orders/order/")
    return {"Un ataque": {"per_minute": 30, "since": timezone.now(), "admin_url": page}}


preview_mail(
    "card_testing",
    title="muchas tarjetas rechazadas",
    when="Como mucho una vez por hora, si se rechazan tantas tarjetas que la tienda deja de abrir "
    "pagos",
    to=STAFF,
    samples=_card_testing,
)


def _unreadable() -> dict[str, dict[str, Any]]:
    page = absolute_url("/admin/payments/providerevent/77/change/")
    return {"Un evento": {"received_at": timezone.now(), "admin_url": page}}


preview_mail(
    "event_unreadable",
    title="evento de Stripe ilegible",
    when="Una vez por cada envío de Stripe con firma válida que no es un evento",
    to=STAFF,
    samples=_unreadable,
)
