"""Setup intents: save a card for later charges without charging it now."""

from typing import Any

from ..context import Context
from ..errors import unexpected_state
from ..fields import merged_metadata, nullable
from ..ids import random_text
from . import customers, events, intents, setup_confirmation

CHANGEABLE = ("requires_payment_method", "requires_confirmation", "requires_action")
# The fields that a publishable key may see.
PUBLIC_FIELDS = (
    "id",
    "object",
    "automatic_payment_methods",
    "cancellation_reason",
    "client_secret",
    "created",
    "description",
    "last_setup_error",
    "livemode",
    "next_action",
    "payment_method",
    "payment_method_types",
    "status",
    "usage",
)


def create(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    customer = params.get("customer")
    if customer is not None:
        customers.require_active(ctx, customer, param="customer")
    id = ctx.new_id("seti_")
    intent = {
        **nullable("setup_intent"),
        "id": id,
        "object": "setup_intent",
        "automatic_payment_methods": intents.automatic_payment_methods(params, "Setup Intent"),
        "client_secret": f"{id}_secret_{random_text(28)}",
        "created": ctx.now,
        "customer": customer,
        "excluded_payment_method_types": params.get("excluded_payment_method_types"),
        "livemode": False,
        "metadata": merged_metadata({}, params.get("metadata")),
        "payment_method_options": {
            "card": {
                "mandate_options": None,
                "network": None,
                "request_three_d_secure": "automatic",
            }
        },
        "payment_method_types": ["card"],
        "status": "requires_payment_method",
        "usage": params.get("usage", "off_session"),
    }
    ctx.tx.insert(intent)
    events.record(ctx, "setup_intent.created", intent)
    return intent


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return intents.load(ctx, params, "setup_intent", id)


def confirm(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    intent = intents.load(ctx, params, "setup_intent", id)
    setup_confirmation.check_confirmable(intent)
    if "payment_method" in params:
        intents.use_payment_method(ctx, intent, params["payment_method"])
    return setup_confirmation.confirm(ctx, intent, params)


def cancel(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    intent = ctx.require("setup_intent", id)
    if intent["status"] not in CHANGEABLE:
        raise unexpected_state(
            f"You cannot cancel this SetupIntent because it has a status of {intent['status']}. "
            "Only a SetupIntent with one of the following statuses may be canceled: "
            f"{', '.join(CHANGEABLE)}.",
            intent,
        )
    intent |= {
        "status": "canceled",
        "cancellation_reason": None,
        "next_action": None,
    }
    ctx.tx.save(intent)
    events.record(ctx, "setup_intent.canceled", intent)
    return intent


def public_view(intent: dict[str, Any]) -> dict[str, Any]:
    return {name: intent[name] for name in PUBLIC_FIELDS}
