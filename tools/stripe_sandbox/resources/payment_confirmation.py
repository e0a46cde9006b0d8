"""Confirm a payment intent: it succeeds, is declined, is processing, or requires the buyer.

The buyer is required for 3-D Secure, Bizum and PayPal.

Each function runs inside one writing transaction (`Store.writing`), so parallel confirmations
charge an intent once.
"""

from typing import Any

from ..cards import AUTHENTICATION_REQUIRED, REFUSED_AT_PROVIDER, Card, Decline
from ..context import Context
from ..errors import ApiError, card_error, unexpected_state
from . import (
    charges,
    checkout_completion,
    disputes,
    events,
    payment_methods,
    settlement,
    three_d_secure,
)


def check_confirmable(intent: dict[str, Any]) -> None:
    status = intent["status"]
    if status == "succeeded":
        raise unexpected_state(
            "You cannot confirm this PaymentIntent because it has already succeeded after being "
            "previously confirmed.",
            intent,
        )
    if status in ("canceled", "processing"):
        raise unexpected_state(
            f"You cannot confirm this PaymentIntent because it has a status of {status}. Only a "
            "PaymentIntent with one of the following statuses may be confirmed: "
            "requires_payment_method, requires_confirmation, requires_action.",
            intent,
        )


def confirm(ctx: Context, intent: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """Attempt the payment with the intent's payment method.

    Returns the intent in `succeeded`, `processing` or `requires_action`. Raises ApiError 402 for a
    declined card, which sets the intent to `requires_payment_method`, and 400 for an intent that
    can't be confirmed.
    """
    if intent["payment_method"] is None:
        raise unexpected_state(
            "You cannot confirm this PaymentIntent because it's missing a payment method. You can "
            "either update the PaymentIntent with a payment method and then confirm it again, or "
            "confirm it again directly with a payment method or ConfirmationToken.",
            intent,
        )
    three_d_secure.check_return_url(intent, params)
    method = ctx.require("payment_method", intent["payment_method"])
    card = payment_methods.card_of(ctx, method)
    intent |= {"last_payment_error": None, "next_action": None}
    if method["type"] in payment_methods.REDIRECTING:
        return three_d_secure.send_to_provider(ctx, intent, params)
    if _needs_authentication(ctx, card, method):
        if params.get("off_session"):
            raise _declined(ctx, intent, method, AUTHENTICATION_REQUIRED)
        return three_d_secure.challenge(ctx, intent, params)
    return _charge(ctx, intent, method, card, authenticated=False)


def _needs_authentication(ctx: Context, card: Card, method: dict[str, Any]) -> bool:
    if card.authentication == "unless_saved":
        return not ctx.tx.private(method["id"]).get("authenticated_for_later")
    return card.authentication == "always"


def answer_challenge(ctx: Context, intent: dict[str, Any], *, accepted: bool) -> None:
    """Continue a payment after its 3-D Secure challenge.

    A second answer to the same challenge changes nothing.
    """
    if intent["status"] != "requires_action":
        return
    method = ctx.require("payment_method", intent["payment_method"])
    intent["next_action"] = None
    if accepted:
        card = payment_methods.card_of(ctx, method)
        try:
            _charge(ctx, intent, method, card, authenticated=True)
        except ApiError as declined:
            if not declined.keeps_changes:
                raise
    else:
        _fail(ctx, intent, three_d_secure.authentication_failure(intent, method))


def answer_provider(ctx: Context, intent: dict[str, Any], *, decision: str) -> None:
    """Continue a payment after what the buyer did at Bizum or PayPal.

    `decision` is "approve", "later" (the success takes a while), "decline" or "expire". A second
    answer changes nothing. A refused attempt has no charge.
    """
    if intent["status"] != "requires_action":
        return
    method = ctx.require("payment_method", intent["payment_method"])
    card = payment_methods.card_of(ctx, method)
    intent["next_action"] = None
    if refusal := REFUSED_AT_PROVIDER.get(decision):
        error = card_error(refusal.code, refusal.message, payment_method=method)
        _fail(ctx, intent, {**error.error, "type": "invalid_request_error"})
    elif decision == "later":
        _wait(ctx, intent, method)
    else:
        _succeed(ctx, intent, method, card, authenticated=False)


def _wait(ctx: Context, intent: dict[str, Any], method: dict[str, Any]) -> dict[str, Any]:
    of_card = {"card": {}, "type": "card"} if method["type"] == "card" else None
    intent |= {"status": "processing", "processing": of_card}
    ctx.tx.save(intent)
    settlement.schedule(ctx, intent["id"])
    events.record(ctx, "payment_intent.processing", intent)
    checkout_completion.follow_intent(ctx, intent)
    return intent


def _charge(
    ctx: Context,
    intent: dict[str, Any],
    method: dict[str, Any],
    card: Card,
    *,
    authenticated: bool,
) -> dict[str, Any]:
    if card.settles_later:
        return _wait(ctx, intent, method)
    if card.decline:
        raise _declined(ctx, intent, method, card.decline, authenticated=authenticated)
    return _succeed(ctx, intent, method, card, authenticated=authenticated)


def settle(ctx: Context, intent: dict[str, Any]) -> None:
    """Finish a payment in `processing`: it succeeds or is declined."""
    if intent["status"] != "processing":
        return
    method = ctx.require("payment_method", intent["payment_method"])
    card = payment_methods.card_of(ctx, method)
    intent["processing"] = None
    if card.decline:
        _declined(ctx, intent, method, card.decline)
    else:
        _succeed(ctx, intent, method, card, authenticated=False)


def _succeed(
    ctx: Context, intent: dict[str, Any], method: dict[str, Any], card: Card, *, authenticated: bool
) -> dict[str, Any]:
    charge = charges.record(ctx, intent, method, decline=None, authenticated=authenticated)
    intent |= {
        "status": "succeeded",
        "amount_received": intent["amount"],
        "latest_charge": charge["id"],
        "processing": None,
    }
    ctx.tx.save(intent)
    if intent["setup_future_usage"] and authenticated:
        payment_methods.authenticate(ctx, method)
    if method["customer"] is None:
        if intent["customer"] and intent["setup_future_usage"]:
            payment_methods.save_for(ctx, method, intent["customer"])
        else:
            payment_methods.mark_used(ctx, method)
    events.record(ctx, "payment_intent.succeeded", intent)
    checkout_completion.follow_intent(ctx, intent)
    if card.dispute:
        disputes.open_dispute(ctx, charge, reason=card.dispute)
    return intent


def _declined(
    ctx: Context,
    intent: dict[str, Any],
    method: dict[str, Any],
    decline: Decline,
    *,
    authenticated: bool = False,
) -> ApiError:
    charge = charges.record(ctx, intent, method, decline=decline, authenticated=authenticated)
    intent["latest_charge"] = charge["id"]
    error = card_error(
        decline.code,
        decline.message,
        decline_code=decline.decline_code,
        charge=charge["id"],
        payment_method=method,
    )
    if decline.code in ("incorrect_cvc", "expired_card"):
        error.error["param"] = {"incorrect_cvc": "cvc", "expired_card": "exp_month"}[decline.code]
    _fail(ctx, intent, error.error)
    error.error = {**error.error, "payment_intent": intent}
    return error


def _fail(ctx: Context, intent: dict[str, Any], error: dict[str, Any]) -> None:
    intent |= {
        "status": "requires_payment_method",
        "payment_method": None,
        "last_payment_error": error,
        "next_action": None,
    }
    ctx.tx.save(intent)
    events.record(ctx, "payment_intent.payment_failed", intent)
    checkout_completion.follow_intent(ctx, intent)
