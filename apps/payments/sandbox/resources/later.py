"""Payments and refunds that a bank takes its time over."""

import os
import time

from ..objects import Context
from ..store import Transaction

# How long a slow payment stays in `processing`, and how long a slow refund waits for its end.
PROCESSING_SECONDS = float(os.environ.get("SANDBOX_PROCESSING_SECONDS", "5"))


def settle_later(ctx: Context, id: str) -> None:
    private = ctx.tx.private(id)
    ctx.tx.save_private(id, private | {"settles_at": time.time() + PROCESSING_SECONDS})


def due(tx: Transaction, kind: str) -> list[str]:
    """The ids of what waits no longer, oldest first."""
    return tx.ids_where_private(kind, "$.settles_at <=", time.time())


def take(ctx: Context, id: str) -> bool:
    """Whether it was still waiting; from now on it isn't."""
    private = ctx.tx.private(id)
    waited = private.pop("settles_at", None) is not None
    ctx.tx.save_private(id, private)
    return waited
