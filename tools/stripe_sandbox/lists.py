"""Lists, page by page."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from .context import Context
from .errors import invalid_params

DEFAULT_LIMIT = 10


def list_page(
    ctx: Context,
    kind: str,
    url: str,
    params: dict[str, Any],
    *,
    by: Sequence[str] = (),
    where: Sequence[tuple[str, Any]] = (),
) -> dict[str, Any]:
    """A page of objects, newest first, for Stripe's usual list parameters.

    `by` names the parameters that must equal the object's field, `where` holds further conditions
    for `Transaction.find`. Raises ApiError 400.
    """
    limit = _limit(params)
    after = params.get("starting_after")
    if after:
        ctx.require(kind, after, param="starting_after")
    equal = [(f"$.{name} =", params[name]) for name in by if name in params]
    conditions = [*where, *equal, *_created(params.get("created", {}))]
    objects = ctx.tx.find(kind, where=conditions, after=after, limit=limit + 1)
    return {
        "object": "list",
        "url": url,
        "has_more": len(objects) > limit,
        "data": objects[:limit],
    }


def line_items(ctx: Context, session_id: str, params: dict[str, Any]) -> dict[str, Any]:
    """The first lines of a Checkout Session, in the order of the request. Raises ApiError 400."""
    limit = _limit(params)
    lines: list[dict[str, Any]] = ctx.tx.private(session_id).get("lines", [])
    return {
        "object": "list",
        "url": f"/v1/checkout/sessions/{quote(session_id, safe='')}/line_items",
        "has_more": len(lines) > limit,
        "data": lines[:limit],
    }


def _limit(params: dict[str, Any]) -> int:
    limit: int = params.get("limit", DEFAULT_LIMIT)
    if not 1 <= limit <= 100:
        bound = "less than or equal to 100" if limit > 100 else "greater than or equal to 1"
        raise invalid_params(f"This value must be {bound}.", "limit", "parameter_invalid_integer")
    return limit


def _created(created: dict[str, int]) -> list[tuple[str, Any]]:
    operators = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
    return [(f"$.created {operators[name]}", value) for name, value in created.items()]
