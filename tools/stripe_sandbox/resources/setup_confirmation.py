"""Confirm a setup intent: the card is saved, declined, or requires 3-D Secure."""

from typing import Any

from ..context import Context
from ..errors import ApiError, card_error, unexpected_state
from ..fields import nullable
from ..lists import list_page
from . import charges, events, payment_methods, three_d_secure


def check_confirmable(intent: dict[str, Any]) -> None:
    status = intent["status"]
    if status in ("succeeded", "canceled"):
        reason = "already succeeded" if status == "succeeded" else "a status of canceled"
        raise unexpected_state(
            f"You cannot confirm this SetupIntent because it has {reason}.", intent
        )


def confirm(ctx: Context, intent: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """Save the intent's payment method for off-session charges.

    Returns the intent in `succeeded` or `requires_action`. Every card with 3-D Secure requires it
    here. Raises ApiError 402 for a declined card, and 400 for an intent that can't be confirmed.
    """
    if intent["payment_method"] is None:
        raise unexpected_state(
            "You cannot confirm this SetupIntent because it's missing a payment method. You can "
            "either update the SetupIntent with a payment method and then confirm it again, or "
            "confirm it again directly with a payment method or ConfirmationToken.",
            intent,
        )
    three_d_secure.check_return_url(intent, params)
    method = ctx.require("payment_method", intent["payment_method"])
    intent |= {"last_setup_error": None, "next_action": None}
    if payment_methods.card_of(ctx, method).authentication:
        return three_d_secure.challenge(ctx, intent, params)
    return _save(ctx, intent, method, authenticated=False)


def answer_challenge(ctx: Context, intent: dict[str, Any], *, accepted: bool) -> None:
    """Continue a setup after its 3-D Secure challenge. A second answer changes nothing."""
    if intent["status"] != "requires_action":
        return
    method = ctx.require("payment_method", intent["payment_method"])
    intent["next_action"] = None
    if not accepted:
        _fail(ctx, intent, method, three_d_secure.authentication_failure(intent, method))
        return
    try:
        _save(ctx, intent, method, authenticated=True)
    except ApiError as declined:
        if not declined.keeps_changes:
            raise


def _save(
    ctx: Context, intent: dict[str, Any], method: dict[str, Any], *, authenticated: bool
) -> dict[str, Any]:
    card = payment_methods.card_of(ctx, method)
    if card.decline and not card.attachable:
        error = card_error(
            card.decline.code,
            card.decline.message,
            decline_code=card.decline.decline_code,
            payment_method=method,
        )
        _fail(ctx, intent, method, error.error)
        error.error = {**error.error, "setup_intent": intent}
        raise error
    intent["status"] = "succeeded"
    _record_attempt(ctx, intent, method, error=None)
    ctx.tx.save(intent)
    if authenticated:
        payment_methods.authenticate(ctx, method)
    if intent["customer"] and method["customer"] is None:
        payment_methods.save_for(ctx, method, intent["customer"])
    events.record(ctx, "setup_intent.succeeded", intent)
    return intent


def _fail(
    ctx: Context, intent: dict[str, Any], method: dict[str, Any], error: dict[str, Any]
) -> None:
    _record_attempt(ctx, intent, method, error=error)
    intent |= {
        "status": "requires_payment_method",
        "payment_method": None,
        "last_setup_error": error,
        "next_action": None,
    }
    ctx.tx.save(intent)
    events.record(ctx, "setup_intent.setup_failed", intent)


# Fields of a payment method's card that an attempt's card lacks.
CARD_ONLY = (*charges.CARD_ONLY, "regulated_status")


def _record_attempt(
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


def list_attempts(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    ctx.require("setup_intent", params["setup_intent"], param="setup_intent")
    return list_page(ctx, "setup_attempt", "/v1/setup_attempts", params, by=("setup_intent",))
