"""The `expand` parameter: objects instead of their ids."""

import json
from typing import Any

from .context import Context
from .errors import ApiError
from .lists import line_items

# By kind of object: the fields that can be expanded, and the kind of object whose id they hold.
EXPANDABLE = {
    "payment_intent": {"customer": "customer", "latest_charge": "charge"},
    "charge": {"customer": "customer"},
    "checkout.session": {"line_items": "line_items", "payment_intent": "payment_intent"},
    # The source may be of several kinds.
    "balance_transaction": {"source": "source"},
}
SOURCES = ("charge", "refund", "dispute", "payout")


def expand(ctx: Context, body: dict[str, Any], paths: list[str]) -> dict[str, Any]:
    """A copy of the answer with objects instead of the ids at paths such as `data.customer`.

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
        kinds = SOURCES if kind == "source" else (kind,)
        found = (ctx.tx.get(one, body[name]) for one in kinds)
        body[name] = next((item for item in found if item), body[name])
    if rest and isinstance(body[name], dict):
        _expand_path(ctx, body[name], rest, full)
