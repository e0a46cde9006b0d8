"""What the passing of time brings about: slow payments and refunds end, sessions expire."""

import time

from .objects import Context
from .resources import checkout_completion, confirmation, later, refunds
from .store import Store


def work_off(store: Store) -> None:
    """Do what is due, each thing in a transaction of its own and looked at again in there."""
    for kind, settle in (("payment_intent", confirmation.settle), ("refund", refunds.settle)):
        with store.reading() as tx:
            waiting = later.due(tx, kind)
        for id in waiting:
            with store.writing() as tx:
                ctx = Context(tx, base_url="")
                if later.take(ctx, id):
                    settle(ctx, ctx.require(kind, id))
    over = [("$.status =", "open"), ("$.expires_at <=", int(time.time()))]
    with store.reading() as tx:
        sessions = [session["id"] for session in tx.find("checkout.session", where=over)]
    for id in sessions:
        with store.writing() as tx:
            ctx = Context(tx, base_url="")
            session = ctx.require("checkout.session", id)
            if session["status"] == "open":
                checkout_completion.expire(ctx, session)
