"""The line items of a Checkout Session, with discount and totals."""

from dataclasses import dataclass
from typing import Any

from ..context import Context
from ..errors import ApiError, invalid_params
from ..fields import merged_metadata, refuse_unsupported
from . import coupons
from .payment_intents import MAXIMUM_AMOUNT, MINIMUM_AMOUNTS, money

MAXIMUM_LINES = 100
LINE = ("metadata", "price_data", "quantity")
PRICE_DATA = ("currency", "product_data", "tax_behavior", "unit_amount")
PRODUCT_DATA = ("description", "images", "metadata", "name", "unit_label")


@dataclass(frozen=True)
class Cart:
    lines: list[dict[str, Any]]
    currency: str
    coupon: dict[str, Any] | None

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
    """The lines of a new session in `payment` mode, each with its share of the discount.

    A session with a total of zero needs no payment. Raises ApiError 400 for no lines, several
    currencies, an invalid coupon or a total beyond Stripe's limits.
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
    currencies = {line["currency"] for line in lines}
    if len(currencies) > 1:
        raise ApiError(
            "All prices on a Checkout Session must have the same currency.", param="line_items"
        )
    currency = currencies.pop()
    if params.get("currency", currency).lower() != currency:
        raise ApiError(
            f"The currency `{params['currency']}` is not that of the line items, `{currency}`.",
            param="currency",
        )
    coupon = _coupon(ctx, params, currency)
    if coupon is not None:
        _distribute_discount(lines, coupon)
    cart = Cart(lines, currency, coupon)
    _check_total(cart)
    return cart


def _line(ctx: Context, item: dict[str, Any], path: str) -> dict[str, Any]:
    refuse_unsupported(item, LINE, path)
    data = item.get("price_data")
    if data is None:
        raise invalid_params(
            f"Missing required param: {path}[price_data].",
            f"{path}[price_data]",
            "parameter_missing",
        )
    refuse_unsupported(data, PRICE_DATA, f"{path}[price_data]")
    for name in ("product_data", "unit_amount", "quantity"):
        missing = item.get(name) is None if name == "quantity" else data.get(name) is None
        if missing:
            full = f"{path}[quantity]" if name == "quantity" else f"{path}[price_data][{name}]"
            raise invalid_params(f"Missing required param: {full}.", full, "parameter_missing")
    currency = data["currency"].lower()
    if currency not in MINIMUM_AMOUNTS:
        raise ApiError(
            f"Invalid currency: {currency}. The Stripe sandbox supports "
            f"{', '.join(MINIMUM_AMOUNTS)}.",
            param=f"{path}[price_data][currency]",
        )
    if data["unit_amount"] < 0:
        raise invalid_params(
            "This value must be greater than or equal to 0.",
            f"{path}[price_data][unit_amount]",
            "parameter_invalid_integer",
        )
    if item["quantity"] < 1:
        raise invalid_params(
            "This value must be greater than or equal to 1.",
            f"{path}[quantity]",
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
        "metadata": merged_metadata({}, item.get("metadata")),
        "price": _price(ctx, data, product["id"], currency),
        "quantity": item["quantity"],
    }


def _product(ctx: Context, data: dict[str, Any], path: str) -> dict[str, Any]:
    refuse_unsupported(data, PRODUCT_DATA, path)
    product = {
        "id": ctx.new_id("prod_", 14),
        "object": "product",
        "active": False,
        "created": ctx.now,
        "default_price": None,
        "description": data.get("description"),
        "images": data.get("images", []),
        "livemode": False,
        "marketing_features": [],
        "metadata": merged_metadata({}, data.get("metadata")),
        "name": data["name"],
        "package_dimensions": None,
        "shippable": None,
        "statement_descriptor": None,
        "tax_code": None,
        "type": "service",
        "unit_label": data.get("unit_label"),
        "updated": ctx.now,
        "url": None,
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
        "tax_behavior": data.get("tax_behavior", "unspecified"),
        "tiers_mode": None,
        "transform_quantity": None,
        "type": "one_time",
        "unit_amount": data["unit_amount"],
        "unit_amount_decimal": str(data["unit_amount"]),
    }


def _coupon(ctx: Context, params: dict[str, Any], currency: str) -> dict[str, Any] | None:
    discounts = params.get("discounts") or []
    if len(discounts) > 1:
        raise invalid_params("You can only specify one discount.", "discounts")
    if not discounts:
        return None
    refuse_unsupported(discounts[0], ("coupon",), "discounts[0]")
    if "coupon" not in discounts[0]:
        raise invalid_params(
            "Missing required param: discounts[0][coupon].",
            "discounts[0][coupon]",
            "parameter_missing",
        )
    coupon = coupons.redeemable(ctx, discounts[0]["coupon"], "discounts[0][coupon]")
    if coupon["currency"] not in (None, currency):
        raise ApiError(
            f"The coupon {coupon['id']} is in {coupon['currency']}, but the line items are in "
            f"{currency}.",
            param="discounts[0][coupon]",
        )
    return coupon


def _distribute_discount(lines: list[dict[str, Any]], coupon: dict[str, Any]) -> None:
    """Distribute the discount over the lines. The parts add up to it exactly."""
    subtotal = sum(line["amount_subtotal"] for line in lines)
    if coupon["amount_off"] is not None:
        discount = min(coupon["amount_off"], subtotal)
    else:
        discount = round(subtotal * coupon["percent_off"] / 100)
    subtotal_so_far = discount_so_far = 0
    for line in lines:
        subtotal_so_far += line["amount_subtotal"]
        target = discount * subtotal_so_far // subtotal if subtotal else 0
        line["amount_discount"] = target - discount_so_far
        line["amount_total"] = line["amount_subtotal"] - line["amount_discount"]
        discount_so_far = target


def _check_total(cart: Cart) -> None:
    minimum = MINIMUM_AMOUNTS[cart.currency]
    if 0 < cart.total < minimum:
        raise ApiError(
            "The Checkout Session's total amount due must add up to at least "
            f"{money(minimum, cart.currency)} {cart.currency}",
            code="amount_too_small",
        )
    if cart.total > MAXIMUM_AMOUNT:
        raise ApiError(
            "The Checkout Session's total amount due must be no more than "
            f"{money(MAXIMUM_AMOUNT, cart.currency)} {cart.currency}",
            code="amount_too_large",
        )
