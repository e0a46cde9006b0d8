"""Charges: one for each attempt to charge a card, and for each approved Bizum or PayPal."""

from typing import Any

from ..cards import Decline
from ..context import Context
from ..fields import nullable
from ..lists import list_page
from . import balance, events

# Fields of a payment method's card that a charge's card lacks.
CARD_ONLY = ("display_brand", "generated_from", "networks", "three_d_secure_usage")


def record(
    ctx: Context,
    intent: dict[str, Any],
    method: dict[str, Any],
    *,
    decline: Decline | None,
    authenticated: bool,
) -> dict[str, Any]:
    """Store the charge of an attempt, and record its event. `decline` is None if it is paid."""
    charge = new(ctx, intent, method, decline=decline, authenticated=authenticated)
    if decline is None:
        charge["balance_transaction"] = balance.of_charge(ctx, charge)
    ctx.tx.insert(charge)
    events.record(ctx, f"charge.{charge['status']}", charge)
    return charge


def new(
    ctx: Context,
    intent: dict[str, Any],
    method: dict[str, Any],
    *,
    decline: Decline | None,
    authenticated: bool,
) -> dict[str, Any]:
    """The charge of an attempt. It is not stored."""
    paid = decline is None
    return {
        **nullable("charge"),
        "id": ctx.new_id("ch_"),
        "object": "charge",
        "amount": intent["amount"],
        "amount_captured": intent["amount"] if paid else 0,
        "amount_refunded": 0,
        "billing_details": method["billing_details"],
        "calculated_statement_descriptor": "SANDBOX",
        "captured": paid,
        "created": ctx.now,
        "currency": intent["currency"],
        "customer": intent["customer"],
        "description": intent["description"],
        "disputed": False,
        "failure_code": decline.code if decline else None,
        "failure_message": decline.message if decline else None,
        "fraud_details": {},
        "livemode": False,
        "metadata": intent["metadata"],
        "outcome": _outcome(decline),
        "paid": paid,
        "payment_intent": intent["id"],
        "payment_method": method["id"],
        "payment_method_details": _details(
            ctx, intent, method, decline=decline, authenticated=authenticated
        ),
        "receipt_email": intent["receipt_email"],
        "refunded": False,
        "status": "succeeded" if paid else "failed",
    }


def _details(
    ctx: Context,
    intent: dict[str, Any],
    method: dict[str, Any],
    *,
    decline: Decline | None,
    authenticated: bool,
) -> dict[str, Any]:
    kind = method["type"]
    if kind != "card":
        of_kind = {**method[kind], "transaction_id": ctx.new_id("tr")}
        return {kind: of_kind, "type": kind}
    details = {key: value for key, value in method["card"].items() if key not in CARD_ONLY}
    return {
        "card": {
            **details,
            "amount_authorized": intent["amount"] if decline is None else None,
            "checks": {**details["checks"], "cvc_check": _cvc_check(decline)},
            "three_d_secure": {"result": "authenticated", "version": "2.2.0"}
            if authenticated
            else None,
        },
        "type": "card",
    }


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return ctx.require("charge", id)


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    return list_page(ctx, "charge", "/v1/charges", params, by=("customer", "payment_intent"))


def _outcome(decline: Decline | None) -> dict[str, Any]:
    if decline is None:
        return {
            "network_status": "approved_by_network",
            "reason": None,
            "risk_level": "normal",
            "risk_score": 12,
            "seller_message": "Payment complete.",
            "type": "authorized",
        }
    return {
        "network_status": "declined_by_network",
        "reason": decline.decline_code or decline.code,
        "risk_level": "normal",
        "risk_score": 12,
        "seller_message": "The bank did not return any further details with this decline.",
        "type": "issuer_declined",
    }


def _cvc_check(decline: Decline | None) -> str:
    return "fail" if decline and decline.code == "incorrect_cvc" else "pass"
