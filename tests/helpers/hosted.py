"""Checkout Sessions of Stripe's hosted page, for tests."""

import sqlite3
from contextlib import closing
from typing import Any

from apps.orders.models import Order
from tests.helpers.shop import Sandbox


def again(placed: dict[str, Any], body: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The body of a further checkout of the order that an earlier checkout created."""
    return {**body, "recovery_order_id": placed["order_id"], "token": placed["token"], **changes}


def reference_of(placed: dict[str, Any]) -> dict[str, str]:
    """The reference with which the browser returns from Stripe, in either mode."""
    names = ("session_id", "payment_intent_id")
    return {name: placed[name] for name in names if name in placed}


def expire_at_provider(sandbox: Sandbox, session: str, at: int = 1) -> None:
    """Set the session's expiry at Stripe to `at`. The default has passed on any test clock."""
    with closing(sqlite3.connect(sandbox.process.state, timeout=60)) as database, database:
        database.execute(
            "UPDATE objects SET body = json_set(body, '$.expires_at', ?) WHERE id = ?",
            (at, session),
        )


def open_sessions(sandbox: Sandbox) -> list[str]:
    """The ids of the only order's open sessions."""
    customer = Order.objects.get().customer_reference
    return [s["id"] for s in sandbox.sessions(customer) if s["status"] == "open"]
