"""Lists, page by page."""

from typing import Any
from urllib.parse import quote

from .context import Context
from .errors import ApiError, invalid_params

DEFAULT_LIMIT = 10


def list_page(
    ctx: Context,
    kind: str,
    url: str,
    params: dict[str, Any],
    where: list[tuple[str, Any]] | None = None,
) -> dict[str, Any]:
    """A page of objects, newest first, for Stripe's usual list parameters.

    `where` holds further conditions for `Transaction.find`. Raises ApiError 400.
    """
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
    objects = ctx.tx.find(kind, where=conditions, after=after, before=before, limit=limit + 1)
    has_more = len(objects) > limit
    if has_more:
        objects = objects[1:] if before else objects[:limit]
    return {"object": "list", "url": url, "has_more": has_more, "data": objects}


def line_items(ctx: Context, session_id: str, params: dict[str, Any]) -> dict[str, Any]:
    """A page of a Checkout Session's lines, in the order of the request. Raises ApiError 400."""
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
        "url": f"/v1/checkout/sessions/{quote(session_id, safe='')}/line_items",
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
