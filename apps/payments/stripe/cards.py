"""Instalments at Stripe: automatic charges, payments by hand, and saved cards.

Nothing here runs inside a database transaction.
"""

from dataclasses import dataclass
from typing import Any

import stripe
from django.conf import settings
from django.urls import reverse

from apps.core.errors import AcademyError
from apps.payments.stripe.client import (
    PaymentNotFound,
    ProviderError,
    client,
    excluded_methods,
    id_of,
    number_of,
    path_id,
    provider_errors,
    receipt_of,
)
from apps.payments.stripe.declines import refusal_code
from apps.payments.stripe.intents import ProviderPayment
from apps.payments.stripe.intents import payment_of_intent as payment_of

BRANDS = {"visa": "Visa", "mastercard": "Mastercard", "amex": "American Express"}
WALLETS = {"link": "Link", "paypal": "PayPal"}


@dataclass(frozen=True)
class ProviderCard:
    """A card set-up (Stripe's SetupIntent), its card, and the order that it was made for."""

    reference: str
    order_id: int
    customer: str
    payment_method: str
    saved: bool
    client_secret: str = ""


def create_instalment_payment(
    *,
    order_id: int,
    numbers: tuple[int, ...],
    attempt: int,
    amount_cents: int,
    customer: str,
    email: str,
    keep_card: bool,
    idempotency_key: str,
) -> ProviderPayment:
    """Open a payment of instalments that the student confirms.

    `keep_card` saves the card for the remaining instalments.
    """
    params: Any = {
        **_instalment_params(order_id, numbers, attempt, amount_cents, customer),
        **receipt_of(email),
        "excluded_payment_method_types": excluded_methods(),
    }
    if keep_card:
        params["setup_future_usage"] = "off_session"
    with provider_errors():
        intent = client().v1.payment_intents.create(params, {"idempotency_key": idempotency_key})
    return payment_of(intent)


def charge_saved_card(
    *,
    order_id: int,
    number: int,
    attempt: int,
    amount_cents: int,
    customer: str,
    email: str,
    payment_method: str,
    idempotency_key: str,
) -> ProviderPayment:
    """Charge one instalment without the student. `refusal_code` is set if the card is declined.

    `reference` is empty if the card no longer exists and nothing was charged. Raises ProviderError
    if the outcome is unknown: the same idempotency key may be used again for 24 hours. Its subclass
    SpentKey means that this key can't be used again.
    """
    params: Any = {
        **_instalment_params(order_id, (number,), attempt, amount_cents, customer),
        **receipt_of(email),
        "payment_method": payment_method,
        "confirm": True,
        "off_session": True,
        # The student is never redirected. But Stripe refuses to confirm an intent without a return
        # address if one of its methods might redirect.
        "return_url": f"{settings.SITE_URL}{reverse('plazos')}",
        "expand": ["latest_charge"],
    }
    params["metadata"]["automatic"] = "true"
    try:
        with provider_errors():
            intent = client().v1.payment_intents.create(
                params, {"idempotency_key": idempotency_key}
            )
    except (ProviderError, PaymentNotFound) as refused:
        if _is_gone(refused, payment_method, customer):
            return _refusal(order_id, number, attempt, customer, code="card_missing")
        return _refused_charge(refused, order_id, number, attempt, customer)
    return payment_of(intent)


def _refused_charge(
    refused: AcademyError, order_id: int, number: int, attempt: int, customer: str
) -> ProviderPayment:
    cause = refused.__cause__
    if isinstance(cause, stripe.CardError):
        code = refusal_code(cause.error) or cause.code or "card_declined"
        reference = id_of(getattr(cause.error, "payment_intent", None))
        return _refusal(order_id, number, attempt, customer, code=code, reference=reference)
    raise refused


def _is_gone(refused: AcademyError, payment_method: str, customer: str) -> bool:
    """Whether Stripe refused the call because the customer no longer has the card.

    Stripe has several error codes for that, so the card itself is looked up.
    """
    if not isinstance(refused.__cause__, stripe.InvalidRequestError):
        return False
    try:
        with provider_errors():
            method = client().v1.payment_methods.retrieve(payment_method)
    except PaymentNotFound:
        return True
    return id_of(method.customer) != customer


def _refusal(
    order_id: int, number: int, attempt: int, customer: str, *, code: str, reference: str = ""
) -> ProviderPayment:
    return ProviderPayment(
        reference=reference,
        status="open",
        amount_cents=0,
        currency="eur",
        client_secret="",
        customer=customer,
        payment_method="",
        order_id=order_id,
        revision=0,
        livemode=False,
        refusal=code,
        refusal_code=code,
        instalments=(number,),
        attempt=attempt,
    )


def _instalment_params(
    order_id: int, numbers: tuple[int, ...], attempt: int, amount_cents: int, customer: str
) -> dict[str, Any]:
    which = ", ".join(str(number) for number in numbers)
    return {
        "amount": amount_cents,
        "currency": "eur",
        "customer": customer,
        "description": f"{settings.BRAND_NAME}: pedido {order_id}, plazo {which}",
        "metadata": {
            "order_id": str(order_id),
            "instalments": ",".join(str(number) for number in numbers),
            "attempt": str(attempt),
        },
        "automatic_payment_methods": {"enabled": True},
    }


def create_card_setup(*, order_id: int, customer: str) -> ProviderCard:
    """Create a set-up that saves another card of the order's customer. The student confirms it."""
    with provider_errors():
        setup = client().v1.setup_intents.create(
            {
                "customer": customer,
                "usage": "off_session",
                "automatic_payment_methods": {"enabled": True},
                # The same methods as for payments by hand.
                "excluded_payment_method_types": excluded_methods(),
                "metadata": {"order_id": str(order_id)},
            }
        )
    return _card(setup)


def retrieve_card_setup(reference: str) -> ProviderCard:
    """The current state of a set-up. Raises PaymentNotFound if Stripe has none with this id."""
    with provider_errors():
        return _card(client().v1.setup_intents.retrieve(path_id(reference)))


def cancel_card_setup(reference: str) -> None:
    """Cancel a set-up with which cards are being tried. Raises ProviderError if it succeeded."""
    with provider_errors():
        client().v1.setup_intents.cancel(reference)


def card_label(payment_method: str) -> str:
    """The name of a saved card, "Visa terminada en 4242", or of a wallet: "Link"."""
    with provider_errors():
        method = client().v1.payment_methods.retrieve(payment_method)
    if method.card is None:
        return WALLETS.get(method.type, "Cartera digital")
    brand = BRANDS.get(method.card.brand, "Tarjeta")
    return f"{brand} terminada en {method.card.last4}"


def _card(setup: stripe.SetupIntent) -> ProviderCard:
    metadata = setup.metadata.to_dict() if setup.metadata else {}
    return ProviderCard(
        reference=setup.id,
        order_id=number_of(metadata.get("order_id")) or 0,
        customer=id_of(setup.customer),
        payment_method=id_of(setup.payment_method),
        saved=setup.status == "succeeded",
        client_secret=setup.client_secret or "",
    )
