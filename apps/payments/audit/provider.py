"""The audit's comparison of an order with the charges of its customer at Stripe."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from apps.core.money import format_euros, to_cents
from apps.orders.models import Order, Payment, Refund
from apps.orders.models.statuses import WITHOUT_PROVIDER
from apps.payments.audit.charges_without_order import unrecorded
from apps.payments.audit.one_order import succeeded
from apps.payments.stripe.charges import ProviderCharge, charges_of
from apps.payments.stripe.client import PaymentNotFound

AT_STRIPE = (Refund.Status.PENDING, Refund.Status.SUCCEEDED)


def differences_with_stripe(order: Order, *, recording_time: timedelta) -> Iterator[str]:
    """Differences between the order's payments and Stripe's charges, in either direction.

    Charges younger than `recording_time` may still be being recorded, and are left out. Raises
    ProviderError if Stripe can't be asked.
    """
    ours = {row.reference: row for row in succeeded(order) if not _is_unknown_to_stripe(row)}
    if not order.customer_reference:
        if ours:
            yield "tiene cobros y ningún cliente en Stripe con el que compararlos"
        return
    charges = {charge.reference: charge for charge in _charges(order.customer_reference)}
    for reference in ours.keys() - charges.keys():
        amount = format_euros(to_cents(ours[reference].amount))
        yield f"el cobro {reference} de {amount} no está en Stripe"
    for reference, charge in charges.items():
        if reference in ours:
            yield from _compare(ours[reference], charge)
        elif charge.created_at < timezone.now() - recording_time:
            yield unrecorded(charge)


def _charges(customer: str) -> list[ProviderCharge]:
    try:
        return charges_of(customer)
    except PaymentNotFound:
        return []


def _is_unknown_to_stripe(payment: Payment) -> bool:
    """Whether Stripe has no charge for it: a free order, a transfer, or sample data."""
    is_sample = settings.DEBUG and payment.kind == Payment.Kind.SAMPLE
    return payment.kind in WITHOUT_PROVIDER or is_sample


def _compare(payment: Payment, charge: ProviderCharge) -> Iterator[str]:
    amount = to_cents(payment.amount)
    if (amount, payment.currency) != (charge.amount_cents, charge.currency):
        yield (
            f"el cobro {payment} es de {format_euros(amount)} y en Stripe de "
            f"{format_euros(charge.amount_cents)}"
        )
    refunds = payment.refunds.all()
    returned = sum(row.amount_cents for row in refunds if row.status in AT_STRIPE)
    if returned != charge.refunded_cents:
        yield (
            f"del cobro {payment} se han devuelto {format_euros(charge.refunded_cents)} en Stripe, "
            f"y aquí constan {format_euros(returned)}"
        )
    if charge.disputed and not payment.disputes.all():
        yield f"el cobro {payment} está en disputa en Stripe, y aquí no consta"
