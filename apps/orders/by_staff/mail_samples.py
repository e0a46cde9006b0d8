"""Sample data of the mail about an order that staff have made."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from apps.core.mail.registry import SecretUrl, absolute_url
from apps.core.mail.samples import STUDENT, preview_mail, sample


def _order_to_pay() -> dict[str, dict[str, Any]]:
    common = {
        "order_name": "pedido n.º 1042",
        "lines": [
            {
                "name": "Microeconomía",
                "kind": "Asignatura Completa",
                "list_price": Decimal("192.00"),
            }
        ],
        "discounts": [sample(name="Precio de tu presupuesto", amount=Decimal("21.60"))],
        "total": Decimal("170.40"),
        "missing": None,
        "by_transfer": True,
        "iban": "ES91 2100 0418 4502 0005 1332",
        "reference": "PEDIDO-1042",
        "valid_until": timezone.now() + timedelta(days=30),
        "pay_url": "",
        "terms_url": absolute_url("/terminos"),
    }
    link = SecretUrl(absolute_url("/complete-payment?order=1042&token=ejemplo"))
    return {
        "Por transferencia": common,
        "Con tarjeta": {**common, "by_transfer": False, "pay_url": link},
        "Falta una parte": {**common, "missing": Decimal("70.40")},
    }


preview_mail(
    "order_to_pay",
    title="cómo pagar el pedido",
    when="Cuando el equipo crea un pedido, y cuando una transferencia no llega al importe",
    to=STUDENT,
    samples=_order_to_pay,
)
