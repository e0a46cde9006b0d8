"""Events: each has a copy of its object as it was at that moment."""

import json
import time
from typing import Any

from .. import faults
from ..context import API_VERSION, Context
from ..lists import list_page
from ..store import Transaction


def record(
    ctx: Context, type: str, object: dict[str, Any], previous: dict[str, Any] | None = None
) -> None:
    """Store an event, and queue it for every webhook endpoint that is enabled for its type."""
    data: dict[str, Any] = {"object": json.loads(json.dumps(object))}
    if previous is not None:
        data["previous_attributes"] = previous
    event: dict[str, Any] = {
        "id": ctx.new_id("evt_"),
        "object": "event",
        "api_version": API_VERSION,
        "created": ctx.now,
        "data": data,
        "livemode": False,
        "request": {"id": ctx.request_id, "idempotency_key": ctx.idempotency_key},
        "type": type,
    }
    ctx.tx.insert(event)
    listening = [
        endpoint["id"]
        for endpoint in ctx.tx.find("webhook_endpoint")[::-1]
        if endpoint["status"] == "enabled" and {"*", type} & set(endpoint["enabled_events"])
    ]
    _queue(ctx.tx, event["id"], type, listening)


def with_pending_webhooks(ctx: Context, event: dict[str, Any]) -> dict[str, Any]:
    return {**event, "pending_webhooks": ctx.tx.pending_webhooks(event["id"])}


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    where: list[tuple[str, Any]] = []
    if "type" in params:
        # "payment_intent.*" stands for all types with this prefix.
        operator = "GLOB" if params["type"].endswith("*") else "="
        where.append((f"$.type {operator}", params["type"]))
    page = list_page(ctx, "event", "/v1/events", params, where=where)
    return {**page, "data": [with_pending_webhooks(ctx, event) for event in page["data"]]}


def _queue(tx: Transaction, event_id: str, type: str, endpoint_ids: list[str]) -> None:
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
