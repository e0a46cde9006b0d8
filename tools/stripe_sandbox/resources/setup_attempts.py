"""Setup attempts: one for each refused or successful try to save a card."""

from typing import Any

from ..context import Context
from ..fields import nullable
from ..lists import list_page
from . import charges

# Fields of a payment method's card that an attempt's card lacks.
CARD_ONLY = (*charges.CARD_ONLY, "regulated_status")


def record(
    ctx: Context,
    intent: dict[str, Any],
    method: dict[str, Any],
    *,
    error: dict[str, Any] | None,
) -> None:
    """Store an attempt of the intent. `error` is None if the card was saved."""
    details = {key: value for key, value in method["card"].items() if key not in CARD_ONLY}
    attempt = {
        **nullable("setup_attempt"),
        "id": ctx.new_id("setatt_"),
        "object": "setup_attempt",
        "created": ctx.now,
        "customer": intent["customer"],
        "livemode": False,
        "payment_method": method["id"],
        "payment_method_details": {"card": details, "type": "card"},
        "setup_error": error,
        "setup_intent": intent["id"],
        "status": "failed" if error else "succeeded",
        "usage": intent["usage"],
    }
    ctx.tx.insert(attempt)
    intent["latest_attempt"] = attempt["id"]


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    ctx.require("setup_intent", params["setup_intent"], param="setup_intent")
    return list_page(ctx, "setup_attempt", "/v1/setup_attempts", params, by=("setup_intent",))
