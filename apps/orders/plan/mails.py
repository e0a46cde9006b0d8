"""The mails of a plan of instalments, each with the link to the plan's page.

- `instalment_notice` {"instalment_id", "order_id"}: two days before a charge
- `instalment_paid` {"payment_id", "order_id"}: the receipt of one or several instalments
- `instalment_unpaid` {"instalment_id", "order_id", "refusal", "again_on", "same_card"}: after each
  declined charge, and on the days of a retry if the card can't be charged any more
"""

from datetime import date
from typing import Any

from django.utils import timezone

from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import NoLongerDue, SecretUrl, TypedText, absolute_url, register_mail
from apps.core.money import to_cents, to_euros
from apps.orders.invoice_link import invoice_url
from apps.orders.ledger.plan_end import takes_instalments
from apps.orders.models import Instalment, Order, Payment
from apps.orders.models.statuses import INSTALMENT_SETTLED, RefusalKind
from apps.orders.plan.plan_link import plan_url

REFUSED = "Tu banco ha rechazado el cobro."
REASONS = {
    RefusalKind.INSUFFICIENT_FUNDS: "La tarjeta no tenía saldo suficiente.",
    RefusalKind.EXPIRED_CARD: "La tarjeta ha caducado.",
    RefusalKind.CARD_MISSING: "Ya no tenemos ninguna tarjeta en la que cobrarlo.",
    RefusalKind.AUTHENTICATION: "Tu banco pide que confirmes tú el pago.",
}


def register() -> None:
    register_mail(
        "instalment_notice",
        "El {{ due_on|date:'j \\d\\e F' }} "
        "{% if chargeable %}cobraremos{% else %}vence{% endif %} el plazo {{ number }}",
        instalment_notice_context,
        origin=Origin.PAYMENT,
        student=lambda ids: Order.objects.filter(instalments=ids["instalment_id"]).student_id(),
        texts={
            "greeting": "Hola, {nombre}:",
            "details": "Si lo prefieres, puedes pagarlo ya, pagar todo lo que queda o cambiar de "
            "tarjeta.",
        },
    )
    register_mail(
        "instalment_paid",
        "Recibo de tu pago: {{ what }}",
        instalment_paid_context,
        origin=Origin.PAYMENT,
        student=lambda ids: Order.objects.filter(payments=ids["payment_id"]).student_id(),
        texts={
            "heading": "Hemos recibido tu pago",
            "greeting": "Hola, {nombre}:",
            "last_payment": "Con este pago has terminado de pagar tu pedido. ¡Gracias!",
        },
    )
    register_mail(
        "instalment_unpaid",
        "{% if confirm %}Confirma el pago del plazo {{ number }}"
        "{% else %}No hemos podido cobrar el plazo {{ number }}{% endif %}",
        instalment_unpaid_context,
        origin=Origin.PAYMENT,
        student=lambda ids: Order.objects.filter(instalments=ids["instalment_id"]).student_id(),
        texts={"greeting": "Hola, {nombre}:"},
    )


def instalment_notice_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Variables of `instalment_notice`: the amount, the day and the card of the charge."""
    instalment = _unpaid(ids)
    order = instalment.order
    return {
        **_plan(order),
        "number": instalment.number,
        "amount": instalment.amount,
        "due_on": instalment.charge_on or instalment.due_on,
        "card": order.card_label,
        "chargeable": bool(order.card_reference) and not order.card_refusal,
    }


def instalment_paid_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Variables of `instalment_paid`: the paid instalments and the remaining ones."""
    payment = Payment.objects.get(pk=ids["payment_id"])
    order = Order.objects.get(payments=payment)
    numbers = list(payment.instalments.order_by("number").values_list("number", flat=True))
    left = order.instalments.exclude(status__in=INSTALMENT_SETTLED).order_by("number")
    paid_instalments = (
        f"plazo {numbers[0]}"
        if len(numbers) == 1
        else f"plazos {', '.join(map(str, numbers[:-1]))} y {numbers[-1]}"
    )
    return {
        **_plan(order),
        "what": paid_instalments,
        "amount": payment.amount,
        "vat_note": order.vat_note,
        "invoice_url": SecretUrl(absolute_url(invoice_url(order))),
        "paid_at": payment.succeeded_at or timezone.now(),
        "left": [
            {"number": row.number, "amount": row.amount, "on": row.charge_on or row.due_on}
            for row in left
        ],
    }


def instalment_unpaid_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Variables of `instalment_unpaid`: the decline's reason and the day of the retry."""
    instalment = _unpaid(ids)
    refusal = RefusalKind(ids["refusal"])
    return {
        **_plan(instalment.order),
        "number": instalment.number,
        "amount": instalment.amount,
        "reason": REASONS.get(refusal, REFUSED),
        "confirm": refusal == RefusalKind.AUTHENTICATION,
        "again_on": date.fromisoformat(ids["again_on"]) if ids["again_on"] else None,
        "same_card": ids["same_card"],
    }


def _unpaid(ids: dict[str, Any]) -> Instalment:
    """The instalment that a mail is about. Raises NoLongerDue if nothing is due for it any more."""
    instalment = Instalment.objects.select_related("order").get(pk=ids["instalment_id"])
    if instalment.status == Instalment.Status.PAID or not takes_instalments(instalment.order):
        raise NoLongerDue("El plazo ya está pagado.")
    return instalment


def _plan(order: Order) -> dict[str, Any]:
    left = order.instalments.exclude(status__in=INSTALMENT_SETTLED)
    return {
        "order_name": f"pedido n.º {order.pk}",
        "first_name": TypedText(order.first_name),
        "plan_url": SecretUrl(absolute_url(plan_url(order))),
        "left_amount": to_euros(sum(to_cents(row.amount) for row in left)),
    }
