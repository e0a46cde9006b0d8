"""Charges at Stripe, which the money audit compares with the shop's payments."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import stripe

from apps.orders.models.statuses import PaymentKind
from apps.payments.stripe.client import client, id_of, number_of, path_id, provider_errors
from apps.payments.stripe.declines import OWN_KINDS

PAGE = 100


@dataclass(frozen=True)
class ProviderCharge:
    """A charge that succeeded, as Stripe reports it now. Amounts in cents.

    `reference` is the id of its payment intent, which is the shop's `Payment.reference`. `order_id`
    is the order's number in its metadata, or None if the charge is not this shop's.
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
    kind: PaymentKind = PaymentKind.CARD

    @property
    def is_refunded(self) -> bool:
        return self.refunded_cents >= self.amount_cents


def charges_of(customer: str) -> list[ProviderCharge]:
    """The succeeded charges of an order's customer. Raises ProviderError or PaymentNotFound."""
    return _charges({"customer": customer})


def charges_since(moment: datetime | None) -> list[ProviderCharge]:
    """All succeeded charges of the account, newest first. Raises ProviderError.

    `moment` limits them to those created since.
    """
    created = {} if moment is None else {"created": {"gte": int(moment.timestamp())}}
    return _charges({**created, "expand": ["data.customer"]})


def payment_of_charge(charge_id: str) -> str:
    """The id of a charge's payment intent. Raises ProviderError or PaymentNotFound."""
    with provider_errors():
        charge = client().v1.charges.retrieve(path_id(charge_id))
    return id_of(charge.payment_intent) or charge.id


def _charges(filters: dict[str, Any]) -> list[ProviderCharge]:
    params: Any = {**filters, "limit": PAGE}
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
        order_id=order_number_of(charge),
        kind=kind_of(charge),
    )


def kind_of(charge: stripe.Charge) -> PaymentKind:
    """What the charge was paid with. All other methods, such as Link, are wallets."""
    details = charge.payment_method_details
    if details is None or details.type == "card":
        card = getattr(details, "card", None)
        return PaymentKind.WALLET if getattr(card, "wallet", None) else PaymentKind.CARD
    return OWN_KINDS.get(details.type, PaymentKind.WALLET)


def success_of(charge: stripe.Charge) -> datetime | None:
    """When the charge took the money. None if it did not succeed."""
    return datetime.fromtimestamp(charge.created, UTC) if charge.paid else None


def _email(charge: stripe.Charge) -> str:
    """The buyer's address: that of the expanded customer, else that of the receipt."""
    of_customer = getattr(charge.customer, "email", None)
    return of_customer or charge.receipt_email or charge.billing_details.email or ""


def order_number_of(charge: stripe.Charge) -> int | None:
    """The order's number, if the metadata were written by this shop.

    Stripe copies a payment intent's metadata to its charges. Another shop on the account may also
    write an `order_id`. This shop always adds a revision or instalments.
    """
    metadata = charge.metadata.to_dict() if charge.metadata else {}
    is_ours = number_of(metadata.get("revision")) is not None or "instalments" in metadata
    return number_of(metadata.get("order_id")) if is_ours else None
