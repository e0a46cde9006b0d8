"""One INFO line for each step of a purchase, with the order's number (docs/rules.md, "Logs").

A line has the id of the request that caused it, also in tasks. It names no person.
"""

import logging

from django.db import transaction

logger = logging.getLogger("academy.purchases")


def log_step(order_id: int | None, step: str, detail: str = "") -> None:
    """Log a step of an order, such as "paid", once its transaction is committed.

    `detail` is a code, an id or the reason of a refusal.
    """
    facts = {"order": order_id, "step": step, "detail": detail}
    text = "order %(order)s: %(step)s" + (" (%(detail)s)" if detail else "")
    transaction.on_commit(lambda: logger.info(text, facts, extra=facts))
