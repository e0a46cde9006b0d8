"""Events: each has a copy of its object as it was at that moment."""

import json
from typing import Any

from .. import event_queue
from ..context import API_VERSION, Context
from ..lists import list_page


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
    event_queue.add(ctx.tx, event["id"], type, listening)


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
