"""Work that becomes due with time: slow payments and refunds are settled, sessions expire."""

import time

from .context import Context
from .resources import checkout_completion, payment_confirmation, refunds, settlement
from .store import Store

SETTLE = {"payment_intent": payment_confirmation.settle, "refund": refunds.settle}


def run(store: Store) -> None:
    """Do all work that is due. Each object has a transaction of its own."""
    _settle_payments_and_refunds(store)
    _expire_sessions(store)


def _settle_payments_and_refunds(store: Store) -> None:
    for kind, settle in SETTLE.items():
        with store.reading() as tx:
            ids = settlement.due_ids(tx, kind)
        for id in ids:
            with store.writing() as tx:
                ctx = Context(tx, base_url="")
                if settlement.claim(ctx, id):
                    settle(ctx, ctx.require(kind, id))


def _expire_sessions(store: Store) -> None:
    overdue = [("$.status =", "open"), ("$.expires_at <=", int(time.time()))]
    with store.reading() as tx:
        ids = [session["id"] for session in tx.find("checkout.session", where=overdue)]
    for id in ids:
        with store.writing() as tx:
            ctx = Context(tx, base_url="")
            # A request may have completed or removed the session in the meantime.
            session = tx.get("checkout.session", id)
            if session is not None and session["status"] == "open":
                checkout_completion.expire(ctx, session)
