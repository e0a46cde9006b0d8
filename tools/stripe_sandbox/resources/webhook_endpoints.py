"""Webhook endpoints: create, read, change, delete. `webhooks.py` sends events to them."""

from typing import Any
from urllib.parse import urlsplit

from ..context import Context
from ..errors import invalid_params
from ..fields import merged_metadata
from ..ids import random_text
from ..lists import list_page
from ..store import Transaction


def create(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    """Create an endpoint. Only this answer contains its secret."""
    secret = f"whsec_{random_text(32)}"
    endpoint = _insert(ctx, params, secret)
    return {**endpoint, "secret": secret}


def _insert(ctx: Context, params: dict[str, Any], secret: str) -> dict[str, Any]:
    _check_url(params["url"])
    endpoint = {
        "id": ctx.new_id("we_"),
        "object": "webhook_endpoint",
        "api_version": params.get("api_version"),
        "application": None,
        "created": ctx.now,
        "description": params.get("description") or None,
        "enabled_events": params["enabled_events"],
        "livemode": False,
        "metadata": merged_metadata({}, params.get("metadata")),
        "status": "enabled",
        "url": params["url"],
    }
    ctx.tx.insert(endpoint, {"secret": secret})
    return endpoint


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return ctx.require("webhook_endpoint", id)


def update(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    endpoint = ctx.require("webhook_endpoint", id)
    if "url" in params:
        _check_url(params["url"])
    endpoint |= {name: params[name] for name in ("url", "enabled_events") if name in params}
    if "description" in params:
        endpoint["description"] = params["description"] or None
    if "disabled" in params:
        endpoint["status"] = "disabled" if params["disabled"] else "enabled"
    endpoint["metadata"] = merged_metadata(endpoint["metadata"], params.get("metadata"))
    ctx.tx.save(endpoint)
    return endpoint


def delete(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    ctx.require("webhook_endpoint", id)
    ctx.tx.delete(id)
    ctx.tx.drop_deliveries(id)
    return {"id": id, "object": "webhook_endpoint", "deleted": True}


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    return list_page(ctx, "webhook_endpoint", "/v1/webhook_endpoints", params)


def register(tx: Transaction, url: str, secret: str) -> None:
    """Register the endpoint of the command line. After a restart its URL and secret are updated."""
    ctx = Context(tx, base_url="")
    id = tx.setting("registered_endpoint", "")
    endpoint = tx.get("webhook_endpoint", id)
    if endpoint is None:
        endpoint = _insert(ctx, {"url": url, "enabled_events": ["*"]}, secret)
        tx.set_setting("registered_endpoint", endpoint["id"])
    else:
        _check_url(url)
        tx.save(endpoint | {"url": url})
        tx.save_private(endpoint["id"], {"secret": secret})


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise invalid_params(
            "Invalid URL: An explicit scheme (such as https) must be provided.", "url"
        )
