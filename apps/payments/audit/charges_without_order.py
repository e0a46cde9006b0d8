"""Charges that this shop has made at Stripe and that belong to none of its orders.

They appear after a database was restored: orders made after the backup are lost, but their cards
were charged. Charges of other shops on the same account are left alone (docs/rules.md, "Money
audit").
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.timezone import localtime

from apps.core.mail.outbox import queue_mail
from apps.core.money import format_euros
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order, Payment
from apps.orders.settlement.unmatched import keep_unmatched_payment
from apps.payments.stripe.charges import PAGE, ProviderCharge, charges_since

# Younger charges are skipped: the shop may still be recording their payments.
RECORDING_TIME = timedelta(minutes=10)


@dataclass
class UnrecordedCharges:
    """Charges of a period that no order of the shop has recorded.

    `without_order` have this shop's metadata but no order. `of_orders` are pairs of an order's id
    and a charge of that order's customer, whose payment the shop has missed. `of_other_shops` is
    the number of charges without this shop's metadata.
    """

    without_order: list[ProviderCharge] = field(default_factory=list)
    of_orders: list[tuple[int, ProviderCharge]] = field(default_factory=list)
    of_other_shops: int = 0


def find_unrecorded_charges(
    since: datetime | None, *, recording_time: timedelta = RECORDING_TIME
) -> UnrecordedCharges:
    """Find the charges of the Stripe account since `since`, or all, that the shop has not recorded.

    Leaves out charges younger than `recording_time`, charges that were refunded in full, and those
    that staff have attended to. Raises ProviderError.
    """
    result = UnrecordedCharges()
    latest = timezone.now() - recording_time
    charges = [
        charge
        for charge in charges_since(since)
        if charge.created_at < latest and not charge.is_refunded
    ]
    for start in range(0, len(charges), PAGE):
        _sort(result, charges[start : start + PAGE])
    return result


def _sort(result: UnrecordedCharges, charges: list[ProviderCharge]) -> None:
    references = [charge.reference for charge in charges]
    settled = Payment.objects.filter(Q(order__isnull=False) | Q(flag=""), reference__in=references)
    recorded = set(settled.values_list("reference", flat=True))
    customers = {charge.customer for charge in charges} - {""}
    orders = dict(
        Order.objects.filter(customer_reference__in=customers).values_list(
            "customer_reference", "pk"
        )
    )
    for charge in charges:
        if charge.reference in recorded:
            continue
        if charge.customer in orders:
            result.of_orders.append((orders[charge.customer], charge))
        elif charge.order_id is not None:
            result.without_order.append(charge)
        else:
            result.of_other_shops += 1


def amount_text(amount_cents: int, currency: str) -> str:
    """The amount as Spanish text. Only euros are formatted; other currencies show their code."""
    if currency == "eur":
        return format_euros(amount_cents)
    return f"{amount_cents} {currency.upper()} (en su unidad menor)"


def report_charges_without_order(charges: Iterable[ProviderCharge]) -> int:
    """Store each charge as a flagged payment and mail staff. Returns how many are new."""
    return sum(_report(charge) for charge in charges)


@transaction.atomic
def _report(charge: ProviderCharge) -> bool:
    """Store and mail one charge. The mail has all facts to recreate the order or to refund it."""
    payment = keep_unmatched_payment(
        ConfirmedPayment(
            charge.reference,
            charge.amount_cents,
            currency=charge.currency,
            kind=charge.kind,
            succeeded_at=charge.created_at,
        ),
        reason=f"Cobro de la tienda sin pedido (tenía el número {charge.order_id})",
    )
    mail = queue_mail(
        key=f"charge-without-order:{payment.pk}",
        template="charge_without_order",
        to=settings.STAFF_EMAIL,
        context={
            "charge_id": charge.charge_id,
            "payment_reference": charge.reference,
            "amount_cents": charge.amount_cents,
            "currency": charge.currency,
            "charged_at": charge.created_at.isoformat(),
            "email": charge.email,
            "order_number": charge.order_id,
        },
    )
    return mail is not None


def unrecorded_charges(
    since: datetime | None, *, compared_orders: Collection[int], recording_time: timedelta
) -> tuple[list[str], int]:
    """One Spanish sentence for each unrecorded charge, and the number of charges of other shops.

    Covers the charges since `since`, or all. Charges of `compared_orders` are left out: these
    orders were compared with Stripe one by one. Charges younger than `recording_time` are left out
    as well. Raises ProviderError.
    """
    result = find_unrecorded_charges(since, recording_time=recording_time)
    sentences = [_without_order(charge) for charge in result.without_order]
    sentences += [
        f"Pedido {order_id}: {unrecorded(charge)}."
        for order_id, charge in result.of_orders
        if order_id not in compared_orders
    ]
    return sentences, result.of_other_shops


def unrecorded(charge: ProviderCharge) -> str:
    amount = amount_text(charge.amount_cents, charge.currency)
    return f"Stripe ha cobrado {amount} ({charge.reference}), y aquí no consta"


def _without_order(charge: ProviderCharge) -> str:
    amount = amount_text(charge.amount_cents, charge.currency)
    moment = f"{localtime(charge.created_at):%d/%m/%Y %H:%M}"
    return (
        f"Cobro sin pedido: {amount} el {moment} ({charge.charge_id}, {charge.reference}), "
        f"a nombre del pedido {charge.order_id}."
    )
