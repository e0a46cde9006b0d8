"""How a Checkout Session ends: completed by its intent, or expired.

Confirmation tells this module what became of an intent; it knows nothing of sessions otherwise.
"""

from typing import Any

from ..objects import Context
from . import coupons, events
from .payment_methods import NO_ADDRESS


def details(email: str | None, name: str | None, phone: str | None) -> dict[str, Any]:
    return {
        "address": dict(NO_ADDRESS),
        "business_name": None,
        "email": email,
        "individual_name": None,
        "name": name,
        "phone": phone,
        "tax_exempt": "none",
        "tax_ids": [],
    }


def intent_moved(ctx: Context, intent: dict[str, Any]) -> None:
    """Complete the session of an intent that succeeded or is processing; note how that ended."""
    session = session_of(ctx, intent["id"])
    if session is None:
        return
    if session["status"] == "open" and intent["status"] in ("succeeded", "processing"):
        complete(ctx, session, paid=intent["status"] == "succeeded")
    elif session["status"] == "complete" and session["payment_status"] == "unpaid":
        if intent["status"] == "succeeded":
            session["payment_status"] = "paid"
            ctx.tx.save(session)
            events.record(ctx, "checkout.session.async_payment_succeeded", session)
        elif intent["status"] == "requires_payment_method":
            events.record(ctx, "checkout.session.async_payment_failed", session)


def bind(ctx: Context, intent: dict[str, Any], session: dict[str, Any]) -> None:
    """Make the intent known as the session's, and the session's alone."""
    ctx.tx.save_private(
        intent["id"], ctx.tx.private(intent["id"]) | {"checkout_session": session["id"]}
    )
    session[intent["object"]] = intent["id"]


def complete(ctx: Context, session: dict[str, Any], *, paid: bool) -> None:
    session |= {"status": "complete", "url": None}
    if paid and session["payment_status"] == "unpaid":
        session["payment_status"] = "paid"
    for discount in session["discounts"]:
        coupons.redeem(ctx, discount["coupon"])
    ctx.tx.save(session)
    events.record(ctx, "checkout.session.completed", session)


def expire(ctx: Context, session: dict[str, Any]) -> None:
    """Close an open session; an attempt that is still waiting for the customer is canceled."""
    session |= {"status": "expired", "url": None}
    ctx.tx.save(session)
    for kind in ("payment_intent", "setup_intent"):
        intent = session[kind] and ctx.require(kind, session[kind])
        if intent and intent["status"] not in ("succeeded", "canceled", "processing"):
            intent |= {"status": "canceled", "next_action": None}
            if kind == "payment_intent":
                intent |= {"canceled_at": ctx.now, "cancellation_reason": "expired"}
            ctx.tx.save(intent)
            events.record(ctx, f"{kind}.canceled", intent)
    events.record(ctx, "checkout.session.expired", session)


def is_over(ctx: Context, session: dict[str, Any]) -> bool:
    """Whether an open session's time is up, noted already or not."""
    return bool(session["status"] == "open" and session["expires_at"] <= ctx.now)


def expire_if_over(ctx: Context, intent_id: str) -> None:
    """Before an attempt goes on: what was seen as expired must not be paid any more."""
    session = session_of(ctx, intent_id)
    if session is not None and is_over(ctx, session):
        expire(ctx, session)


def session_of(ctx: Context, intent_id: str) -> dict[str, Any] | None:
    """The session that made the intent, if one did."""
    id = ctx.tx.private(intent_id).get("checkout_session")
    return ctx.tx.get("checkout.session", id) if id else None
