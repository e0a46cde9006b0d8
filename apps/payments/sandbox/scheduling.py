"""When and how an event is to be sent to an endpoint: at once, unless a fault says otherwise."""

import time

from . import faults
from .store import Transaction


def queue(tx: Transaction, event_id: str, type: str, endpoint_ids: list[str]) -> None:
    """Queue an event for the endpoints that listen to it, with the faults that strike it."""
    if not endpoint_ids:
        return
    struck = {fault.kind: fault for fault in faults.for_event(tx, type)}
    next_at = time.time()
    if late := struck.get("late"):
        next_at += late.seconds
    kept_back = struck.get("out_of_order")
    if kept_back:
        # The first of them says how long the others have to join it.
        next_at = tx.kept_back_until() or next_at + kept_back.seconds
    for endpoint_id in endpoint_ids:
        if "never" in struck:
            tx.queue_delivery(event_id, endpoint_id, state="withheld")
            continue
        if forged := struck.get("forged"):
            tx.queue_delivery(event_id, endpoint_id, forgery=forged.how)
        for _ in range(2 if "twice" in struck else 1):
            tx.queue_delivery(
                event_id, endpoint_id, next_at=next_at, newest_first=kept_back is not None
            )
