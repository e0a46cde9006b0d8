"""Pay a Checkout Session on its page. Each attempt confirms the session's intent."""

from typing import Any
from urllib.parse import quote

from ..context import Context
from ..errors import ApiError
from ..fields import EMAIL
from . import (
    checkout_completion,
    customers,
    intents,
    payment_confirmation,
    payment_intents,
    setup_confirmation,
)
from .checkout_sessions import with_current_status

SESSION_OVER = "This Checkout Session is no longer active."


def pay(
    ctx: Context, id: str, *, payment_method: str | None, email: str, name: str | None
) -> dict[str, Any]:
    """Attempt the payment with a card from the page's form. Returns the updated session.

    The first attempt creates the intent, as at Stripe since version 2022-08-01; later attempts
    use it again. Afterwards the intent may be in `requires_action`, for 3-D Secure. Raises
    ApiError 402 for a declined card, and 400 if the session is not open or data are missing.
    """
    session = ctx.require("checkout.session", id)
    if with_current_status(ctx, session)["status"] != "open":
        raise ApiError(SESSION_OVER, code="checkout_session_inactive")
    _fill_in_customer(ctx, session, email, name)
    if session["mode"] == "payment" and not session["amount_total"]:
        checkout_completion.complete(ctx, session, paid=False)
        return session
    if not payment_method:
        raise ApiError("A payment method is needed.", code="parameter_missing")
    intent = _intent(ctx, session)
    confirming = setup_confirmation if session["mode"] == "setup" else payment_confirmation
    confirming.check_confirmable(intent)
    intents.use_payment_method(ctx, intent, payment_method)
    confirming.confirm(ctx, intent, {"return_url": session["success_url"], "use_stripe_sdk": True})
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


def preset_email(ctx: Context, session: dict[str, Any]) -> str:
    """The e-mail address of the session or its customer, read-only on the page; "" if unknown."""
    if session["customer"]:
        return ctx.require("customer", session["customer"])["email"] or ""
    return session["customer_email"] or ""


def _fill_in_customer(ctx: Context, session: dict[str, Any], email: str, name: str | None) -> None:
    """Store the name and the e-mail address from the page's form."""
    fixed = preset_email(ctx, session)
    email = fixed or email
    if not EMAIL.fullmatch(email):
        raise ApiError(f"Invalid email address: {email}", code="email_invalid", param="email")
    details = session["customer_details"]
    session["customer_details"] = checkout_completion.details(
        email, name, details["phone"] if details else None
    )
    if session["customer"] is None and session["customer_creation"] == "always":
        session["customer"] = customers.create(ctx, {"email": email, "name": name})["id"]
    elif session["customer"] and not fixed:
        customers.update(ctx, {"email": email}, session["customer"])
    ctx.tx.save(session)


def _existing_intent(ctx: Context, session: dict[str, Any]) -> dict[str, Any] | None:
    kind = "setup_intent" if session["mode"] == "setup" else "payment_intent"
    return ctx.require(kind, session[kind]) if session[kind] else None


def _intent(ctx: Context, session: dict[str, Any]) -> dict[str, Any]:
    if existing := _existing_intent(ctx, session):
        return existing
    data = ctx.tx.private(session["id"])["intent_data"]
    params = {"amount": session["amount_total"], "currency": session["currency"], **data}
    for name in ("customer", "allowed_payment_method_types", "excluded_payment_method_types"):
        if session[name]:
            params[name] = session[name]
    intent = payment_intents.create(ctx, params)
    checkout_completion.link_intent(ctx, intent, session)
    ctx.tx.save(session)
    return intent
