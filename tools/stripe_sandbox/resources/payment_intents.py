"""Payment intents: create, cancel, read. `payment_confirmation.py` confirms them."""

from typing import Any

from ..context import Context
from ..errors import ApiError, invalid_params, unexpected_state
from ..fields import check_email, merged_metadata, nullable
from ..ids import random_text
from ..lists import list_page
from . import customers, events, intents, payment_confirmation

# https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts
MINIMUM_AMOUNTS = {"eur": 50, "usd": 50, "gbp": 30}
SYMBOLS = {"eur": "€", "usd": "$", "gbp": "£"}
MAXIMUM_AMOUNT = 99_999_999
CHANGEABLE = ("requires_payment_method", "requires_confirmation", "requires_action")
ONLY_WITH_CONFIRM = ("off_session", "return_url")
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
    _refuse_confirm_parameters(params)
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
        **nullable("payment_intent"),
        "id": id,
        "object": "payment_intent",
        "allowed_payment_method_types": params.get("allowed_payment_method_types"),
        "amount": params["amount"],
        "amount_capturable": 0,
        "amount_details": {"tip": {}},
        "amount_received": 0,
        "automatic_payment_methods": intents.automatic_payment_methods(params, "Payment Intent"),
        "capture_method": "automatic_async",
        "client_secret": f"{id}_secret_{random_text(25)}",
        "confirmation_method": "automatic",
        "created": ctx.now,
        "currency": params["currency"].lower(),
        "customer": params.get("customer"),
        "description": params.get("description"),
        "excluded_payment_method_types": params.get("excluded_payment_method_types"),
        "livemode": False,
        "metadata": merged_metadata({}, params.get("metadata")),
        "payment_method_options": {
            "card": {
                "installments": None,
                "mandate_options": None,
                "network": None,
                "request_three_d_secure": "automatic",
            }
        },
        "payment_method_types": intents.payment_method_types(params),
        "receipt_email": params.get("receipt_email"),
        "setup_future_usage": params.get("setup_future_usage"),
        "status": "requires_payment_method",
    }


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return intents.load(ctx, params, "payment_intent", id)


def confirm(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    intent = intents.load(ctx, params, "payment_intent", id)
    intents.refuse_if_from_checkout(ctx, intent)
    payment_confirmation.check_confirmable(intent)
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
        "cancellation_reason": None,
        "next_action": None,
    }
    ctx.tx.save(intent)
    events.record(ctx, "payment_intent.canceled", intent)
    return intent


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    return list_page(ctx, "payment_intent", "/v1/payment_intents", params, by=("customer",))


def public_view(intent: dict[str, Any]) -> dict[str, Any]:
    return {name: intent[name] for name in PUBLIC_FIELDS}


def _refuse_confirm_parameters(params: dict[str, Any]) -> None:
    """Raise ApiError 400 for parameters that need `confirm`, if it is not set."""
    for name in ONLY_WITH_CONFIRM:
        if name in params and not params.get("confirm", False):
            raise ApiError(
                f"The parameter `{name}` cannot be passed when creating a PaymentIntent unless "
                "`confirm` is set to true.",
                param=name,
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
