"""Coupons: discounts on Checkout Sessions, by amount."""

from typing import Any

from ..context import Context
from ..errors import ApiError, invalid_params
from ..fields import merged_metadata, nullable
from . import events


def create(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    for name in ("amount_off", "currency"):
        if name not in params:
            raise invalid_params(f"Missing required param: {name}.", name, "parameter_missing")
    if params.get("duration", "once") != "once" or params["amount_off"] < 1:
        raise ApiError("The Stripe sandbox has coupons of an amount for one payment only.")
    if len(params.get("name", "")) > 40:
        raise invalid_params(
            "Invalid string: must be at most 40 characters", "name", "parameter_invalid_string"
        )
    coupon = {
        **nullable("coupon"),
        "id": ctx.new_id("", 8),
        "object": "coupon",
        "amount_off": params["amount_off"],
        "created": ctx.now,
        "currency": params["currency"].lower(),
        "duration": "once",
        "livemode": False,
        "max_redemptions": params.get("max_redemptions"),
        "metadata": merged_metadata({}, params.get("metadata")),
        "name": params.get("name"),
        "times_redeemed": 0,
        "valid": True,
    }
    ctx.tx.insert(coupon)
    events.record(ctx, "coupon.created", coupon)
    return coupon


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return ctx.require("coupon", id)


def redeemable(ctx: Context, id: str, param: str) -> dict[str, Any]:
    """The coupon. Raises ApiError 400 if it is unknown or used up."""
    coupon = ctx.require("coupon", id, param=param)
    if not coupon["valid"]:
        raise ApiError(
            f"Coupon {id} is used up and cannot be applied.", code="coupon_expired", param=param
        )
    return coupon


def redeem(ctx: Context, id: str) -> None:
    """Count a redemption by a completed session."""
    coupon = ctx.require("coupon", id)
    times, limit = coupon["times_redeemed"] + 1, coupon["max_redemptions"]
    ctx.tx.save({**coupon, "times_redeemed": times, "valid": limit is None or times < limit})
