"""Full and partial refunds. They succeed at once, except for some test cards."""

from typing import Any

from ..cards import Card
from ..context import Context
from ..errors import ApiError, invalid_params
from ..fields import merged_metadata, nullable
from ..lists import list_page
from . import balance, disputes, events, payment_methods, settlement
from .payment_intents import money


def create(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    charge = charge_to_refund(ctx, params)
    if disputes.blocks_refund(ctx, charge):
        raise ApiError(
            f"Charge {charge['id']} has been charged back; cannot issue a refund.",
            code="charge_disputed",
        )
    left = charge["amount"] - charge["amount_refunded"]
    amount = params.get("amount", left)
    if amount < 1 and "amount" in params:
        raise invalid_params(
            "This value must be greater than or equal to 1.", "amount", "parameter_invalid_integer"
        )
    if left == 0:
        raise ApiError(
            f"Charge {charge['id']} has already been refunded.", code="charge_already_refunded"
        )
    if amount > left:
        currency = charge["currency"]
        limit = "charge amount" if left == charge["amount"] else "unrefunded amount on charge"
        raise ApiError(
            f"Refund amount ({money(amount, currency)}) is greater than {limit} "
            f"({money(left, currency)})",
            param="amount",
        )
    card = _card_of(ctx, charge)
    refund = new(ctx, ctx.new_id("re_"), charge, amount) | {
        "metadata": merged_metadata({}, params.get("metadata")),
        "reason": params.get("reason"),
        "status": "pending" if card.slow_refund else "succeeded",
    }
    refund["balance_transaction"] = balance.of_refund(ctx, refund)
    ctx.tx.insert(refund)
    if card.slow_refund:
        settlement.schedule(ctx, refund["id"])
    previous = {name: charge[name] for name in ("amount_refunded", "refunded")}
    charge["amount_refunded"] += amount
    charge["refunded"] = charge["amount_refunded"] == charge["amount"]
    ctx.tx.save(charge)
    events.record(ctx, "refund.created", refund)
    events.record(ctx, "charge.refunded", charge, previous)
    return refund


def new(ctx: Context, id: str, charge: dict[str, Any], amount: int) -> dict[str, Any]:
    """A succeeded refund of a part of the charge. It is not stored."""
    return {
        **nullable("refund"),
        "id": id,
        "object": "refund",
        "amount": amount,
        "charge": charge["id"],
        "created": ctx.now,
        "currency": charge["currency"],
        "destination_details": _destination(charge["payment_method_details"]["type"]),
        "metadata": {},
        "payment_intent": charge["payment_intent"],
        "status": "succeeded",
    }


def _destination(kind: str) -> dict[str, Any]:
    if kind != "card":
        return {"type": kind}
    return {
        "card": {
            "reference_status": "pending",
            "reference_type": "acquirer_reference_number",
            "type": "refund",
        },
        "type": "card",
    }


def settle(ctx: Context, refund: dict[str, Any]) -> None:
    """Finish a slow refund. It may have failed meanwhile."""
    if refund["status"] != "pending":
        return
    previous = {"status": refund["status"]}
    refund["status"] = "succeeded"
    ctx.tx.save(refund)
    events.record(ctx, "refund.updated", refund, previous)
    events.record(ctx, "charge.refund.updated", refund, previous)


def fail(ctx: Context, refund: dict[str, Any]) -> None:
    """Let a refund fail. Its amount is not refunded any more and can be refunded again."""
    previous = {"status": refund["status"]}
    refund |= {
        "status": "failed",
        "failure_reason": "lost_or_stolen_card",
        "failure_balance_transaction": balance.of_failed_refund(ctx, refund),
    }
    ctx.tx.save(refund)
    charge = ctx.require("charge", refund["charge"])
    charge |= {"amount_refunded": charge["amount_refunded"] - refund["amount"], "refunded": False}
    ctx.tx.save(charge)
    events.record(ctx, "refund.updated", refund, previous)
    events.record(ctx, "charge.refund.updated", refund, previous)
    events.record(ctx, "refund.failed", refund)


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return ctx.require("refund", id)


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    return list_page(ctx, "refund", "/v1/refunds", params, by=("payment_intent",))


def charge_to_refund(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    if "charge" in params and "payment_intent" not in params:
        charge = ctx.require("charge", params["charge"], param="charge")
    elif "payment_intent" in params:
        intent = ctx.require("payment_intent", params["payment_intent"], param="payment_intent")
        if "charge" in params and params["charge"] != intent["latest_charge"]:
            raise ApiError(
                f"Charge {params['charge']} does not belong to PaymentIntent {intent['id']}.",
                param="charge",
            )
        if intent["status"] != "succeeded":
            raise ApiError(
                f"This PaymentIntent ({intent['id']}) does not have a successful charge to refund.",
                param="payment_intent",
            )
        charge = ctx.require("charge", intent["latest_charge"])
    else:
        raise invalid_params(
            "One of the following params should be provided for this request: payment_intent or "
            "charge.",
            "payment_intent",
            "parameter_missing",
        )
    if not charge["paid"]:
        raise ApiError(
            f"Charge {charge['id']} has not been paid and can't be refunded.", param="charge"
        )
    return charge


def _card_of(ctx: Context, charge: dict[str, Any]) -> Card:
    return payment_methods.card_of(ctx, ctx.require("payment_method", charge["payment_method"]))
