"""The mails about refunds. A mail's row keeps the ids of refunds that were confirmed together.

Both mails have "refund_ids" and "order_id".

- `refund_made`: to the buyer. It leaves the clerk's reason out, which is for staff
- `refund_owner`: to `settings.STAFF_EMAIL`, with clerk, amount and reason
"""

from decimal import Decimal
from typing import Any

from django.urls import reverse

from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import TypedText, absolute_url, register_mail
from apps.core.money import to_euros
from apps.orders.models import Order, Refund, TransferReceipt
from apps.orders.refunds.effects import lines_kept_open


def register() -> None:
    register_mail(
        "refund_made",
        "Te hemos devuelto {{ amount|euros }}",
        refund_made_context,
        origin=Origin.PAYMENT,
        student=lambda ids: Order.objects.filter(
            payments__refunds__in=ids["refund_ids"]
        ).student_id(),
        texts={
            "greeting": "Hola, {nombre}:",
            "closing": "Si algo no cuadra, respóndenos a este correo.",
        },
    )
    register_mail(
        "refund_owner",
        "Devueltos {{ amount|euros }}"
        "{% if forgiven %} y perdonados {{ forgiven|euros }}{% endif %} del {{ order_name }}",
        refund_owner_context,
        origin=Origin.STAFF,
        is_fixed=True,
    )


def refund_made_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Variables of `refund_made`: the amount, and which access and plan have ended.

    `kept` names the refunded lines that another order of the student opens as well. `lines` names
    those whose access has ended; it is empty if all access of the order has.
    """
    refunds, order = _refunds(ids)
    is_whole = order.status == Order.Status.REFUNDED
    lines = list(order.lines.all() if is_whole else order.lines.filter(refunds__in=refunds))
    kept = lines_kept_open(order, lines)
    ended = [] if is_whole and not kept else [line for line in lines if line not in kept]
    return {
        **_common(refunds, order),
        "first_name": TypedText(order.first_name),
        "paid_with": refunds[0].payment.kind,
        "by_transfer": any(refund.payment.is_refunded_by_hand for refund in refunds),
        "is_whole": is_whole,
        "lines": [line.name for line in ended],
        "kept": [line.name for line in kept],
        "plan_is_over": order.instalments.filter(status="canceled").exists(),
    }


def refund_owner_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Variables of `refund_owner`: clerk, amount, reason and the order's page in the admin.

    `forgiven` are the euros of instalments that are no longer asked for, `lines` what it withdraws.
    `by_transfer`: the money leaves the bank by hand. `recorded_it`: the clerk who gives it back has
    recorded that a transfer of the buyer came.
    """
    refunds, order = _refunds(ids)
    batch = Refund.objects.filter(batch=refunds[0].batch, payment__order=order)
    # Of any order of the student: an exchange takes the money to another one.
    receipts = TransferReceipt.objects.filter(
        user__isnull=False, user=refunds[0].user_id, order__student=order.student_id
    )
    return {
        **_common(refunds, order),
        "actor": refunds[0].actor,
        "reason": refunds[0].reason,
        "status": order.get_status_display(),
        "email": order.email,
        "by_transfer": any(refund.payment.is_refunded_by_hand for refund in refunds),
        "recorded_it": receipts.exists(),
        # The first part has it, which may have been refused.
        "forgiven": sum((row.forgiven for row in batch), Decimal(0)),
        "lines": [line.name for line in order.lines.filter(refunds__in=refunds).distinct()],
        "admin_url": absolute_url(reverse("admin:orders_order_change", args=[order.pk])),
    }


def _refunds(ids: dict[str, Any]) -> tuple[list[Refund], Order]:
    refunds = list(Refund.objects.filter(pk__in=ids["refund_ids"]).order_by("pk"))
    return refunds, Order.objects.get(payments__refunds=refunds[0])


def _common(refunds: list[Refund], order: Order) -> dict[str, Any]:
    return {
        "order_name": f"pedido n.º {order.pk}",
        "amount": to_euros(sum(refund.amount_cents for refund in refunds)),
    }
