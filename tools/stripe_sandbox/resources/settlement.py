"""Payments and refunds that a bank settles only after a while."""

import time

from ..context import Context
from ..store import Transaction

DELAY = "processing_seconds"
ENABLED = "settlement_enabled"


def set_delay(tx: Transaction, seconds: float) -> None:
    """How long payments and refunds wait for their settlement from now on."""
    tx.set_setting(DELAY, str(seconds))


def set_enabled(tx: Transaction, *, enabled: bool) -> None:
    """Hold all settlements back, or let those that are due go on."""
    tx.set_setting(ENABLED, "1" if enabled else "0")


def schedule(ctx: Context, id: str) -> None:
    """Settle the payment intent or refund after the configured delay."""
    private = ctx.tx.private(id)
    settles_at = time.time() + float(ctx.tx.setting(DELAY, "0"))
    ctx.tx.save_private(id, private | {"settles_at": settles_at})


def due_ids(tx: Transaction, kind: str) -> list[str]:
    """The ids of payment intents or refunds whose delay has passed, oldest first."""
    if tx.setting(ENABLED, "1") == "0":
        return []
    return tx.ids_where_private(kind, "$.settles_at <=", time.time())


def claim(ctx: Context, id: str) -> bool:
    """Take the object out of the schedule. False if it is not scheduled any more."""
    private = ctx.tx.private(id)
    was_scheduled = private.pop("settles_at", None) is not None
    ctx.tx.save_private(id, private)
    return was_scheduled
