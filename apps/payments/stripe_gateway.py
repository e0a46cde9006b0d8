"""Stripe, and nothing of it beyond this module: amounts in cents in, our own dataclass out.

Nothing here runs inside a transaction: a call may take seconds, or time out after it has worked.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar

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


class RememberedFailure(ProviderError):
    """The provider has kept an internal error for this idempotency key, and keeps it for a day.

    `request` is the one that failed. Its work may have been done: look before asking anew.
    """

    def __init__(self, request: str) -> None:
        super().__init__()
        self.request = request


class PaymentNotFound(NotFound):
    message = "Orden no encontrada. Verifica el enlace de pago."


@dataclass(frozen=True)
class ProviderPayment:
    """A payment as the provider sees it now. `order_id` is None where it is not of this shop.

    On the hosted page it is a Checkout Session first: that is its `reference` (`cs_…`) until it has
    succeeded, from then on the payment intent (`pi_…`). `session` stays.
    """

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
    session: str = ""
    url: str = ""
    # Until when the hosted page takes a payment, in seconds since 1970; 0 without such a page.
    expires_at: int = 0
    # The provider's own word for the refusal: `decline_code` where there is one.
    refusal_code: str = ""
    # Of a plan: which instalments it pays, and as which attempt of the first of them.
    instalments: tuple[int, ...] = ()
    attempt: int = 0

    @property
    def is_hosted(self) -> bool:
        return bool(self.session)


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
        # A buyer waits for this: one retry, twice the time-out at the most.
        max_network_retries=1,
        http_client=stripe.RequestsClient(timeout=settings.STRIPE_TIMEOUT),
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
        headers = error.headers or {}
        if headers.get("Idempotent-Replayed") == "true" and (error.http_status or 0) >= 500:
            raise RememberedFailure(headers.get("Original-Request", "")) from error
        raise ProviderError from error


T = TypeVar("T")
# Each click during an outage may leave one more kept error behind, and each costs one quick call.
KEYS_TO_TRY = 20


def _once(key: str, call: Callable[[str], T], done: Callable[[], T | None]) -> T:
    """Call under an idempotency key, so that the work is done once however often it is asked for.

    Where Stripe answers the key with an error of its own that it has kept, `done` looks whether
    the work was done all the same; if not, it goes on under a key that every copy of this process
    makes alike.
    """
    last = key
    for _ in range(KEYS_TO_TRY):
        try:
            with _provider_errors():
                return call(last)
        except RememberedFailure as failure:
            if (found := done()) is not None:
                return found
            last = f"{key}-{failure.request}"
    raise ProviderError


def create_customer(*, order_id: int, email: str, instead_of: str = "") -> str:
    """A customer for this order alone, so that nobody meets another's cards; its reference.

    The key has the address in it: the same key with another one, corrected after a lost answer,
    would be refused for a day. And the deleted customer whom this one is made `instead_of`, who
    would be the answer for as long.
    """
    params: Any = {"email": email, "metadata": {"order_id": str(order_id)}}
    return _once(
        f"order-{order_id}-customer-{_short_digest(email + instead_of)}",
        lambda key: _client().v1.customers.create(params, {"idempotency_key": key}).id,
        # A customer whom nobody knows of does no harm.
        done=lambda: None,
    )


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
    return _once(
        f"order-{order_id}-{revision}",
        lambda key: _payment(_client().v1.payment_intents.create(params, {"idempotency_key": key})),
        done=lambda: _opened(customer, revision, hosted=False),
    )


def _opened(customer: str, revision: int, *, hosted: bool) -> ProviderPayment | None:
    """The payment that a call without an answer has opened after all, if it did."""
    for payment in list_payments(customer):
        same = (payment.revision, payment.is_hosted) == (revision, hosted)
        if same and payment.status != "canceled":
            return payment
    return None


def is_reference(text: str, *prefixes: str) -> bool:
    """Whether a text may be one of Stripe's references: nothing else is put into an address."""
    return text.startswith(prefixes) and text.isascii() and text.replace("_", "").isalnum()


def retrieve_payment(reference: str) -> ProviderPayment:
    """The payment as it is now. Raises PaymentNotFound for a reference that is none.

    Takes an intent or a Checkout Session; an intent of the hosted page comes with its session.
    """
    if not is_reference(reference, "pi_", "cs_"):
        raise PaymentNotFound
    with _provider_errors():
        if reference.startswith("cs_"):
            return _session_payment(
                _client().v1.checkout.sessions.retrieve(reference, {"expand": ["payment_intent"]})
            )
        intent = _client().v1.payment_intents.retrieve(reference)
        if not _is_of_a_session(intent):
            return _payment(intent)
        sessions = _client().v1.checkout.sessions.list(
            {"payment_intent": reference, "expand": ["data.payment_intent"]}
        )
        return _session_payment(sessions.data[0]) if sessions.data else _payment(intent)


def cancel_payment(reference: str) -> ProviderPayment:
    """Cancel a payment, or learn how it stands where it can't be canceled any more.

    A Checkout Session expires; the intent behind it is canceled with it.
    """
    try:
        with _provider_errors():
            if reference.startswith("cs_"):
                return _session_payment(_client().v1.checkout.sessions.expire(reference))
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
        intents = _client().v1.payment_intents.list({"customer": customer, "limit": 100})
        payments = [
            _payment(intent)
            for intent in intents.auto_paging_iter()
            if not _is_of_a_session(intent)
        ]
        sessions = _client().v1.checkout.sessions.list(
            {"customer": customer, "limit": 100, "expand": ["data.payment_intent"]}
        )
        return payments + [_session_payment(session) for session in sessions.auto_paging_iter()]


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
    order_id = _number(metadata.get("order_id"))
    revision = _number(metadata.get("revision"))
    attempt = _number(metadata.get("attempt"))
    listed = [_number(part) for part in metadata.get("instalments", "").split(",")]
    numbers = tuple(number for number in listed if number is not None)
    of_a_plan = bool(numbers) and attempt is not None
    refusal = intent.last_payment_error
    return ProviderPayment(
        reference=intent.id,
        status=STATUS.get(intent.status, "open"),
        amount_cents=intent.amount_received if intent.status == "succeeded" else intent.amount,
        currency=intent.currency,
        client_secret=intent.client_secret or "",
        customer=_id_of(intent.customer),
        payment_method=_id_of(intent.payment_method),
        order_id=order_id if revision is not None or of_a_plan else None,
        revision=revision or 0,
        livemode=intent.livemode,
        refusal=(refusal.message or refusal.code or "") if refusal else "",
        # A charge without the student ends there; no error need have told so.
        refusal_code="authentication_required"
        if intent.status == "requires_action" and metadata.get("automatic")
        else _refusal_code(refusal),
        instalments=numbers if of_a_plan else (),
        attempt=attempt or 0 if of_a_plan else 0,
    )


def _is_of_a_session(intent: stripe.PaymentIntent) -> bool:
    return bool(intent.metadata) and intent.metadata.to_dict().get("checkout") == "hosted"


def _session_payment(session: stripe.checkout.Session) -> ProviderPayment:
    """A Checkout Session, with its payment intent expanded where it has one."""
    intent = session.payment_intent
    known = _payment(intent) if isinstance(intent, stripe.PaymentIntent) else None
    metadata = session.metadata.to_dict() if session.metadata else {}
    revision = _number(metadata.get("revision"))
    status = _session_status(session, known)
    return ProviderPayment(
        reference=known.reference if known and status == "succeeded" else session.id,
        status=status,
        amount_cents=known.amount_cents if known else session.amount_total or 0,
        currency=known.currency if known else session.currency or "",
        client_secret="",
        customer=_id_of(session.customer),
        payment_method=known.payment_method if known else "",
        order_id=_number(metadata.get("order_id")) if revision is not None else None,
        revision=revision or 0,
        livemode=session.livemode,
        refusal=known.refusal if known else "",
        session=session.id,
        url=session.url or "",
        expires_at=session.expires_at or 0,
    )


def _session_status(session: stripe.checkout.Session, intent: ProviderPayment | None) -> Status:
    # The money's word counts first: an intent may succeed a moment before its session completes.
    if intent is not None and intent.status in ("succeeded", "processing"):
        return intent.status
    if session.status == "open":
        return "open"
    if session.payment_status == "paid":
        return "succeeded"
    # Expired, or completed with a payment that failed later: its page takes no other card.
    return "canceled"


def _refusal_code(refusal: Any) -> str:
    """The bank's own word where there is one; an error has only the fields that apply to it."""
    return (
        getattr(refusal, "decline_code", None)
        or getattr(refusal, "code", None)
        or ("card_declined" if refusal else "")
    )


def _number(text: str | None) -> int | None:
    """A number as we write it into metadata; other shops on the account may write anything."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 18 else None


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _id_of(reference: Any) -> str:
    """A reference that the API gives as an id, as an expanded object, or not at all."""
    if reference is None:
        return ""
    return reference if isinstance(reference, str) else str(reference.id)
