"""Stripe's charges that no order of the shop has recorded, as differences of the audit."""

from collections.abc import Collection
from datetime import datetime

from django.utils.timezone import localtime

from apps.payments.charges_without_order import amount_text, find_unrecorded_charges
from apps.payments.stripe.charges import ProviderCharge


def unrecorded_charges(
    since: datetime | None, *, compared_orders: Collection[int]
) -> tuple[list[str], int]:
    """A sentence for each charge of the period that is not recorded; how many other shops have.

    Charges of `compared_orders` are left out: each order is compared with Stripe by itself. Raises
    ProviderError.
    """
    found = find_unrecorded_charges(since)
    sentences = [_without_order(charge) for charge in found.without_order]
    sentences += [
        f"Pedido {order_id}: {unrecorded(charge)}."
        for order_id, charge in found.of_orders
        if order_id not in compared_orders
    ]
    return sentences, found.of_other_shops


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
