"""Disputes: a cardholder reclaims a charge through the bank."""

from typing import Any

from ..context import Context
from ..errors import ApiError, invalid_params
from ..lists import list_page
from . import balance, events

REASONS = {
    # By reason: the network's reason code (Visa).
    "fraudulent": "10.4",
    "product_not_received": "13.1",
    "duplicate": "12.6.1",
    "credit_not_processed": "13.6",
    "general": "13",
    "subscription_canceled": "13.2",
}
DAYS_TO_RESPOND = 9


def open_dispute(
    ctx: Context, charge: dict[str, Any], *, amount: int | None = None, reason: str = "fraudulent"
) -> dict[str, Any]:
    """Open a dispute about a paid charge, by default over the amount that is not refunded.

    The funds are withdrawn at once. Raises ApiError 400 if the charge is disputed already, or if
    less than `amount` is left.
    """
    if charge["disputed"]:
        raise ApiError(f"Charge {charge['id']} is disputed already.", param="charge")
    if reason not in REASONS:
        raise invalid_params(f"Invalid reason: must be one of {', '.join(REASONS)}", "reason")
    left = charge["amount"] - charge["amount_refunded"]
    disputed = left if amount is None else amount
    if not 1 <= disputed <= left:
        raise invalid_params(f"`amount` is between 1 and {left}.", "amount")
    dispute = new(ctx, ctx.new_id("du_"), charge, disputed, reason)
    dispute["balance_transactions"].append(balance.of_dispute(ctx, dispute))
    ctx.tx.insert(dispute)
    charge["disputed"] = True
    ctx.tx.save(charge)
    events.record(ctx, "charge.dispute.created", dispute)
    events.record(ctx, "charge.dispute.funds_withdrawn", dispute)
    return dispute


def new(
    ctx: Context, id: str, charge: dict[str, Any], amount: int, reason: str = "fraudulent"
) -> dict[str, Any]:
    """An open dispute of a part of the charge. It is not stored."""
    return {
        "id": id,
        "object": "dispute",
        "amount": amount,
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
        "payment_method_details": _details(charge["payment_method_details"], REASONS[reason]),
        "reason": reason,
        "status": "needs_response",
    }


def _details(paid_with: dict[str, Any], reason_code: str) -> dict[str, Any]:
    kind = paid_with["type"]
    if kind == "card":
        brand = paid_with["card"]["brand"]
        of_card = {"brand": brand, "case_type": "chargeback", "network_reason_code": reason_code}
        return {"card": of_card, "type": "card"}
    if kind == "paypal":
        return {"paypal": {"case_id": None, "reason_code": None}, "type": "paypal"}
    return {"type": kind}


def decide(ctx: Context, id: str, status: str) -> dict[str, Any]:
    """Decide an open dispute. "won" reinstates the merchant's funds; "lost" does not."""
    dispute = _require_open(ctx, id)
    if status not in ("won", "lost"):
        raise invalid_params("Invalid status: must be one of won, or lost", "status")
    dispute["status"] = status
    if status == "won":
        dispute["balance_transactions"].append(balance.of_won_dispute(ctx, dispute))
    ctx.tx.save(dispute)
    if status == "won":
        events.record(ctx, "charge.dispute.funds_reinstated", dispute)
    events.record(ctx, "charge.dispute.closed", dispute)
    return dispute


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return ctx.require("dispute", id)


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    return list_page(ctx, "dispute", "/v1/disputes", params, by=("payment_intent",))


def blocks_refund(ctx: Context, charge: dict[str, Any]) -> bool:
    disputes = ctx.tx.find("dispute", where=[("$.charge =", charge["id"])])
    return any(dispute["status"] != "won" for dispute in disputes)


def _require_open(ctx: Context, id: str) -> dict[str, Any]:
    dispute = ctx.require("dispute", id)
    if dispute["status"] != "needs_response":
        raise ApiError("This dispute is already closed")
    return dispute
