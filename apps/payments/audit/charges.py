"""Charges at Stripe that no order of the shop has recorded, as differences of the audit."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.utils.timezone import localtime

from apps.payments.audit.charges_without_order import amount_text, find_unrecorded_charges
from apps.payments.stripe.charges import ProviderCharge


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
