"""The end of a Checkout Session: completed by its intent, or expired.

The confirmation modules call `follow_intent` after each change of an intent.
"""

from typing import Any

from ..context import Context
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


def follow_intent(ctx: Context, intent: dict[str, Any]) -> None:
    """Complete the session of an intent that succeeded or is processing.

    When a processing payment ends, update the session's payment status.
    """
    session = session_of(ctx, intent["id"])
    if session is None:
        return
    if session["status"] == "open" and intent["status"] in ("succeeded", "processing"):
        _complete(ctx, session, paid=intent["status"] == "succeeded")
    elif session["status"] == "complete" and session["payment_status"] == "unpaid":
        if intent["status"] == "succeeded":
            session["payment_status"] = "paid"
            ctx.tx.save(session)
            events.record(ctx, "checkout.session.async_payment_succeeded", session)
        elif intent["status"] == "requires_payment_method":
            events.record(ctx, "checkout.session.async_payment_failed", session)


def link_intent(ctx: Context, intent: dict[str, Any], session: dict[str, Any]) -> None:
    """Link an intent to its session. From now on only the session's page can confirm it."""
    ctx.tx.save_private(
        intent["id"], ctx.tx.private(intent["id"]) | {"checkout_session": session["id"]}
    )
    session["payment_intent"] = intent["id"]


def _complete(ctx: Context, session: dict[str, Any], *, paid: bool) -> None:
    session |= {"status": "complete", "url": None}
    if paid:
        session["payment_status"] = "paid"
    for discount in session["discounts"]:
        coupons.redeem(ctx, discount["coupon"])
    ctx.tx.save(session)
    events.record(ctx, "checkout.session.completed", session)


def expire(ctx: Context, session: dict[str, Any]) -> None:
    """Expire an open session, and cancel its unpaid intent."""
    session |= {"status": "expired", "url": None}
    ctx.tx.save(session)
    id = session["payment_intent"]
    intent = id and ctx.require("payment_intent", id)
    if intent and intent["status"] not in ("succeeded", "canceled", "processing"):
        intent |= {
            "status": "canceled",
            "canceled_at": ctx.now,
            "cancellation_reason": "expired",
            "next_action": None,
        }
        ctx.tx.save(intent)
        events.record(ctx, "payment_intent.canceled", intent)
    events.record(ctx, "checkout.session.expired", session)


def has_expired(ctx: Context, session: dict[str, Any]) -> bool:
    """Whether an open session is past its expiry time. Its stored status may still be `open`."""
    return bool(session["status"] == "open" and session["expires_at"] <= ctx.now)


def expire_if_due(ctx: Context, intent_id: str) -> None:
    """Expire the intent's session if its time is over, so that it can't be paid any more."""
    session = session_of(ctx, intent_id)
    if session is not None and has_expired(ctx, session):
        expire(ctx, session)


def session_of(ctx: Context, intent_id: str) -> dict[str, Any] | None:
    """The session that created the intent, if there is one."""
    id = ctx.tx.private(intent_id).get("checkout_session")
    return ctx.tx.get("checkout.session", id) if id else None
