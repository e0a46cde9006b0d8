"""Payment intents: create, change, cancel, read. `payment_confirmation.py` confirms them."""

from typing import Any

from ..context import Context
from ..errors import NAMES, ApiError, invalid_params, unexpected_state
from ..fields import check_email, merged_metadata
from ..ids import random_text
from ..lists import list_page
from . import customers, events, intents, payment_confirmation

# https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts
MINIMUM_AMOUNTS = {"eur": 50, "usd": 50, "gbp": 30}
SYMBOLS = {"eur": "€", "usd": "$", "gbp": "£"}
MAXIMUM_AMOUNT = 99_999_999
CHANGEABLE = ("requires_payment_method", "requires_confirmation", "requires_action")
ONLY_WITH_CONFIRM = (
    "off_session",
    "return_url",
    "use_stripe_sdk",
    "error_on_requires_action",
    "mandate_data",
)
# The fields that a publishable key may see.
PUBLIC_FIELDS = (
    "id",
    "object",
    "amount",
    "amount_details",
    "automatic_payment_methods",
    "canceled_at",
    "cancellation_reason",
    "capture_method",
    "client_secret",
    "confirmation_method",
    "created",
    "currency",
    "description",
    "last_payment_error",
    "livemode",
    "next_action",
    "payment_method",
    "payment_method_types",
    "processing",
    "receipt_email",
    "setup_future_usage",
    "shipping",
    "source",
    "status",
)


def create(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    confirming = params.get("confirm", False)
    intents.refuse_confirm_parameters(params, ONLY_WITH_CONFIRM, NAMES["payment_intent"])
    check_capture(params, "capture_method")
    _check_amount(params["amount"], params["currency"].lower())
    check_email(params.get("receipt_email", ""), "receipt_email")
    customer = params.get("customer")
    if customer is not None:
        customers.require_active(ctx, customer, param="customer")
    intent = new(ctx, ctx.new_id("pi_"), params)
    if "payment_method" in params:
        intents.use_payment_method(ctx, intent, params["payment_method"])
    ctx.tx.insert(intent)
    events.record(ctx, "payment_intent.created", intent)
    if confirming:
        return payment_confirmation.confirm(ctx, intent, params)
    return intent


def new(ctx: Context, id: str, params: dict[str, Any]) -> dict[str, Any]:
    """A payment intent without a payment method. It is not stored."""
    return {
        "id": id,
        "object": "payment_intent",
        "allowed_payment_method_types": params.get("allowed_payment_method_types"),
        "amount": params["amount"],
        "amount_capturable": 0,
        "amount_details": {"tip": {}},
        "amount_received": 0,
        "application": None,
        "application_fee_amount": None,
        "automatic_payment_methods": intents.automatic_payment_methods(params, "Payment Intent"),
        "canceled_at": None,
        "cancellation_reason": None,
        "capture_method": params.get("capture_method", "automatic_async"),
        "client_secret": f"{id}_secret_{random_text(25)}",
        "confirmation_method": "automatic",
        "created": ctx.now,
        "currency": params["currency"].lower(),
        "customer": params.get("customer"),
        "description": params.get("description"),
        "excluded_payment_method_types": params.get("excluded_payment_method_types"),
        "last_payment_error": None,
        "latest_charge": None,
        "livemode": False,
        "metadata": merged_metadata({}, params.get("metadata")),
        "next_action": None,
        "on_behalf_of": None,
        "payment_method": None,
        "payment_method_options": {
            "card": {
                "installments": None,
                "mandate_options": None,
                "network": None,
                "request_three_d_secure": "automatic",
            }
        },
        "payment_method_types": ["card"],
        "processing": None,
        "receipt_email": params.get("receipt_email"),
        "review": None,
        "setup_future_usage": params.get("setup_future_usage"),
        "shipping": params.get("shipping"),
        "source": None,
        "statement_descriptor": params.get("statement_descriptor"),
        "statement_descriptor_suffix": params.get("statement_descriptor_suffix"),
        "status": "requires_payment_method",
        "transfer_data": None,
        "transfer_group": None,
    }


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return intents.load(ctx, params, "payment_intent", id)


def update(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    intent = ctx.require("payment_intent", id)
    for name in params:
        if name not in ("metadata", "description", "expand") and intent["status"] not in CHANGEABLE:
            raise unexpected_state(
                f"This PaymentIntent's {name} could not be updated because it has a status of "
                f"{intent['status']}. You may only update the {name} of a PaymentIntent with one "
                f"of the following statuses: {', '.join(CHANGEABLE)}.",
                intent,
            )
    amount, currency = (
        params.get("amount", intent["amount"]),
        params.get("currency", intent["currency"]),
    )
    _check_amount(amount, currency.lower())
    check_email(params.get("receipt_email", ""), "receipt_email")
    if "customer" in params:
        customers.require_active(ctx, params["customer"], param="customer")
        intent["customer"] = params["customer"]
    for name in ("description", "receipt_email", "setup_future_usage", "shipping"):
        if name in params:
            intent[name] = params[name] or None
    intents.automatic_payment_methods(params, "Payment Intent")
    for name in ("allowed_payment_method_types", "excluded_payment_method_types"):
        if name in params:
            intent[name] = params[name] or None
    intent["metadata"] = merged_metadata(intent["metadata"], params.get("metadata"))
    if intent["status"] == "requires_action" and (amount, currency) != (
        intent["amount"],
        intent["currency"],
    ):
        # The customer authenticated a different amount.
        intent |= {"status": "requires_confirmation", "next_action": None}
    intent |= {"amount": amount, "currency": currency.lower()}
    if "payment_method" in params:
        intents.use_payment_method(ctx, intent, params["payment_method"])
    ctx.tx.save(intent)
    return intent


def confirm(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    intent = intents.load(ctx, params, "payment_intent", id)
    check_email(params.get("receipt_email", ""), "receipt_email")
    intents.refuse_if_from_checkout(ctx, intent)
    payment_confirmation.check_confirmable(intent)
    for name in ("receipt_email", "setup_future_usage", "shipping"):
        if name in params:
            intent[name] = params[name] or None
    if "payment_method" in params:
        intents.use_payment_method(ctx, intent, params["payment_method"])
    return payment_confirmation.confirm(ctx, intent, params)


def cancel(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    intent = ctx.require("payment_intent", id)
    intents.refuse_if_from_checkout(ctx, intent)
    if intent["status"] not in CHANGEABLE:
        raise unexpected_state(
            f"You cannot cancel this PaymentIntent because it has a status of {intent['status']}. "
            "Only a PaymentIntent with one of the following statuses may be canceled: "
            "requires_payment_method, requires_capture, requires_reauthorization, "
            "requires_confirmation, requires_action, processing.",
            intent,
        )
    intent |= {
        "status": "canceled",
        "canceled_at": ctx.now,
        "cancellation_reason": params.get("cancellation_reason"),
        "next_action": None,
    }
    ctx.tx.save(intent)
    events.record(ctx, "payment_intent.canceled", intent)
    return intent


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    where = []
    if "customer" in params:
        where.append(("$.customer =", params["customer"]))
    return list_page(ctx, "payment_intent", "/v1/payment_intents", params, where)


def public_view(intent: dict[str, Any]) -> dict[str, Any]:
    return {name: intent[name] for name in PUBLIC_FIELDS}


def check_capture(params: dict[str, Any], param: str) -> None:
    if params.get("capture_method") == "manual":
        raise ApiError(
            "The Stripe sandbox captures at once, never by hand.",
            code="sandbox_unsupported",
            param=param,
        )


def _check_amount(amount: int, currency: str) -> None:
    if currency not in MINIMUM_AMOUNTS:
        raise ApiError(
            f"Invalid currency: {currency}. The Stripe sandbox supports "
            f"{', '.join(MINIMUM_AMOUNTS)}.",
            param="currency",
        )
    if amount < 1:
        raise invalid_params(
            "This value must be greater than or equal to 1.", "amount", "parameter_invalid_integer"
        )
    minimum = MINIMUM_AMOUNTS[currency]
    if amount < minimum:
        raise ApiError(
            f"Amount must be at least {money(minimum, currency)} {currency}",
            code="amount_too_small",
            param="amount",
        )
    if amount > MAXIMUM_AMOUNT:
        raise ApiError(
            f"Amount must be no more than {money(MAXIMUM_AMOUNT, currency)} {currency}",
            code="amount_too_large",
            param="amount",
        )


def money(amount: int, currency: str) -> str:
    return f"{SYMBOLS[currency]}{amount / 100:,.2f}"
