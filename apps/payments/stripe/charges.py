"""Charges at Stripe, which the money audit compares with the shop's payments."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import stripe

from apps.payments.stripe.client import client, id_of, number_of, provider_errors

PAGE = 100


@dataclass(frozen=True)
class ProviderCharge:
    """A charge that succeeded, as Stripe has it now; amounts in cents.

    `reference` is its payment intent's id, by which the shop knows the payment. `order_id` is the
    number that its metadata name, or None if this shop did not ask for the charge.
    """

    charge_id: str
    reference: str
    amount_cents: int
    refunded_cents: int
    currency: str
    disputed: bool
    created_at: datetime
    customer: str
    email: str
    order_id: int | None

    @property
    def is_refunded(self) -> bool:
        return self.refunded_cents >= self.amount_cents


def charges_of(customer: str) -> list[ProviderCharge]:
    """The charges of an order's customer that succeeded. Raises what the provider raises."""
    return _charges({"customer": customer})


def charges_since(moment: datetime | None) -> list[ProviderCharge]:
    """All charges of the account that succeeded, since a moment or ever, newest first."""
    created = {} if moment is None else {"created": {"gte": int(moment.timestamp())}}
    return _charges({**created, "expand": ["data.customer"]})


def _charges(asked: dict[str, Any]) -> list[ProviderCharge]:
    params: Any = {**asked, "limit": PAGE}
    with provider_errors():
        page = client().v1.charges.list(params)
        return [_charge(charge) for charge in page.auto_paging_iter() if charge.paid]


def _charge(charge: stripe.Charge) -> ProviderCharge:
    return ProviderCharge(
        charge_id=charge.id,
        reference=id_of(charge.payment_intent) or charge.id,
        amount_cents=charge.amount_captured,
        refunded_cents=charge.amount_refunded,
        currency=charge.currency,
        disputed=charge.disputed,
        created_at=datetime.fromtimestamp(charge.created, UTC),
        customer=id_of(charge.customer),
        email=_email(charge),
        order_id=_order_id(charge),
    )


def _email(charge: stripe.Charge) -> str:
    """The buyer's address: the customer's, where it was asked for, or the receipt's."""
    of_customer = getattr(charge.customer, "email", None)
    return of_customer or charge.receipt_email or charge.billing_details.email or ""


def _order_id(charge: stripe.Charge) -> int | None:
    """The order's number, if the metadata are the ones that this shop writes.

    Stripe copies a payment intent's metadata to its charges. Another shop on the account may write
    an `order_id`, too; ours stands beside a revision or instalments.
    """
    metadata = charge.metadata.to_dict() if charge.metadata else {}
    is_ours = number_of(metadata.get("revision")) is not None or "instalments" in metadata
    return number_of(metadata.get("order_id")) if is_ours else None
