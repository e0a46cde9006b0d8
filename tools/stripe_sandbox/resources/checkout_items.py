"""The line items of a Checkout Session, with discount and totals."""

from dataclasses import dataclass
from typing import Any

from ..context import Context
from ..errors import ApiError, invalid_params
from ..fields import nullable, refuse_unsupported
from .coupons import redeemable
from .payment_intents import MAXIMUM_AMOUNT, MINIMUM_AMOUNTS, money

MAXIMUM_LINES = 100
LINE = ("price_data", "quantity")
PRICE_DATA = ("currency", "product_data", "unit_amount")
PRODUCT_DATA = ("description", "name")


@dataclass(frozen=True)
class Cart:
    lines: list[dict[str, Any]]
    currency: str
    coupons: list[dict[str, Any]]

    @property
    def subtotal(self) -> int:
        return sum(line["amount_subtotal"] for line in self.lines)

    @property
    def discount(self) -> int:
        return sum(line["amount_discount"] for line in self.lines)

    @property
    def total(self) -> int:
        return self.subtotal - self.discount


def new_cart(ctx: Context, params: dict[str, Any]) -> Cart:
    """The lines of a new session, each with its share of the discount.

    Raises ApiError 400 for no lines, another currency, an invalid coupon or a total beyond
    Stripe's limits.
    """
    items = params.get("line_items")
    if not items:
        raise invalid_params(
            "The `line_items` parameter is required in payment mode.",
            "line_items",
            "parameter_missing",
        )
    if len(items) > MAXIMUM_LINES:
        raise invalid_params(
            f"The `line_items` parameter is limited to {MAXIMUM_LINES} items.", "line_items"
        )
    lines = [_line(ctx, item, f"line_items[{index}]") for index, item in enumerate(items)]
    currency: str = lines[0]["currency"]
    coupons = [_coupon(ctx, discount) for discount in params.get("discounts", [])]
    if {currency} != {priced["currency"] for priced in (*lines, *coupons)} or len(coupons) > 1:
        raise ApiError("A Checkout Session has one currency and at most one discount.")
    for coupon in coupons:
        _distribute_discount(lines, coupon["amount_off"])
    cart = Cart(lines, currency, coupons)
    _check_total(cart)
    return cart


def _line(ctx: Context, item: dict[str, Any], path: str) -> dict[str, Any]:
    refuse_unsupported(item, LINE, path)
    data = item.get("price_data", {})
    refuse_unsupported(data, PRICE_DATA, f"{path}[price_data]")
    given = {**data, "quantity": item.get("quantity")}
    for name in ("currency", "product_data", "unit_amount", "quantity"):
        if given.get(name) is None:
            full = f"{path}[{name}]" if name == "quantity" else f"{path}[price_data][{name}]"
            raise invalid_params(f"Missing required param: {full}.", full, "parameter_missing")
    currency = data["currency"].lower()
    for name in ("unit_amount", "quantity"):
        if given[name] < 1:
            raise invalid_params(
                "This value must be greater than or equal to 1.",
                f"{path}[{name}]",
                "parameter_invalid_integer",
            )
    product = _product(ctx, data["product_data"], f"{path}[price_data][product_data]")
    amount = data["unit_amount"] * item["quantity"]
    return {
        "id": ctx.new_id("li_"),
        "object": "item",
        "adjustable_quantity": None,
        "amount_discount": 0,
        "amount_subtotal": amount,
        "amount_tax": 0,
        "amount_total": amount,
        "currency": currency,
        "description": product["name"],
        "metadata": {},
        "price": _price(ctx, data, product["id"], currency),
        "quantity": item["quantity"],
    }


def _product(ctx: Context, data: dict[str, Any], path: str) -> dict[str, Any]:
    refuse_unsupported(data, PRODUCT_DATA, path)
    product = {
        **nullable("product"),
        "id": ctx.new_id("prod_", 14),
        "object": "product",
        "active": False,
        "created": ctx.now,
        "description": data.get("description"),
        "images": [],
        "livemode": False,
        "marketing_features": [],
        "metadata": {},
        "name": data["name"],
        "type": "service",
        "updated": ctx.now,
    }
    ctx.tx.insert(product)
    return product


def _price(ctx: Context, data: dict[str, Any], product: str, currency: str) -> dict[str, Any]:
    """The price of `price_data`. It is inactive because no other session can use it."""
    return {
        "id": ctx.new_id("price_"),
        "object": "price",
        "active": False,
        "billing_scheme": "per_unit",
        "created": ctx.now,
        "currency": currency,
        "custom_unit_amount": None,
        "livemode": False,
        "lookup_key": None,
        "metadata": {},
        "nickname": None,
        "product": product,
        "recurring": None,
        "tax_behavior": "unspecified",
        "tiers_mode": None,
        "transform_quantity": None,
        "type": "one_time",
        "unit_amount": data["unit_amount"],
        "unit_amount_decimal": str(data["unit_amount"]),
    }


def _coupon(ctx: Context, discount: dict[str, Any]) -> dict[str, Any]:
    refuse_unsupported(discount, ("coupon",), "discounts[0]")
    return redeemable(ctx, discount["coupon"], "discounts[0][coupon]")


def _distribute_discount(lines: list[dict[str, Any]], amount_off: int) -> None:
    """Distribute the discount over the lines. The parts add up to it exactly."""
    subtotal = sum(line["amount_subtotal"] for line in lines)
    discount = min(amount_off, subtotal)
    subtotal_so_far = discount_so_far = 0
    for line in lines:
        subtotal_so_far += line["amount_subtotal"]
        target = discount * subtotal_so_far // subtotal
        line["amount_discount"] = target - discount_so_far
        line["amount_total"] = line["amount_subtotal"] - line["amount_discount"]
        discount_so_far = target


def _check_total(cart: Cart) -> None:
    minimum = MINIMUM_AMOUNTS[cart.currency]
    if not minimum <= cart.total <= MAXIMUM_AMOUNT:
        raise ApiError(
            "The Checkout Session's total amount due must add up to at least "
            f"{money(minimum, cart.currency)} {cart.currency}, and not exceed Stripe's limit.",
            code="amount_too_small" if cart.total < minimum else "amount_too_large",
        )
