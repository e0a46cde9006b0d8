"""Payments at Stripe: PaymentIntents, and the Checkout Sessions of the hosted page.

Nothing here runs inside a database transaction.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

import stripe
from django.conf import settings

from apps.orders.models.statuses import PaymentKind
from apps.payments.stripe.charges import kind_of, success_of
from apps.payments.stripe.client import (
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
from apps.payments.stripe.failed_charges import Refusal, last_refusal
from apps.payments.stripe.keys import IdempotencyKeys, once
from apps.payments.stripe.paid_contents import PaidContents, contents_metadata

Status = Literal["open", "processing", "succeeded", "canceled"]
STATUS: dict[str, Status] = {
    "succeeded": "succeeded",
    "canceled": "canceled",
    "processing": "processing",
}


class HasPaymentIds(Protocol):
    """A payment's ids at Stripe: a `ProviderPayment`, a `Payment` row, or `PaymentIds`.

    A payment on the hosted page begins as a Checkout Session. Until it succeeds, `reference` is the
    id of the session, afterwards that of the payment intent. `session` is always the id of the
    session. For payments in the dialog `session` is empty.
    """

    @property
    def reference(self) -> str: ...

    @property
    def session(self) -> str: ...


@dataclass(frozen=True)
class PaymentIds:
    """Ids from a browser or an event, for a payment that may have no row in the shop."""

    reference: str
    session: str = ""

    @classmethod
    def of_session(cls, session: str) -> "PaymentIds":
        return cls(reference=session, session=session)


@dataclass(frozen=True)
class ProviderPayment:
    """A payment as Stripe reports it now. Amounts in cents.

    `order_id` is the number in its metadata, or None if the payment is not this shop's. For
    `reference` and `session` see `HasPaymentIds`.
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
    # When the hosted page expires, in seconds since 1970. 0 for payments in the dialog.
    expires_at: int = 0
    # Stripe's code for a decline: `decline_code` if there is one, else `code`.
    refusal_code: str = ""
    # Stripe's type of the payment method that was refused last, such as "bizum".
    refused_method: str = ""
    # The last refused card that the buyer typed.
    refused: Refusal | None = None
    # The numbers of the instalments that it pays, if any. The attempt belongs to the first.
    instalments: tuple[int, ...] = ()
    attempt: int = 0
    kind: PaymentKind = PaymentKind.CARD
    # The moment of the success. None while it has not succeeded.
    succeeded_at: datetime | None = None

    @property
    def is_hosted(self) -> bool:
        return bool(self.session)


def create_customer(*, order_id: int, email: str) -> str:
    """Create a Stripe customer for this order alone. Returns its id.

    An order never shares its customer, so that nobody sees the cards of another buyer
    (docs/decisions/0005-a-stripe-customer-for-each-order.md). Stripe's library uses a random
    idempotency key for each call. A second customer after a lost answer is harmless, because
    nothing refers to the first.
    """
    params: Any = {"email": email, "metadata": {"order_id": str(order_id)}}
    with provider_errors():
        return client().v1.customers.create(params).id


def create_payment(
    *,
    order_id: int,
    revision: int,
    amount_cents: int,
    customer: str,
    email: str,
    keep_card: bool,
    contents: PaidContents,
    keys: IdempotencyKeys,
    offered: Collection[str] = (),
) -> ProviderPayment:
    """Open a payment. The same idempotency key always returns the same payment.

    With `keep_card` the card is saved for later instalments, and only payment methods are offered
    that can be charged without the buyer. `offered` are of OPTIONAL_METHODS. Raises ProviderError.
    """
    params: Any = {
        "amount": amount_cents,
        "currency": "eur",
        "customer": customer,
        **receipt_of(email),
        "description": f"{settings.BRAND_NAME}: pedido {order_id}",
        "metadata": {
            "order_id": str(order_id),
            "revision": str(revision),
            **contents_metadata(contents),
        },
        "automatic_payment_methods": {"enabled": True},
        "excluded_payment_method_types": excluded_methods(offered, keep_card=keep_card),
    }
    if keep_card:
        params["setup_future_usage"] = "off_session"
    return once(
        keys,
        lambda options: payment_of_intent(client().v1.payment_intents.create(params, options)),
        find_done=lambda: find_opened(customer, revision, amount_cents, hosted=False),
    )


def find_opened(
    customer: str, revision: int, amount_cents: int, *, hosted: bool
) -> ProviderPayment | None:
    """The open payment that a call whose answer was lost has created, if any."""
    expected = (revision, amount_cents, hosted)
    for payment in list_payments(customer):
        same = (payment.revision, payment.amount_cents, payment.is_hosted) == expected
        if same and payment.status != "canceled":
            return payment
    return None


def retrieve_payment(payment: HasPaymentIds) -> ProviderPayment:
    """The current state of a payment. Raises PaymentNotFound if Stripe does not have it.

    A payment intent of the hosted page is fetched together with its session.
    """
    with provider_errors():
        if _is_session(payment):
            return payment_of_session(
                client().v1.checkout.sessions.retrieve(
                    path_id(payment.session), {"expand": ["payment_intent.latest_charge"]}
                )
            )
        intent = client().v1.payment_intents.retrieve(
            path_id(payment.reference), {"expand": ["latest_charge"]}
        )
        if not _is_of_a_session(intent):
            return payment_of_intent(intent)
        sessions = client().v1.checkout.sessions.list(
            {"payment_intent": intent.id, "expand": ["data.payment_intent.latest_charge"]}
        )
        return payment_of_session(sessions.data[0]) if sessions.data else payment_of_intent(intent)


def cancel_payment(payment: HasPaymentIds) -> ProviderPayment:
    """Cancel a payment. Returns its state, which is not `canceled` if it was too late.

    A Checkout Session is expired, which also cancels its payment intent.
    """
    try:
        with provider_errors():
            if _is_session(payment):
                return payment_of_session(
                    client().v1.checkout.sessions.expire(path_id(payment.session))
                )
            return payment_of_intent(client().v1.payment_intents.cancel(path_id(payment.reference)))
    except ProviderError as refused:
        # It has succeeded, is processing or was canceled before: its state shows which.
        cause = refused.__cause__
        if isinstance(cause, stripe.InvalidRequestError):
            return retrieve_payment(payment)
        raise


def _is_session(payment: HasPaymentIds) -> bool:
    """Whether the payment's id is that of its session, because it has not succeeded yet."""
    return bool(payment.session) and payment.reference == payment.session


def list_intents(customer: str) -> list[ProviderPayment]:
    """The payments of an order's customer that belong to no Checkout Session.

    All payments of later instalments are among them.
    """
    with provider_errors():
        intents = client().v1.payment_intents.list(
            {"customer": customer, "limit": 100, "expand": ["data.latest_charge"]}
        )
        return [
            payment_of_intent(intent)
            for intent in intents.auto_paging_iter()
            if not _is_of_a_session(intent)
        ]


def list_payments(customer: str) -> list[ProviderPayment]:
    """All payments of an order's customer. Lost answers are settled with this list.

    Stripe's search is not used, because new objects appear there with a delay.
    """
    payments = list_intents(customer)
    with provider_errors():
        sessions = client().v1.checkout.sessions.list(
            {
                "customer": customer,
                "limit": 100,
                "expand": ["data.payment_intent.latest_charge"],
            }
        )
        return payments + [payment_of_session(session) for session in sessions.auto_paging_iter()]


def highest_order_id(since: datetime) -> int:
    """The highest order number in this shop's payments opened since. 0 without any.

    Raises ProviderError.
    """
    params: Any = {"created": {"gte": int(since.timestamp())}, "limit": 100}
    with provider_errors():
        intents = client().v1.payment_intents.list(params).auto_paging_iter()
        return max(map(_order_id_of, intents), default=0)


def _order_id_of(intent: stripe.PaymentIntent) -> int:
    """The number in the metadata; 0 for another shop's, which has no revision or instalments."""
    metadata = intent.metadata.to_dict() if intent.metadata else {}
    is_ours = number_of(metadata.get("revision")) is not None or "instalments" in metadata
    return (number_of(metadata.get("order_id")) or 0) if is_ours else 0


def payment_of_intent(intent: stripe.PaymentIntent) -> ProviderPayment:
    metadata = intent.metadata.to_dict() if intent.metadata else {}
    order_id = number_of(metadata.get("order_id"))
    revision = number_of(metadata.get("revision"))
    attempt = number_of(metadata.get("attempt"))
    listed = [number_of(part) for part in metadata.get("instalments", "").split(",")]
    numbers = tuple(number for number in listed if number is not None)
    of_a_plan = bool(numbers) and attempt is not None
    refusal = intent.last_payment_error
    # Expanded where the payment is fetched. An answer that only opens a payment has no charge.
    latest = getattr(intent, "latest_charge", None)
    charge = latest if isinstance(latest, stripe.Charge) else None
    return ProviderPayment(
        reference=intent.id,
        status=STATUS.get(intent.status, "open"),
        amount_cents=intent.amount_received if intent.status == "succeeded" else intent.amount,
        currency=intent.currency,
        client_secret=intent.client_secret or "",
        customer=id_of(intent.customer),
        payment_method=id_of(intent.payment_method),
        order_id=order_id if revision is not None or of_a_plan else None,
        revision=revision or 0,
        livemode=intent.livemode,
        refusal=(refusal.message or refusal.code or "") if refusal else "",
        # An automatic charge that needs authentication fails. Stripe may report no error for it.
        refusal_code="authentication_required"
        if intent.status == "requires_action" and metadata.get("automatic")
        else refusal_code(refusal),
        refused_method=getattr(getattr(refusal, "payment_method", None), "type", None) or "",
        refused=last_refusal(intent),
        instalments=numbers if of_a_plan else (),
        attempt=attempt or 0 if of_a_plan else 0,
        kind=kind_of(charge) if charge else PaymentKind.CARD,
        succeeded_at=success_of(charge) if charge else None,
    )


def _is_of_a_session(intent: stripe.PaymentIntent) -> bool:
    return bool(intent.metadata) and intent.metadata.to_dict().get("checkout") == "hosted"


def payment_of_session(session: stripe.checkout.Session) -> ProviderPayment:
    """A Checkout Session, with its payment intent expanded where it has one."""
    intent = session.payment_intent
    known = payment_of_intent(intent) if isinstance(intent, stripe.PaymentIntent) else None
    metadata = session.metadata.to_dict() if session.metadata else {}
    revision = number_of(metadata.get("revision"))
    status = _session_status(session, known)
    return ProviderPayment(
        reference=known.reference if known and status == "succeeded" else session.id,
        status=status,
        amount_cents=known.amount_cents if known else session.amount_total or 0,
        currency=known.currency if known else session.currency or "",
        client_secret="",
        customer=id_of(session.customer),
        payment_method=known.payment_method if known else "",
        order_id=number_of(metadata.get("order_id")) if revision is not None else None,
        revision=revision or 0,
        livemode=session.livemode,
        refusal=known.refusal if known else "",
        refused=known.refused if known else None,
        session=session.id,
        url=session.url or "",
        expires_at=session.expires_at or 0,
        kind=known.kind if known else PaymentKind.CARD,
        succeeded_at=known.succeeded_at if known else None,
    )


def _session_status(session: stripe.checkout.Session, intent: ProviderPayment | None) -> Status:
    # The intent decides: it may succeed a moment before its session is complete.
    if intent is not None and intent.status in ("succeeded", "processing"):
        return intent.status
    if session.status == "open":
        return "open"
    if session.payment_status == "paid":
        return "succeeded"
    # The session has expired, or its payment failed after completion. It takes no other card.
    return "canceled"
