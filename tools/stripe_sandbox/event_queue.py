"""Queue events for webhook endpoints. Faults can delay, repeat, withhold or forge them."""

import time

from . import faults
from .store import Transaction


def add(tx: Transaction, event_id: str, type: str, endpoint_ids: list[str]) -> None:
    """Queue an event for the endpoints that listen to it, as the faults on its type say."""
    if not endpoint_ids:
        return
    matching = {fault.kind: fault for fault in faults.for_event(tx, type)}
    next_at = time.time()
    if late := matching.get("late"):
        next_at += late.seconds
    out_of_order = matching.get("out_of_order")
    if out_of_order:
        # The first event of a batch sets the time at which the whole batch is sent.
        next_at = tx.batch_sent_at() or next_at + out_of_order.seconds
    for endpoint_id in endpoint_ids:
        if "never" in matching:
            tx.queue_delivery(event_id, endpoint_id, state="withheld")
            continue
        if forged := matching.get("forged"):
            tx.queue_delivery(event_id, endpoint_id, forgery=forged.how)
        for _ in range(2 if "twice" in matching else 1):
            tx.queue_delivery(
                event_id, endpoint_id, next_at=next_at, newest_first=out_of_order is not None
            )
