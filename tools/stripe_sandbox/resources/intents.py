"""Code for both payment intents and setup intents."""

import hmac
from typing import Any

from ..context import Context
from ..errors import NAMES, ApiError, invalid_params
from . import payment_methods

# The types that the sandbox has, and those that it can save for later.
TYPES = ("card", "bizum", "paypal")
REUSABLE = ("card", "paypal")


def load(ctx: Context, params: dict[str, Any], kind: str, id: str) -> dict[str, Any]:
    """The intent. Raises ApiError 400 if a browser does not send its client secret."""
    secret = params.get("client_secret")
    if ctx.is_publishable and not secret:
        raise invalid_params(
            "Missing required param: client_secret.", "client_secret", "parameter_missing"
        )
    intent = ctx.require(kind, id, param="intent" if ctx.is_publishable else None)
    if secret is not None and not hmac.compare_digest(
        secret.encode(), intent["client_secret"].encode()
    ):
        raise ApiError(
            "The client_secret provided does not match the client_secret associated with the "
            f"{NAMES[kind]}.",
            code=f"{kind}_invalid_parameter",
            param="client_secret",
        )
    return intent


def refuse_if_from_checkout(ctx: Context, intent: dict[str, Any]) -> None:
    """Raise ApiError 400 if the intent is from a Checkout Session: only its page can change it."""
    if ctx.tx.private(intent["id"]).get("checkout_session"):
        raise ApiError("You cannot perform this action on PaymentIntents created by Checkout.")


def use_payment_method(ctx: Context, intent: dict[str, Any], id: str) -> None:
    """Set the intent's payment method. Raises ApiError 400 if it is another customer's."""
    method = payment_methods.find(ctx, id)
    owner, customer = method["customer"], intent["customer"]
    if owner and not customer:
        raise ApiError(
            f"The PaymentMethod {method['id']} belongs to a Customer {owner}. Please include the "
            f"Customer in the `customer` parameter on the {NAMES[intent['object']]}.",
            param="payment_method",
        )
    if owner and owner != customer:
        raise ApiError(
            f"The PaymentMethod {method['id']} does not belong to the Customer you supplied "
            f"{customer}. Please use this PaymentMethod in combination with the Customer that it "
            "belongs to, instead.",
            param="payment_method",
        )
    payment_methods.check_reusable(ctx, method)
    if method["type"] not in intent["payment_method_types"]:
        raise ApiError(
            f"The PaymentMethod provided ({method['type']}) is not allowed for this "
            f"{NAMES[intent['object']]}. It accepts these types: "
            f"{', '.join(intent['payment_method_types'])}.",
            code=f"{intent['object']}_invalid_parameter",
            param="payment_method",
        )
    intent |= {
        "payment_method": method["id"],
        "status": "requires_confirmation",
        "next_action": None,
    }


def automatic_payment_methods(params: dict[str, Any], noun: str) -> dict[str, Any] | None:
    """The intent's `automatic_payment_methods`, or None if the request names types or disables it.

    Raises ApiError 400 if the parameters leave no type.
    """
    automatic = params.get("automatic_payment_methods")
    allowed = params.get("allowed_payment_method_types")
    for other in ("automatic_payment_methods", "excluded_payment_method_types"):
        if allowed and params.get(other):
            raise ApiError(
                "You may only specify one of these parameters: allowed_payment_method_types, "
                f"{other}.",
                param="allowed_payment_method_types",
            )
    if not payment_method_types(params):
        raise ApiError(
            f"No valid payment method types for this {noun}: the sandbox has "
            f"{', '.join(TYPES)}, and they are left out.",
            code=f"{noun.lower().replace(' ', '_')}_invalid_parameter",
            param="allowed_payment_method_types" if allowed else "excluded_payment_method_types",
        )
    if allowed or (automatic and not automatic["enabled"]):
        return None
    return {"allow_redirects": (automatic or {}).get("allow_redirects", "always"), "enabled": True}


def payment_method_types(params: dict[str, Any]) -> list[str]:
    """The types that an intent with these parameters accepts."""
    allowed = params.get("allowed_payment_method_types") or TYPES
    excluded = params.get("excluded_payment_method_types") or ()
    saves = bool(params.get("setup_future_usage"))
    in_euros = params.get("currency", "eur").lower() == "eur"
    return [
        kind
        for kind in TYPES
        if kind in allowed
        and kind not in excluded
        and not (saves and kind not in REUSABLE)
        and (kind != "bizum" or in_euros)
    ]
