"""Coupons: discounts on Checkout Sessions, by amount or by percentage."""

from typing import Any

from ..context import Context
from ..errors import ApiError, invalid_params
from ..fields import merged_metadata
from ..lists import list_page
from . import events


def create(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    id = params.get("id") or ctx.new_id("", 8)
    if ctx.tx.get("coupon", id):
        raise ApiError("Coupon already exists.", code="resource_already_exists")
    _check_value(params)
    if params.get("duration", "once") == "repeating":
        raise ApiError(
            "The Stripe sandbox has no subscriptions, so no repeating coupons.",
            code="sandbox_unsupported",
            param="duration",
        )
    coupon = {
        "id": id,
        "object": "coupon",
        "amount_off": params.get("amount_off"),
        "created": ctx.now,
        "currency": params["currency"].lower() if "amount_off" in params else None,
        "duration": params.get("duration", "once"),
        "duration_in_months": None,
        "livemode": False,
        "max_redemptions": params.get("max_redemptions"),
        "metadata": merged_metadata({}, params.get("metadata")),
        "name": params.get("name"),
        "percent_off": params.get("percent_off"),
        "redeem_by": params.get("redeem_by"),
        "times_redeemed": 0,
        "valid": True,
    }
    ctx.tx.insert(coupon)
    events.record(ctx, "coupon.created", coupon)
    return coupon


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return _with_validity(ctx, ctx.require("coupon", id))


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    page = list_page(ctx, "coupon", "/v1/coupons", params)
    return {**page, "data": [_with_validity(ctx, coupon) for coupon in page["data"]]}


def delete(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    """Delete a coupon. Sessions that use it keep their discount."""
    coupon = ctx.require("coupon", id)
    ctx.tx.delete(id)
    events.record(ctx, "coupon.deleted", coupon)
    return {"id": id, "object": "coupon", "deleted": True}


def redeemable(ctx: Context, id: str, param: str) -> dict[str, Any]:
    """The coupon. Raises ApiError 400 if it is unknown, expired or used up."""
    coupon = _with_validity(ctx, ctx.require("coupon", id, param=param))
    if coupon["redeem_by"] is not None and coupon["redeem_by"] <= ctx.now:
        raise ApiError(f"Coupon expired: {id}", code="coupon_expired", param=param)
    if not coupon["valid"]:
        raise ApiError(
            f"Coupon {id} is used up and cannot be applied.", code="coupon_expired", param=param
        )
    return coupon


def redeem(ctx: Context, id: str) -> None:
    """Count a redemption by a completed session, unless the coupon has been deleted."""
    coupon = ctx.tx.get("coupon", id)
    if coupon is not None:
        coupon["times_redeemed"] += 1
        ctx.tx.save(_with_validity(ctx, coupon))


def _with_validity(ctx: Context, coupon: dict[str, Any]) -> dict[str, Any]:
    limit, redeem_by = coupon["max_redemptions"], coupon["redeem_by"]
    used_up = limit is not None and coupon["times_redeemed"] >= limit
    return {**coupon, "valid": not used_up and (redeem_by is None or redeem_by > ctx.now)}


def _check_value(params: dict[str, Any]) -> None:
    if ("amount_off" in params) == ("percent_off" in params):
        raise invalid_params(
            "You must pass exactly one of percent_off, or amount_off.", "percent_off"
        )
    if "amount_off" in params and "currency" not in params:
        raise invalid_params(
            "You must pass currency when passing amount_off.", "currency", "parameter_missing"
        )
    for name in ("amount_off", "max_redemptions"):
        if params.get(name, 1) < 1:
            raise invalid_params(
                "This value must be greater than or equal to 1.", name, "parameter_invalid_integer"
            )
    if not 0 < params.get("percent_off", 100) <= 100:
        raise invalid_params(
            "Invalid percent_off: it must be above 0 and no more than 100.", "percent_off"
        )
    if len(params.get("name", "")) > 40:
        raise invalid_params(
            "Invalid string: must be at most 40 characters", "name", "parameter_invalid_string"
        )
