"""Stripe, and nothing of it beyond this module: amounts in cents in, our own dataclass out.

Nothing here runs inside a transaction: a call may take seconds, or time out after it has worked.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import stripe
from django.conf import settings

from apps.core.errors import AcademyError, NotFound

# Methods that answer days later. The shop offers those that confirm at once (decisions.md, "Card
# payments"); which of these the owner switches on in Stripe is theirs to say.
DELAYED_METHODS = [
    "acss_debit",
    "au_becs_debit",
    "bacs_debit",
    "boleto",
    "customer_balance",
    "konbini",
    "multibanco",
    "oxxo",
    "sepa_debit",
    "us_bank_account",
]

Status = Literal["open", "processing", "succeeded", "canceled"]


class ProviderError(AcademyError):
    """The provider refused, or is away. What happened there is in the log, not in the sentence."""

    status = 502
    code = "provider_error"
    message = "No se pudo preparar el pago. Inténtalo de nuevo."


class PaymentNotFound(NotFound):
    message = "Orden no encontrada. Verifica el enlace de pago."


@dataclass(frozen=True)
class ProviderPayment:
    """A payment as the provider sees it now. `order_id` is None where it is not of this shop."""

    reference: str
    status: Status
    amount_cents: int
    currency: str
    client_secret: str
    customer: str
    payment_method: str
    order_id: int | None
    revision: int
    livemode: bool
    refusal: str


@dataclass(frozen=True)
class SignedEvent:
    """An event whose signature is right: its name, kind and content as they were sent."""

    event_id: str
    kind: str
    livemode: bool
    payload: dict[str, Any]


class BadSignature(AcademyError):
    code = "bad_signature"
    message = "La firma del evento no es válida."


@cache
def _client() -> stripe.StripeClient:
    base: Any = {"api": settings.STRIPE_API_BASE} if settings.STRIPE_API_BASE else None
    return stripe.StripeClient(
        settings.STRIPE_SECRET_KEY,
        base_addresses=base,
        # A buyer waits for this: one retry, 20 seconds at the most.
        max_network_retries=1,
        http_client=stripe.RequestsClient(timeout=10),
    )


@contextmanager
def _provider_errors() -> Iterator[None]:
    try:
        yield
    except stripe.InvalidRequestError as error:
        if error.code == "resource_missing":
            raise PaymentNotFound from error
        raise ProviderError from error
    except stripe.StripeError as error:
        raise ProviderError from error


def create_customer(*, order_id: int, email: str) -> str:
    """A customer for this order alone, so that nobody meets another's cards; its reference.

    The key has the address in it: the same key with another one, corrected after a lost answer,
    would be refused for a day.
    """
    with _provider_errors():
        customer = _client().v1.customers.create(
            {"email": email, "metadata": {"order_id": str(order_id)}},
            {"idempotency_key": f"order-{order_id}-customer-{_short_digest(email)}"},
        )
    return customer.id


def create_payment(
    *,
    order_id: int,
    revision: int,
    amount_cents: int,
    customer: str,
    email: str,
    keep_card: bool,
) -> ProviderPayment:
    """Open a payment. The same order and revision always give the same one.

    With `keep_card` the method is saved for the instalments to come, and only methods that can be
    charged without the buyer are offered.
    """
    params: Any = {
        "amount": amount_cents,
        "currency": "eur",
        "customer": customer,
        "receipt_email": email,
        "description": f"{settings.BRAND_NAME}: pedido {order_id}",
        "metadata": {"order_id": str(order_id), "revision": str(revision)},
        "automatic_payment_methods": {"enabled": True},
        "excluded_payment_method_types": DELAYED_METHODS,
    }
    if keep_card:
        params["setup_future_usage"] = "off_session"
    with _provider_errors():
        intent = _client().v1.payment_intents.create(
            params, {"idempotency_key": f"order-{order_id}-{revision}"}
        )
    return _payment(intent)


def retrieve_payment(reference: str) -> ProviderPayment:
    """The payment as it is now. Raises PaymentNotFound for a reference that is none."""
    if not reference.startswith("pi_") or not reference.replace("_", "").isalnum():
        raise PaymentNotFound
    with _provider_errors():
        return _payment(_client().v1.payment_intents.retrieve(reference))


def cancel_payment(reference: str) -> ProviderPayment:
    """Cancel a payment, or learn how it stands where it can't be canceled any more."""
    try:
        with _provider_errors():
            return _payment(_client().v1.payment_intents.cancel(reference))
    except ProviderError as refused:
        # Succeeded, processing or canceled already: only its state tells which.
        cause = refused.__cause__
        if isinstance(cause, stripe.InvalidRequestError):
            return retrieve_payment(reference)
        raise


def list_payments(customer: str) -> list[ProviderPayment]:
    """All payments of an order's customer: how an unknown outcome is settled (never by search)."""
    with _provider_errors():
        page = _client().v1.payment_intents.list({"customer": customer, "limit": 100})
        return [_payment(intent) for intent in page.auto_paging_iter()]


def read_event(body: bytes, signature: str) -> SignedEvent:
    """Check an event's signature; raises BadSignature. The content is still only what was sent."""
    try:
        event = stripe.Webhook.construct_event(body, signature, settings.STRIPE_WEBHOOK_SECRET)
    except (ValueError, stripe.SignatureVerificationError) as error:
        raise BadSignature from error
    return SignedEvent(
        event_id=event.id, kind=event.type, livemode=event.livemode, payload=event.to_dict()
    )


STATUS: dict[str, Status] = {
    "succeeded": "succeeded",
    "canceled": "canceled",
    "processing": "processing",
}


def _payment(intent: stripe.PaymentIntent) -> ProviderPayment:
    metadata = intent.metadata.to_dict() if intent.metadata else {}
    order_id = metadata.get("order_id", "")
    revision = metadata.get("revision", "")
    refusal = intent.last_payment_error
    return ProviderPayment(
        reference=intent.id,
        status=STATUS.get(intent.status, "open"),
        amount_cents=intent.amount_received if intent.status == "succeeded" else intent.amount,
        currency=intent.currency,
        client_secret=intent.client_secret or "",
        customer=_id_of(intent.customer),
        payment_method=_id_of(intent.payment_method),
        order_id=int(order_id) if order_id.isdigit() and revision.isdigit() else None,
        revision=int(revision) if revision.isdigit() else 0,
        livemode=intent.livemode,
        refusal=(refusal.message or refusal.code or "") if refusal else "",
    )


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _id_of(reference: Any) -> str:
    """A reference that the API gives as an id, as an expanded object, or not at all."""
    if reference is None:
        return ""
    return reference if isinstance(reference, str) else str(reference.id)
