"""Pay a Checkout Session on its page. Each attempt confirms the session's intent."""

from typing import Any
from urllib.parse import quote

from ..context import Context
from ..errors import ApiError
from . import checkout_completion, intents, payment_confirmation, payment_intents
from .checkout_sessions import with_current_status

SESSION_OVER = "This Checkout Session is no longer active."


def pay(ctx: Context, id: str, *, payment_method: str | None, name: str | None) -> dict[str, Any]:
    """Attempt the payment with a card from the page's form. Returns the updated session.

    The first attempt creates the intent, as at Stripe since version 2022-08-01; later attempts
    use it again. Afterwards the intent may be in `requires_action`, for 3-D Secure. Raises
    ApiError 402 for a declined card, and 400 if the session is not open or data are missing.
    """
    session = ctx.require("checkout.session", id)
    if with_current_status(ctx, session)["status"] != "open":
        raise ApiError(SESSION_OVER, code="checkout_session_inactive")
    if not payment_method:
        raise ApiError("A payment method is needed.", code="parameter_missing")
    session["customer_details"]["name"] = name
    ctx.tx.save(session)
    intent = _intent(ctx, session)
    payment_confirmation.check_confirmable(intent)
    intents.use_payment_method(ctx, intent, payment_method)
    confirmed = {"return_url": session["success_url"], "use_stripe_sdk": True}
    payment_confirmation.confirm(ctx, intent, confirmed)
    return ctx.require("checkout.session", id)


def client_secret(ctx: Context, session: dict[str, Any]) -> str | None:
    """The intent's client secret while 3-D Secure is required, otherwise None."""
    intent = _existing_intent(ctx, session)
    if intent is None or intent["status"] != "requires_action":
        return None
    return str(intent["client_secret"])


def success_url_of(session: dict[str, Any]) -> str:
    address: str = session["success_url"]
    return address.replace("{CHECKOUT_SESSION_ID}", quote(session["id"], safe=""))


def _existing_intent(ctx: Context, session: dict[str, Any]) -> dict[str, Any] | None:
    id = session["payment_intent"]
    return ctx.require("payment_intent", id) if id else None


def _intent(ctx: Context, session: dict[str, Any]) -> dict[str, Any]:
    if existing := _existing_intent(ctx, session):
        return existing
    data = ctx.tx.private(session["id"])["intent_data"]
    params = {
        "amount": session["amount_total"],
        "currency": session["currency"],
        "customer": session["customer"],
        "excluded_payment_method_types": session["excluded_payment_method_types"],
        **data,
    }
    intent = payment_intents.create(ctx, params)
    checkout_completion.link_intent(ctx, intent, session)
    ctx.tx.save(session)
    return intent
