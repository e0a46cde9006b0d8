"""Stripe's side of money that goes back: refunds, disputes, and the charges to compare with.

A part of `stripe_gateway`, under the same rules: nothing here runs inside a transaction.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import stripe

from apps.core.errors import AcademyError
from apps.core.money import to_cents
from apps.orders.disputes import KnownDispute
from apps.orders.models import Dispute, Refund
from apps.orders.refunds import KnownRefund
from apps.payments.stripe_gateway import PaymentNotFound, ProviderError
from apps.payments.stripe_gateway import _client as client
from apps.payments.stripe_gateway import _id_of as id_of
from apps.payments.stripe_gateway import _once as once
from apps.payments.stripe_gateway import _provider_errors as provider_errors

REFUND_STATUS = {
    "pending": Refund.Status.PENDING,
    # The buyer still has to say where to; of the methods that the shop offers none asks that.
    "requires_action": Refund.Status.PENDING,
    "succeeded": Refund.Status.SUCCEEDED,
    "failed": Refund.Status.FAILED,
    "canceled": Refund.Status.FAILED,
}
# https://docs.stripe.com/api/disputes/object#dispute_object-status. What is not here is open.
DISPUTE_STATUS = {
    "won": Dispute.Status.WON,
    "warning_closed": Dispute.Status.WON,
    "prevented": Dispute.Status.WON,
    "lost": Dispute.Status.LOST,
}
# https://docs.stripe.com/error-codes
REFUSALS = {
    "charge_disputed": "El pago está en disputa: decide el banco, y no se puede devolver.",
    "charge_already_refunded": "Este pago ya se había devuelto entero.",
    "balance_insufficient": "No hay saldo suficiente en Stripe para esta devolución.",
    "insufficient_funds": "No hay saldo suficiente en Stripe para esta devolución.",
}
FAILURES = {
    "lost_or_stolen_card": "tarjeta perdida o robada",
    "expired_or_canceled_card": "tarjeta caducada o anulada",
    "declined": "el banco la rechaza",
    "insufficient_funds": "sin saldo en Stripe",
    "merchant_request": "anulada a petición de la academia",
}


class RefundRefusedThere(AcademyError):
    """The provider has said no for good; the message is for the clerk."""

    code = "refund_refused"


@dataclass(frozen=True)
class ProviderCharge:
    """A charge that succeeded, as the provider has it now; amounts in cents."""

    reference: str
    amount_cents: int
    refunded_cents: int
    currency: str
    disputed: bool
    created_at: datetime


def create_refund(refund: Refund, *, payment: str, order_id: int) -> KnownRefund:
    """Give money back. The same refund asked for again is the same one at the provider.

    Raises RefundRefusedThere where it will not be done, PaymentNotFound where there is no such
    payment, ProviderError where the outcome is not known.
    """
    params: Any = {
        "payment_intent": payment,
        "amount": to_cents(refund.amount),
        "metadata": {"order_id": str(order_id), "refund": str(refund.pk)},
    }

    def made() -> KnownRefund | None:
        there = refunds_of(payment)
        return next((one for one in there if one.refund_id == refund.pk), None)

    try:
        return once(
            refund.idempotency_key,
            lambda key: _refund(client().v1.refunds.create(params, {"idempotency_key": key})),
            done=made,
        )
    except ProviderError as refused:
        cause = refused.__cause__
        if isinstance(cause, stripe.InvalidRequestError):
            raise RefundRefusedThere(_in_spanish(cause)) from refused
        raise


def _in_spanish(refusal: stripe.InvalidRequestError) -> str:
    if refusal.param == "amount":
        return "Es más de lo que queda por devolver de este pago en Stripe."
    known = REFUSALS.get(refusal.code or "")
    return known or f"Stripe no la admite: {refusal.user_message or refusal.code}"


def refunds_of(payment: str) -> list[KnownRefund]:
    """All refunds of a payment, whoever made them, oldest first. Raises PaymentNotFound."""
    if not payment.startswith("pi_"):
        raise PaymentNotFound
    with provider_errors():
        page = client().v1.refunds.list({"payment_intent": payment, "limit": 100})
        return [_refund(refund) for refund in page.auto_paging_iter()][::-1]


def refunds_since(moment: datetime) -> list[tuple[str, KnownRefund]]:
    """All refunds made since, with the payments that they are of."""
    with provider_errors():
        page = client().v1.refunds.list({"created": {"gte": int(moment.timestamp())}, "limit": 100})
        return [
            (id_of(refund.payment_intent), _refund(refund)) for refund in page.auto_paging_iter()
        ]


def retrieve_dispute(reference: str) -> tuple[str, KnownDispute]:
    """The payment and its dispute as it is now. Raises PaymentNotFound for a name that is none."""
    if not reference.startswith(("du_", "dp_")) or not reference.replace("_", "").isalnum():
        raise PaymentNotFound
    with provider_errors():
        return _dispute(client().v1.disputes.retrieve(reference))


def disputes_since(moment: datetime) -> list[tuple[str, KnownDispute]]:
    """All disputes opened since, with the payments that they are about."""
    with provider_errors():
        page = client().v1.disputes.list(
            {"created": {"gte": int(moment.timestamp())}, "limit": 100}
        )
        return [_dispute(dispute) for dispute in page.auto_paging_iter()]


def payment_of(reference: str) -> str:
    """The payment that a refund or charge belongs to. Raises PaymentNotFound where it has none."""
    if not reference.replace("_", "").isalnum():
        raise PaymentNotFound
    with provider_errors():
        if reference.startswith(("re_", "pyr_")):
            found = id_of(client().v1.refunds.retrieve(reference).payment_intent)
        else:
            found = id_of(client().v1.charges.retrieve(reference).payment_intent)
    if not found:
        raise PaymentNotFound
    return found


def charges_of(customer: str) -> list[ProviderCharge]:
    """The charges of an order's customer that succeeded. Raises what the provider raises."""
    with provider_errors():
        page = client().v1.charges.list({"customer": customer, "limit": 100})
        return [
            ProviderCharge(
                reference=id_of(charge.payment_intent) or charge.id,
                amount_cents=charge.amount_captured,
                refunded_cents=charge.amount_refunded,
                currency=charge.currency,
                disputed=charge.disputed,
                created_at=datetime.fromtimestamp(charge.created, UTC),
            )
            for charge in page.auto_paging_iter()
            if charge.paid
        ]


def _refund(refund: stripe.Refund) -> KnownRefund:
    metadata = refund.metadata.to_dict() if refund.metadata else {}
    number = metadata.get("refund", "")
    failure = getattr(refund, "failure_reason", None) or ""
    return KnownRefund(
        reference=refund.id,
        amount_cents=refund.amount,
        status=REFUND_STATUS.get(refund.status or "", Refund.Status.PENDING),
        refund_id=int(number) if number.isdigit() else None,
        problem=FAILURES.get(failure, failure),
    )


def _dispute(dispute: stripe.Dispute) -> tuple[str, KnownDispute]:
    payment = id_of(dispute.payment_intent)
    return payment, KnownDispute(
        reference=dispute.id,
        amount_cents=dispute.amount,
        status=DISPUTE_STATUS.get(dispute.status, Dispute.Status.OPEN),
        reason=dispute.reason,
        opened_at=datetime.fromtimestamp(dispute.created, UTC),
    )
