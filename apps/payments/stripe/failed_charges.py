"""Refused cards, and refused Bizum and PayPal payments, as Stripe lists them.

These are failed charges, failed attempts of card set-ups, and failed 3-D Secure.

Nothing here runs inside a database transaction.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import stripe

from apps.payments.stripe.client import client, id_of, provider_errors
from apps.payments.stripe.declines import refusal_code

PAGE = 100


@dataclass(frozen=True)
class Refusal:
    """One refused card that a buyer typed, or a refused payment by another method.

    `refusal_id` is the id of the failed charge or of the failed attempt. `reference` is the id of
    the payment intent or of the set-up. `code` is Stripe's code of the decline. `fingerprint` is
    Stripe's digest of the card's number, empty if unknown.
    """

    refusal_id: str
    reference: str
    customer: str
    code: str
    fingerprint: str
    # Stripe's type of the payment method, such as "bizum".
    method: str = "card"


def refusals_of_payment(reference: str) -> list[Refusal]:
    """The failed charges of a payment intent. Raises ProviderError or PaymentNotFound."""
    return _failed_charges({"payment_intent": reference})


def refusals_since(moment: datetime) -> list[Refusal]:
    """The account's failed charges that were created since `moment`. Raises ProviderError."""
    return _failed_charges({"created": {"gte": int(moment.timestamp())}})


def refusals_of_setup(reference: str) -> list[Refusal]:
    """The failed attempts of a card set-up. Raises ProviderError or PaymentNotFound."""
    with provider_errors():
        page = client().v1.setup_attempts.list({"setup_intent": reference, "limit": PAGE})
        return [
            Refusal(
                refusal_id=attempt.id,
                reference=reference,
                customer=id_of(attempt.customer),
                code=refusal_code(attempt.setup_error),
                fingerprint=_fingerprint(attempt.payment_method_details),
            )
            for attempt in page.auto_paging_iter()
            if attempt.status == "failed"
        ]


def last_refusal(intent: stripe.PaymentIntent) -> Refusal | None:
    """The refusal that a payment intent names as its last error.

    A failed 3-D Secure has no charge, so that no list contains it. Its id is made of the payment
    intent and the payment method: the browser makes a payment method for each try.
    """
    error = intent.last_payment_error
    if error is None or _is_automatic(intent):
        return None
    method = getattr(error, "payment_method", None)
    charge = id_of(getattr(error, "charge", None))
    tried = hashlib.sha256(f"{intent.id} {id_of(method)}".encode()).hexdigest()
    return Refusal(
        refusal_id=charge or tried,
        reference=intent.id,
        customer=id_of(intent.customer),
        code=refusal_code(error),
        fingerprint=_fingerprint(method),
        method=_type(method),
    )


def _failed_charges(filters: dict[str, Any]) -> list[Refusal]:
    params: Any = {**filters, "limit": PAGE}
    with provider_errors():
        page = client().v1.charges.list(params)
        return [
            Refusal(
                refusal_id=charge.id,
                reference=id_of(charge.payment_intent) or charge.id,
                customer=id_of(charge.customer),
                code=_decline_code(charge),
                fingerprint=_fingerprint(charge.payment_method_details),
                method=_type(charge.payment_method_details),
            )
            for charge in page.auto_paging_iter()
            if charge.status == "failed" and not _is_automatic(charge)
        ]


def _decline_code(charge: stripe.Charge) -> str:
    """The bank's reason if it declined the charge, else Stripe's error code."""
    outcome = charge.outcome
    by_bank = outcome.reason if outcome and outcome.type == "issuer_declined" else None
    return by_bank or charge.failure_code or "card_declined"


def _is_automatic(paid: stripe.Charge | stripe.PaymentIntent) -> bool:
    """Whether the shop charged a saved card. A charge has the metadata of its payment intent."""
    return bool(paid.metadata) and "automatic" in paid.metadata.to_dict()


def _type(method: Any) -> str:
    return getattr(method, "type", None) or "card"


def _fingerprint(method: Any) -> str:
    """Stripe's digest of the card's number; empty for other payment methods."""
    return getattr(getattr(method, "card", None), "fingerprint", None) or ""
