"""Stores the payments, disputes and cards of sample orders in the Stripe sandbox."""

from typing import TYPE_CHECKING, Any

import requests

from tools.dev.processes import SetupError

if TYPE_CHECKING:
    from apps.orders.models import Order, Payment

TIMEOUT_SECONDS = 30
STATUS_AT_STRIPE = {"open": "needs_response"}
# The kinds of sample payments that are not "sample".
BY_BUYERS = ("bizum", "paypal")


def store_in_sandbox(url: str) -> dict[str, int]:
    """Store what the sandbox at this address does not have yet. Safe to repeat.

    Staff can then refund sample orders, overdue instalments can be charged, and the shop fetches
    the balance and its payouts. Returns how many `payments` and `saved_cards` are new. Does nothing
    without sample orders. Django must be set up. Raises SetupError.
    """
    content = {"payments": _payments(), "saved_cards": _saved_cards()}
    if not any(content.values()):
        return {"payments": 0, "saved_cards": 0}
    try:
        answer = requests.post(f"{url}/_sandbox/payments", json=content, timeout=TIMEOUT_SECONDS)
        answer.raise_for_status()
        stored: dict[str, int] = answer.json()
    except requests.RequestException as error:
        raise SetupError(
            f"El Stripe local no acepta los pagos de los pedidos de ejemplo: {error}"
        ) from error
    return stored


def _payments() -> list[dict[str, Any]]:
    from django.db.models import Q

    from apps.backoffice.sample.shop import REFERENCE  # Needs the app registry.
    from apps.core.money import to_cents
    from apps.orders.models import Payment, Refund

    of_sample = Q(order__customer_reference__startswith=f"cus_{REFERENCE}_", kind__in=BY_BUYERS)
    paid = Payment.objects.filter(
        Q(kind=Payment.Kind.SAMPLE) | of_sample, status=Payment.Status.SUCCEEDED
    )
    return [
        {
            "id": payment.reference,
            "amount": to_cents(payment.amount),
            "currency": payment.currency,
            "created": int((payment.succeeded_at or payment.created_at).timestamp()),
            "metadata": _metadata(payment.order) if payment.order else {},
            **_way(payment),
            "refunds": [
                {
                    "id": refund.reference,
                    "amount": refund.amount_cents,
                    "created": int(refund.created_at.timestamp()),
                }
                for refund in payment.refunds.all()
                if refund.status == Refund.Status.SUCCEEDED
            ],
            "disputes": [
                {
                    "id": dispute.reference,
                    "amount": dispute.amount_cents,
                    "created": int(dispute.opened_at.timestamp()),
                    "status": STATUS_AT_STRIPE.get(dispute.status, dispute.status),
                    "closed": int(dispute.closed_at.timestamp()) if dispute.closed_at else 0,
                }
                for dispute in payment.disputes.all()
            ],
        }
        for payment in paid.order_by("pk").prefetch_related("order", "refunds", "disputes")
    ]


def _way(payment: "Payment") -> dict[str, str]:
    """The method and customer of a payment by Bizum or PayPal."""
    if payment.kind not in BY_BUYERS or payment.order is None:
        return {}
    return {"method": payment.kind, "customer": payment.order.customer_reference}


def _metadata(order: "Order") -> dict[str, str]:
    """What tells the shop's payments from those of other shops on the account."""
    return {"order_id": str(order.pk), "revision": str(order.revision)}


def _saved_cards() -> list[dict[str, str]]:
    from apps.backoffice.sample.shop import REFERENCE  # Needs the app registry.
    from apps.orders.models import Order

    orders = Order.objects.filter(customer_reference__startswith=f"cus_{REFERENCE}_")
    return [
        {"customer": customer, "payment_method": card}
        for customer, card in orders.values_list("customer_reference", "card_reference")
        if card.startswith(f"pm_{REFERENCE}_")
    ]
