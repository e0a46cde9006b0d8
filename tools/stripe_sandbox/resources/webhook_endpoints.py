"""Webhook endpoints: create. `webhooks.py` sends events to them."""

from typing import Any
from urllib.parse import urlsplit

from ..context import Context
from ..errors import invalid_params
from ..fields import nullable
from ..ids import random_text
from ..store import Transaction


def create(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    """Create an endpoint. Only this answer contains its secret."""
    secret = f"whsec_{random_text(32)}"
    endpoint = _insert(ctx, params, secret)
    return {**endpoint, "secret": secret}


def _insert(ctx: Context, params: dict[str, Any], secret: str) -> dict[str, Any]:
    _check_url(params["url"])
    endpoint = {
        **nullable("webhook_endpoint"),
        "id": ctx.new_id("we_"),
        "object": "webhook_endpoint",
        "created": ctx.now,
        "enabled_events": params["enabled_events"],
        "livemode": False,
        "metadata": {},
        "status": "enabled",
        "url": params["url"],
    }
    ctx.tx.insert(endpoint, {"secret": secret})
    return endpoint


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
