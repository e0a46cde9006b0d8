"""Payments at the provider that belong to no order of this shop."""

from collections.abc import Iterable

from django.db import transaction
from django.utils import timezone

from apps.core.money import to_euros
from apps.orders.ledger.alerts import alert_staff
from apps.orders.ledger.history import note
from apps.orders.ledger.locks import locked_order
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Payment
from apps.orders.models.statuses import EventKind


@transaction.atomic
def keep_unmatched_payment(
    payment: ConfirmedPayment, *, reason: str, of_other_shop: bool = False
) -> Payment:
    """Store a succeeded payment that belongs to no order, flagged with `reason` (Spanish).

    A payment `of_other_shop` is left out of the reports (docs/rules.md, "Reports").
    Returns the existing row if the payment is stored already.
    """
    return Payment.objects.get_or_create(
        reference=payment.reference,
        defaults={
            "session": payment.session,
            "amount": to_euros(payment.amount_cents),
            "currency": payment.currency,
            "status": Payment.Status.SUCCEEDED,
            "kind": payment.kind,
            "succeeded_at": payment.moment(),
            "recorded_at": timezone.now(),
            "flag": reason[:200],
            "of_other_shop": of_other_shop,
        },
    )[0]


def may_be_of_lost_order(payment: Payment) -> bool:
    """Whether the order of a payment without one can perhaps still be made again.

    Stripe alone knows: the page that makes it asks. Clearing the flag ends that for good.
    """
    return payment.order_id is None and payment.flag != "" and not payment.of_other_shop


@transaction.atomic
def attend_unmatched_payments(payment_ids: Iterable[int]) -> list[Payment]:
    """Clear the flags of payments without an order that staff have settled.

    The money audit reports a charge without an order until its flag is cleared or it is refunded
    (docs/rules.md, "Money audit"). Returns the payments that were flagged, with their old flags.
    """
    flagged = Payment.objects.select_for_update(no_key=True).filter(
        pk__in=list(payment_ids), order=None
    )
    payments = list(flagged.exclude(flag="").order_by("pk"))
    Payment.objects.filter(pk__in=[payment.pk for payment in payments]).update(flag="")
    return payments


@transaction.atomic
def keep_foreign_payment(order_id: int, payment: ConfirmedPayment, *, actor: str) -> None:
    """Store a payment with this order's number but another order's customer, and mail staff.

    Each order has its own customer (docs/rules.md, "Card payments"). So the payment is for an order
    that had this number before the database was restored, or for an order of another shop on the
    same account. It must not mark today's order as paid (docs/rules.md, "Open payments").
    """
    order = locked_order(order_id)
    if Payment.objects.filter(reference=payment.reference).exists():
        return
    reason = f"Pago de otro cliente de Stripe con el número de este pedido ({payment.reference})"
    row = keep_unmatched_payment(
        payment, reason=f"Pago de otro cliente: no es del pedido {order_id}"
    )
    note(order, kind=EventKind.PAYMENT_UNMATCHED, actor=actor, reason=reason)
    alert_staff(order, occasion=f"payment-{row.pk}", reason=reason)
