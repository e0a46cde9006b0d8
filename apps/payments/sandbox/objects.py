"""What Stripe's objects share: ids, metadata, lists, expansion; and a request's context."""

import json
import re
import secrets
import string
import time
from dataclasses import dataclass, field
from typing import Any

from .errors import ApiError, invalid_params, missing
from .store import Transaction

API_VERSION = "2026-10-28.endive"
ALPHABET = string.ascii_letters + string.digits
EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
DEFAULT_LIMIT = 10

# Which fields hold the id of which kind of object; only these can be expanded.
EXPANDABLE = {
    "payment_intent": {
        "customer": "customer",
        "payment_method": "payment_method",
        "latest_charge": "charge",
    },
    "charge": {"customer": "customer", "payment_intent": "payment_intent"},
    "payment_method": {"customer": "customer"},
    "setup_intent": {"customer": "customer", "payment_method": "payment_method"},
    "checkout.session": {
        "customer": "customer",
        "line_items": "line_items",
        "payment_intent": "payment_intent",
        "setup_intent": "setup_intent",
    },
    "item": {"price": "price"},
    "price": {"product": "product"},
    "dispute": {"charge": "charge", "payment_intent": "payment_intent"},
    "refund": {"charge": "charge", "payment_intent": "payment_intent"},
}


@dataclass
class Context:
    """One request on its way through a handler."""

    tx: Transaction
    base_url: str
    request_id: str | None = None
    idempotency_key: str | None = None
    is_publishable: bool = False
    now: int = field(default_factory=lambda: int(time.time()))

    def require(self, kind: str, id: str, *, param: str | None = None) -> dict[str, Any]:
        """The object, or Stripe's `resource_missing` (404; 400 where `param` named the object)."""
        found = self.tx.get(kind, id)
        if found is None:
            raise missing(kind, id, param or "id", status=400 if param else 404)
        return found


def new_id(prefix: str, length: int = 24) -> str:
    return f"{prefix}_{random_text(length)}"


def random_text(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def merged_metadata(current: dict[str, str], given: Any) -> dict[str, str]:
    """Metadata after an update: '' as a whole empties it, '' as a value removes the key.

    Limits as in Stripe: 50 keys of 40 characters with values of 500.
    """
    if given is None:
        return current
    if given == "":
        return {}
    for key, value in given.items():
        if len(key) > 40:
            raise invalid_params(
                "Metadata keys must be under 40 characters. Invalid key: " + key, "metadata"
            )
        if len(value) > 500:
            raise invalid_params(
                f"Metadata values must be under 500 characters, but you passed in a value that is "
                f"{len(value)} characters. Invalid value: {value}",
                f"metadata[{key}]",
            )
    merged = {key: value for key, value in {**current, **given}.items() if value != ""}
    if len(merged) > 50:
        raise invalid_params("You can have up to 50 metadata keys.", "metadata")
    return merged


def only(given: dict[str, Any], supported: tuple[str, ...], path: str) -> None:
    """Refuse what Stripe has inside a parameter and the stand-in hasn't, rather than ignore it."""
    for name in given:
        if name not in supported:
            raise ApiError(
                f"The local Stripe stand-in does not implement the parameter {path}[{name}].",
                code="sandbox_unsupported",
                param=f"{path}[{name}]",
                replayable=False,
            )


def check_email(value: str, param: str) -> None:
    if value and not EMAIL.fullmatch(value):
        raise ApiError(f"Invalid email address: {value}", code="email_invalid", param=param)


def list_page(
    ctx: Context,
    kind: str,
    url: str,
    params: dict[str, Any],
    where: list[tuple[str, Any]] | None = None,
) -> dict[str, Any]:
    """A page of Stripe's list object, newest first, with the usual parameters of a list."""
    limit = _limit(params)
    after, before = params.get("starting_after"), params.get("ending_before")
    if after and before:
        raise invalid_params(
            "You can only specify one of these parameters: ending_before, starting_after.",
            "ending_before",
        )
    for param in ("starting_after", "ending_before"):
        if param in params:
            ctx.require(kind, params[param], param=param)
    conditions = [*(where or []), *_created(params.get("created"))]
    found = ctx.tx.find(kind, where=conditions, after=after, before=before, limit=limit + 1)
    has_more = len(found) > limit
    if has_more:
        found = found[1:] if before else found[:limit]
    return {"object": "list", "url": url, "has_more": has_more, "data": found}


def line_items(ctx: Context, session_id: str, params: dict[str, Any]) -> dict[str, Any]:
    """A page of a Checkout Session's lines, in the order they were given."""
    limit = _limit(params)
    lines: list[dict[str, Any]] = ctx.tx.private(session_id).get("lines", [])
    ids = [line["id"] for line in lines]
    for name in ("starting_after", "ending_before"):
        if name in params and params[name] not in ids:
            raise ApiError(
                f"No such line item: '{params[name]}'", code="resource_missing", param=name
            )
    if "ending_before" in params:
        end = ids.index(params["ending_before"])
        first = max(0, end - limit)
        has_more = first > 0
    else:
        first = ids.index(params["starting_after"]) + 1 if "starting_after" in params else 0
        end = first + limit
        has_more = end < len(lines)
    return {
        "object": "list",
        "url": f"/v1/checkout/sessions/{session_id}/line_items",
        "has_more": has_more,
        "data": lines[first:end],
    }


def _limit(params: dict[str, Any]) -> int:
    limit: int = params.get("limit", DEFAULT_LIMIT)
    if not 1 <= limit <= 100:
        bound = "less than or equal to 100" if limit > 100 else "greater than or equal to 1"
        raise invalid_params(f"This value must be {bound}.", "limit", "parameter_invalid_integer")
    return limit


def _created(created: Any) -> list[tuple[str, Any]]:
    if created is None:
        return []
    if isinstance(created, int):
        return [("$.created =", created)]
    operators = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
    return [(f"$.created {operators[name]}", value) for name, value in created.items()]


def expand(ctx: Context, body: dict[str, Any], paths: list[str]) -> dict[str, Any]:
    """A copy with the named ids replaced by their objects (`latest_charge`, `data.customer`, …).

    Raises ApiError 400 for a path that can't be expanded.
    """
    expanded: dict[str, Any] = json.loads(json.dumps(body))
    for path in paths:
        _expand_path(ctx, expanded, path.split("."), path)
    return expanded


def _expand_path(ctx: Context, body: dict[str, Any], parts: list[str], full: str) -> None:
    name, rest = parts[0], parts[1:]
    if body.get("object") == "list" and name == "data" and rest:
        for item in body["data"]:
            _expand_path(ctx, item, rest, full)
        return
    kind = EXPANDABLE.get(body.get("object", ""), {}).get(name)
    if kind is None:
        raise ApiError(f"This property cannot be expanded ({full}).", param="expand")
    if kind == "line_items":
        body[name] = line_items(ctx, body["id"], {})
    if isinstance(body.get(name), str):
        body[name] = ctx.tx.get(kind, body[name]) or body[name]
    if rest and isinstance(body[name], dict):
        _expand_path(ctx, body[name], rest, full)
