"""Paying a Checkout Session on its page: each try is one attempt of the session's intent."""

from typing import Any

from ..errors import ApiError
from ..objects import EMAIL, Context
from . import (
    checkout_completion,
    confirmation,
    customers,
    intents,
    payment_intents,
    setup_confirmation,
)
from .checkout_sessions import as_of_now

SESSION_OVER = "This Checkout Session is no longer active."


def pay(
    ctx: Context, id: str, *, payment_method: str | None, email: str, name: str | None
) -> dict[str, Any]:
    """Try to pay with a card made by the page's form; the session as it is afterwards.

    The intent is made by the first try, as in Stripe since version 2022-08-01, and kept for the
    next ones. It may come out in `requires_action`: then the customer has a 3-D Secure challenge to
    answer. Raises ApiError: 402 for a declined card (the attempt stays recorded), 400 where the
    session can't be paid any more or the page sent too little.
    """
    session = ctx.require("checkout.session", id)
    if as_of_now(ctx, session)["status"] != "open":
        raise ApiError(SESSION_OVER, code="checkout_session_inactive")
    _fill_in_customer(ctx, session, email, name)
    if session["mode"] == "payment" and not session["amount_total"]:
        checkout_completion.complete(ctx, session, paid=False)
        return session
    if not payment_method:
        raise ApiError("A payment method is needed.", code="parameter_missing")
    intent = _intent(ctx, session)
    confirming = setup_confirmation if session["mode"] == "setup" else confirmation
    confirming.check_confirmable(intent)
    intents.take_payment_method(ctx, intent, payment_method)
    confirming.confirm(ctx, intent, {"return_url": session["success_url"], "use_stripe_sdk": True})
    return ctx.require("checkout.session", id)


def client_secret(ctx: Context, session: dict[str, Any]) -> str | None:
    """The secret of an attempt that waits for the customer's bank, else None."""
    intent = _existing_intent(ctx, session)
    if intent is None or intent["status"] != "requires_action":
        return None
    return str(intent["client_secret"])


def success_address(session: dict[str, Any]) -> str:
    address: str = session["success_url"]
    return address.replace("{CHECKOUT_SESSION_ID}", session["id"])


def fixed_email(ctx: Context, session: dict[str, Any]) -> str:
    """The address that the shop gave, which can't be changed on the page; '' where it gave none."""
    if session["customer"]:
        return ctx.require("customer", session["customer"])["email"] or ""
    return session["customer_email"] or ""


def _fill_in_customer(ctx: Context, session: dict[str, Any], email: str, name: str | None) -> None:
    """Note what the customer typed."""
    fixed = fixed_email(ctx, session)
    email = fixed or email
    if not EMAIL.fullmatch(email):
        raise ApiError(f"Invalid email address: {email}", code="email_invalid", param="email")
    known = session["customer_details"]
    session["customer_details"] = checkout_completion.details(
        email, name, known["phone"] if known else None
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
    checkout_completion.bind(ctx, intent, session)
    ctx.tx.save(session)
    return intent
