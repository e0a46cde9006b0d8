"""The mails about an order that staff have made, or that its buyer pays by transfer.

- `transfer_details` {"order_id"}: to a buyer who has chosen a transfer, how to make it
- `transfer_reminder` {"order_id"}: the same, if it has not arrived after three days
- `order_to_pay` {"order_id"}: how to pay the order; with "missing_cents", after a transfer that
  was too small; with "replaces", after staff have changed what was mailed before
"""

from typing import Any

from django.conf import settings

from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import NoLongerDue, SecretUrl, absolute_url, register_mail
from apps.core.money import to_euros
from apps.orders.models import CART_LIFE, Gift, Order, StaffOrder
from apps.orders.models.staff_order import TRANSFER_LIFE, exchange_of
from apps.orders.recovery_link import recovery_url


def register() -> None:
    register_mail(
        "order_to_pay",
        "{% if missing %}Falta una parte del pago de tu {{ order_name }}"
        "{% else %}Cómo pagar tu {{ order_name }}{% endif %}",
        order_to_pay_context,
        origin=Origin.STAFF,
        student=lambda ids: Order.objects.filter(pk=ids["order_id"]).student_id(),
        texts={
            "greeting": "Hola:",
            "intro": "Hemos preparado tu {pedido}:",
        },
    )
    register_mail(
        "transfer_details",
        "Datos para pagar tu {{ order_name }} por transferencia",
        order_to_pay_context,
        origin=Origin.ORDER,
        student=lambda ids: Order.objects.filter(pk=ids["order_id"]).student_id(),
        texts={
            "greeting": "Hola:",
            "intro": "Hemos preparado tu {pedido}:",
        },
    )
    register_mail(
        "transfer_reminder",
        "Tu {{ order_name }} espera la transferencia",
        order_to_pay_context,
        origin=Origin.PACED,
        student=lambda ids: Order.objects.filter(pk=ids["order_id"]).student_id(),
        texts={
            "greeting": "Hola:",
            "intro": "Todavía no nos ha llegado la transferencia de tu {pedido}. Si ya la has "
            "hecho, no tienes que hacer nada: el banco puede tardar uno o dos días. Es "
            "lo que has pedido:",
        },
    )


def order_to_pay_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Variables of `order_to_pay`. Raises NoLongerDue if the order is paid or has expired."""
    order = Order.objects.select_related("by_staff").get(pk=ids["order_id"])
    row: StaffOrder | None = getattr(order, "by_staff", None)
    if not order.is_open or row is None or row.awaits_approval:
        raise NoLongerDue
    by_transfer = order.by_staff.paid_by == StaffOrder.PaidBy.TRANSFER
    missing = ids.get("missing_cents", 0)
    return {
        "only_to": order.email,
        "order_name": f"pedido n.º {order.pk}",
        "lines": [
            {
                "name": line.name,
                "kind": "Lección Individual" if line.lesson_id else "Asignatura Completa",
                "list_price": line.list_price,
            }
            for line in order.lines.all()
        ],
        "discounts": list(order.discounts.all()),
        "total": order.total_amount,
        "exchange": exchange_of(order),
        # Not to whom: the buyer of an unpaid order may be a stranger who has typed this address.
        "gift_on": Gift.objects.filter(order=order).values_list("deliver_on", flat=True).first(),
        "missing": to_euros(missing) if missing else None,
        "replaces": ids.get("replaces", False),
        "by_transfer": by_transfer,
        "iban": settings.TRANSFER_IBAN,
        "reference": order.by_staff.reference,
        "valid_until": row.created_at + TRANSFER_LIFE
        if row.by_buyer
        else order.created_at + CART_LIFE,
        "pay_url": "" if by_transfer else SecretUrl(absolute_url(recovery_url(order))),
        "terms_url": absolute_url("/terminos"),
    }
