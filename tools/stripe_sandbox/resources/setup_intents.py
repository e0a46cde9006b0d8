"""Setup intents: save a card for later charges without charging it now."""

from typing import Any

from ..context import Context
from ..errors import NAMES, unexpected_state
from ..fields import merged_metadata
from ..ids import random_text
from ..lists import list_page
from . import customers, events, intents, setup_confirmation

CHANGEABLE = ("requires_payment_method", "requires_confirmation", "requires_action")
ONLY_WITH_CONFIRM = ("return_url", "use_stripe_sdk")
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
    confirming = params.get("confirm", False)
    intents.refuse_confirm_parameters(params, ONLY_WITH_CONFIRM, NAMES["setup_intent"])
    customer = params.get("customer")
    if customer is not None:
        customers.require_active(ctx, customer, param="customer")
    id = ctx.new_id("seti_")
    intent = {
        "id": id,
        "object": "setup_intent",
        "allowed_payment_method_types": params.get("allowed_payment_method_types"),
        "application": None,
        "automatic_payment_methods": intents.automatic_payment_methods(params, "Setup Intent"),
        "cancellation_reason": None,
        "client_secret": f"{id}_secret_{random_text(28)}",
        "created": ctx.now,
        "customer": customer,
        "description": params.get("description"),
        "excluded_payment_method_types": params.get("excluded_payment_method_types"),
        "flow_directions": None,
        "last_setup_error": None,
        "latest_attempt": None,
        "livemode": False,
        "mandate": None,
        "metadata": merged_metadata({}, params.get("metadata")),
        "next_action": None,
        "on_behalf_of": None,
        "payment_method": None,
        "payment_method_options": {
            "card": {
                "mandate_options": None,
                "network": None,
                "request_three_d_secure": "automatic",
            }
        },
        "payment_method_types": ["card"],
        "single_use_mandate": None,
        "status": "requires_payment_method",
        "usage": params.get("usage", "off_session"),
    }
    if "payment_method" in params:
        intents.use_payment_method(ctx, intent, params["payment_method"])
    ctx.tx.insert(intent)
    events.record(ctx, "setup_intent.created", intent)
    if confirming:
        return setup_confirmation.confirm(ctx, intent, params)
    return intent


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return intents.load(ctx, params, "setup_intent", id)


def update(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    intent = ctx.require("setup_intent", id)
    if intent["status"] not in CHANGEABLE and set(params) - {"metadata", "description"}:
        raise unexpected_state(
            f"You cannot update this SetupIntent because it has a status of {intent['status']}.",
            intent,
        )
    if "customer" in params:
        customers.require_active(ctx, params["customer"], param="customer")
        intent["customer"] = params["customer"]
    if "description" in params:
        intent["description"] = params["description"] or None
    intent["metadata"] = merged_metadata(intent["metadata"], params.get("metadata"))
    if "payment_method" in params:
        intents.use_payment_method(ctx, intent, params["payment_method"])
    ctx.tx.save(intent)
    return intent


def confirm(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    intent = intents.load(ctx, params, "setup_intent", id)
    intents.refuse_if_from_checkout(ctx, intent)
    setup_confirmation.check_confirmable(intent)
    if "payment_method" in params:
        intents.use_payment_method(ctx, intent, params["payment_method"])
    return setup_confirmation.confirm(ctx, intent, params)


def cancel(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    intent = ctx.require("setup_intent", id)
    intents.refuse_if_from_checkout(ctx, intent)
    if intent["status"] not in CHANGEABLE:
        raise unexpected_state(
            f"You cannot cancel this SetupIntent because it has a status of {intent['status']}. "
            "Only a SetupIntent with one of the following statuses may be canceled: "
            f"{', '.join(CHANGEABLE)}.",
            intent,
        )
    intent |= {
        "status": "canceled",
        "cancellation_reason": params.get("cancellation_reason"),
        "next_action": None,
    }
    ctx.tx.save(intent)
    events.record(ctx, "setup_intent.canceled", intent)
    return intent


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    where = [
        (f"$.{name} =", params[name]) for name in ("customer", "payment_method") if name in params
    ]
    return list_page(ctx, "setup_intent", "/v1/setup_intents", params, where)


def public_view(intent: dict[str, Any]) -> dict[str, Any]:
    return {name: intent[name] for name in PUBLIC_FIELDS}
