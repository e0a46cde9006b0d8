"""Refunds of transfers, which staff make at their bank (docs/rules.md, "Orders made by staff")."""

from apps.orders.models import Refund
from apps.orders.refunds.record import ReportedRefund, record_refunds


def record_by_hand(refund: Refund) -> None:
    """Record a confirmed refund of a transfer as made. Safe to repeat."""
    report = ReportedRefund(
        reference=f"a_mano_{refund.key_id.hex}",
        amount_cents=refund.amount_cents,
        status=Refund.Status.SUCCEEDED,
        key_id=refund.key_id,
    )
    record_refunds(payment_id=refund.payment_id, reports=[report], provider=refund.actor)
