"""Refunds and disputes at Stripe.

Nothing here runs inside a database transaction.
"""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import stripe

from apps.core.errors import AcademyError
from apps.core.money import to_cents
from apps.orders.models import Dispute, Refund
from apps.orders.refunds.disputes import ReportedDispute
from apps.orders.refunds.record import ReportedRefund
from apps.payments.stripe.client import (
    PaymentNotFound,
    ProviderError,
    client,
    id_of,
    path_id,
    provider_errors,
)
from apps.payments.stripe.keys import StoredKeys, once

REFUND_STATUS = {
    "pending": Refund.Status.PENDING,
    # The buyer has to name an account first. The payment methods of the shop never need that.
    "requires_action": Refund.Status.PENDING,
    "succeeded": Refund.Status.SUCCEEDED,
    "failed": Refund.Status.FAILED,
    "canceled": Refund.Status.FAILED,
}
# https://docs.stripe.com/api/disputes/object#dispute_object-status. All other states are open.
DISPUTE_STATUS = {
    "won": Dispute.Status.WON,
    "warning_closed": Dispute.Status.WON,
    "prevented": Dispute.Status.WON,
    "lost": Dispute.Status.LOST,
}
# An inquiry moves no money; nor does a dispute that was prevented.
MOVES_NO_MONEY = ("warning_", "prevented")
# https://docs.stripe.com/api/disputes/object#dispute_object-reason
DISPUTE_REASONS = {
    "bank_cannot_process": "el banco no puede procesarlo",
    "check_returned": "cheque devuelto",
    "credit_not_processed": "no ha recibido una devolución prometida",
    "customer_initiated": "a petición del cliente",
    "debit_not_authorized": "cargo no autorizado",
    "duplicate": "cobro duplicado",
    "fraudulent": "fraude: no reconoce haber pagado",
    "general": "sin motivo concreto",
    "incorrect_account_details": "datos de la cuenta incorrectos",
    "insufficient_funds": "sin saldo suficiente",
    "product_not_received": "no ha recibido lo comprado",
    "product_unacceptable": "lo comprado no es lo prometido",
    "subscription_canceled": "suscripción cancelada",
    "unrecognized": "no reconoce el cargo",
}
# https://docs.stripe.com/error-codes
REJECTIONS = {
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


class RefundRejected(AcademyError):
    """Stripe rejects the refund for good. The message is for the clerk, in Spanish."""

    code = "refund_refused"


def create_refund(refund: Refund, *, payment: str, order_id: int) -> ReportedRefund:
    """Refund a payment. Calling it again for the same refund moves no further money.

    Raises RefundRejected if Stripe rejects it for good, PaymentNotFound if Stripe has no such
    payment, and ProviderError if the outcome is unknown.
    """
    params: Any = {
        "payment_intent": payment,
        "amount": to_cents(refund.amount),
        "metadata": {"order_id": str(order_id), "refund": str(refund.key_id)},
    }

    def find() -> ReportedRefund | None:
        reports = refunds_of(payment)
        return next((report for report in reports if report.key_id == refund.key_id), None)

    try:
        return once(
            StoredKeys(refund, refund.idempotency_key),
            lambda options: _refund(client().v1.refunds.create(params, options)),
            find_done=find,
        )
    except ProviderError as error:
        cause = error.__cause__
        if isinstance(cause, stripe.InvalidRequestError):
            raise RefundRejected(_in_spanish(cause)) from error
        raise


def _in_spanish(rejection: stripe.InvalidRequestError) -> str:
    if rejection.param == "amount":
        return "Es más de lo que queda por devolver de este pago en Stripe."
    sentence = REJECTIONS.get(rejection.code or "")
    return sentence or f"Stripe no la admite: {rejection.user_message or rejection.code}"


def refunds_of(payment: str) -> list[ReportedRefund]:
    """All refunds of a payment, also those of the dashboard, oldest first.

    Raises PaymentNotFound and ProviderError.
    """
    with provider_errors():
        page = client().v1.refunds.list({"payment_intent": payment, "limit": 100})
        return [_refund(refund) for refund in page.auto_paging_iter()][::-1]


def refunds_since(moment: datetime) -> list[tuple[str, ReportedRefund]]:
    """All refunds made since that moment, each with the reference of its payment."""
    with provider_errors():
        page = client().v1.refunds.list({"created": {"gte": int(moment.timestamp())}, "limit": 100})
        return [
            (id_of(refund.payment_intent), _refund(refund)) for refund in page.auto_paging_iter()
        ]


def retrieve_dispute(reference: str) -> tuple[str, ReportedDispute]:
    """The current state of a dispute, with the reference of its payment.

    Raises PaymentNotFound if Stripe has no dispute with this id.
    """
    with provider_errors():
        return _dispute(client().v1.disputes.retrieve(path_id(reference)))


def disputes_since(moment: datetime) -> list[tuple[str, ReportedDispute]]:
    """All disputes opened since that moment, each with the reference of its payment."""
    with provider_errors():
        page = client().v1.disputes.list(
            {"created": {"gte": int(moment.timestamp())}, "limit": 100}
        )
        return [_dispute(dispute) for dispute in page.auto_paging_iter()]


def payment_of_refund(reference: str) -> str:
    """The payment that a refund belongs to. Raises PaymentNotFound if it has none."""
    with provider_errors():
        payment = id_of(client().v1.refunds.retrieve(path_id(reference)).payment_intent)
    if not payment:
        raise PaymentNotFound
    return payment


def _refund(refund: stripe.Refund) -> ReportedRefund:
    metadata = refund.metadata.to_dict() if refund.metadata else {}
    failure = getattr(refund, "failure_reason", None) or ""
    return ReportedRefund(
        reference=refund.id,
        amount_cents=refund.amount,
        status=REFUND_STATUS.get(refund.status or "", Refund.Status.PENDING),
        key_id=_uuid(metadata.get("refund", "")),
        reason="Hecha en el panel de Stripe",
        problem=FAILURES.get(failure, failure),
    )


def _uuid(text: str) -> UUID | None:
    """The UUID that this shop writes into a refund's metadata. None for any other text."""
    try:
        return UUID(text)
    except ValueError:
        return None


def _dispute(dispute: stripe.Dispute) -> tuple[str, ReportedDispute]:
    payment = id_of(dispute.payment_intent)
    # Events of old versions of the API lack the details, and lost disputes the day.
    due_by = getattr(getattr(dispute, "evidence_details", None), "due_by", None)
    return payment, ReportedDispute(
        reference=dispute.id,
        amount_cents=dispute.amount,
        status=DISPUTE_STATUS.get(dispute.status, Dispute.Status.OPEN),
        reason=DISPUTE_REASONS.get(dispute.reason, dispute.reason),
        opened_at=datetime.fromtimestamp(dispute.created, UTC),
        respond_by=datetime.fromtimestamp(due_by, UTC) if due_by else None,
        takes_money=not dispute.status.startswith(MOVES_NO_MONEY),
    )
