"""Disputes: a cardholder takes the money back through their bank, and what comes of it."""

from typing import Any

from ..errors import ApiError, invalid_params
from ..objects import Context, list_page, merged_metadata, new_id
from . import events

REASONS = {
    # Reason: the network's code for it (Visa).
    "fraudulent": "10.4",
    "product_not_received": "13.1",
    "duplicate": "12.6.1",
    "credit_not_processed": "13.6",
    "general": "13",
    "subscription_canceled": "13.2",
}
DAYS_TO_RESPOND = 9
OPEN = ("needs_response", "under_review")
# Stripe's words for evidence that decides a dispute in test mode (docs.stripe.com/disputes/api).
DECISIVE = {"winning_evidence": "won", "losing_evidence": "lost"}


def open_on(
    ctx: Context, charge: dict[str, Any], *, amount: int | None = None, reason: str = "fraudulent"
) -> dict[str, Any]:
    """A dispute about a paid charge, of all that is left of it unless told otherwise.

    The bank takes the amount at once. Raises ApiError 400 where the charge has a dispute already,
    or not that much left.
    """
    if charge["disputed"]:
        raise ApiError(f"Charge {charge['id']} is disputed already.", param="charge")
    if reason not in REASONS:
        raise invalid_params(f"Invalid reason: must be one of {', '.join(REASONS)}", "reason")
    left = charge["amount"] - charge["amount_refunded"]
    disputed = left if amount is None else amount
    if not 1 <= disputed <= left:
        raise invalid_params(f"`amount` is between 1 and {left}.", "amount")
    dispute = {
        "id": new_id("du"),
        "object": "dispute",
        "amount": disputed,
        "balance_transactions": [],
        "charge": charge["id"],
        "created": ctx.now,
        "currency": charge["currency"],
        "enhanced_eligibility_types": [],
        "evidence": {},
        "evidence_details": {
            "due_by": ctx.now + DAYS_TO_RESPOND * 24 * 3600,
            "enhanced_eligibility": {},
            "has_evidence": False,
            "past_due": False,
            "submission_count": 0,
        },
        "is_charge_refundable": False,
        "livemode": False,
        "metadata": {},
        "network_reason_code": REASONS[reason],
        "payment_intent": charge["payment_intent"],
        "payment_method_details": {
            "card": {
                "brand": charge["payment_method_details"]["card"]["brand"],
                "case_type": "chargeback",
                "network_reason_code": REASONS[reason],
            },
            "type": "card",
        },
        "reason": reason,
        "status": "needs_response",
    }
    ctx.tx.insert(dispute)
    charge["disputed"] = True
    ctx.tx.save(charge)
    events.record(ctx, "charge.dispute.created", dispute)
    events.record(ctx, "charge.dispute.funds_withdrawn", dispute)
    return dispute


def decide(ctx: Context, id: str, status: str) -> dict[str, Any]:
    """The bank's word: "won" gives the money back to the shop, "lost" leaves it with the holder."""
    dispute = _undecided(ctx, id)
    if status not in ("won", "lost"):
        raise invalid_params("Invalid status: must be one of won, or lost", "status")
    dispute["status"] = status
    ctx.tx.save(dispute)
    if status == "won":
        events.record(ctx, "charge.dispute.funds_reinstated", dispute)
    events.record(ctx, "charge.dispute.closed", dispute)
    return dispute


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return ctx.require("dispute", id)


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    where = [
        (f"$.{name} =", params[name]) for name in ("charge", "payment_intent") if name in params
    ]
    return list_page(ctx, "dispute", "/v1/disputes", params, where)


def update(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    """Evidence and metadata. Submitted evidence is looked into; Stripe's test words decide."""
    dispute = ctx.require("dispute", id)
    if "evidence" in params:
        _undecided(ctx, id)
        dispute["evidence"] |= params["evidence"]
        dispute["evidence_details"]["has_evidence"] = bool(dispute["evidence"])
    dispute["metadata"] = merged_metadata(dispute["metadata"], params.get("metadata"))
    submits = "evidence" in params and params.get("submit", True)
    if submits:
        dispute["status"] = "under_review"
        dispute["evidence_details"]["submission_count"] += 1
    ctx.tx.save(dispute)
    events.record(ctx, "charge.dispute.updated", dispute)
    verdict = DECISIVE.get(dispute["evidence"].get("uncategorized_text", ""))
    return decide(ctx, id, verdict) if submits and verdict else dispute


def close(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    """Give the dispute up, which loses it."""
    return decide(ctx, id, "lost")


def blocks_refund(ctx: Context, charge: dict[str, Any]) -> bool:
    found = ctx.tx.find("dispute", where=[("$.charge =", charge["id"])])
    return any(dispute["status"] != "won" for dispute in found)


def _undecided(ctx: Context, id: str) -> dict[str, Any]:
    dispute = ctx.require("dispute", id)
    if dispute["status"] not in OPEN:
        raise ApiError("This dispute is already closed")
    return dispute
