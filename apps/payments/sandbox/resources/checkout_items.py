"""What a Checkout Session sells: its line items, their discounts and the totals."""

from dataclasses import dataclass
from typing import Any

from ..errors import ApiError, invalid_params
from ..objects import Context, merged_metadata, new_id, only
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


def cart(ctx: Context, params: dict[str, Any]) -> Cart:
    """The lines of a new session in `payment` mode, each with its share of the discount.

    Raises ApiError 400: no lines, several currencies, a coupon that can't be used, a total beyond
    Stripe's limits. A total of zero is allowed: such a session needs no payment.
    """
    given = params.get("line_items")
    if not given:
        raise invalid_params(
            "The `line_items` parameter is required in payment mode.",
            "line_items",
            "parameter_missing",
        )
    if len(given) > MAXIMUM_LINES:
        raise invalid_params(
            f"The `line_items` parameter is limited to {MAXIMUM_LINES} items.", "line_items"
        )
    lines = [_line(ctx, item, f"line_items[{index}]") for index, item in enumerate(given)]
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
        _share_out(lines, coupon)
    made = Cart(lines, currency, coupon)
    _check_total(made)
    return made


def _line(ctx: Context, item: dict[str, Any], path: str) -> dict[str, Any]:
    only(item, LINE, path)
    data = item.get("price_data")
    if data is None:
        raise invalid_params(
            f"Missing required param: {path}[price_data].",
            f"{path}[price_data]",
            "parameter_missing",
        )
    only(data, PRICE_DATA, f"{path}[price_data]")
    for name in ("product_data", "unit_amount", "quantity"):
        missing = item.get(name) is None if name == "quantity" else data.get(name) is None
        if missing:
            full = f"{path}[quantity]" if name == "quantity" else f"{path}[price_data][{name}]"
            raise invalid_params(f"Missing required param: {full}.", full, "parameter_missing")
    currency = data["currency"].lower()
    if currency not in MINIMUM_AMOUNTS:
        raise ApiError(
            f"Invalid currency: {currency}. The local Stripe stand-in supports "
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
        "id": new_id("li"),
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
    only(data, PRODUCT_DATA, path)
    product = {
        "id": new_id("prod", 14),
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
    """A price made on the fly: inactive, as it belongs to this session alone."""
    return {
        "id": new_id("price"),
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
    given = params.get("discounts") or []
    if len(given) > 1:
        raise invalid_params("You can only specify one discount.", "discounts")
    if not given:
        return None
    only(given[0], ("coupon",), "discounts[0]")
    if "coupon" not in given[0]:
        raise invalid_params(
            "Missing required param: discounts[0][coupon].",
            "discounts[0][coupon]",
            "parameter_missing",
        )
    coupon = coupons.redeemable(ctx, given[0]["coupon"], "discounts[0][coupon]")
    if coupon["currency"] not in (None, currency):
        raise ApiError(
            f"The coupon {coupon['id']} is in {coupon['currency']}, but the line items are in "
            f"{currency}.",
            param="discounts[0][coupon]",
        )
    return coupon


def _share_out(lines: list[dict[str, Any]], coupon: dict[str, Any]) -> None:
    """Give each line its part of the discount, so that the parts add up to it to the cent."""
    subtotal = sum(line["amount_subtotal"] for line in lines)
    if coupon["amount_off"] is not None:
        discount = min(coupon["amount_off"], subtotal)
    else:
        discount = round(subtotal * coupon["percent_off"] / 100)
    seen = given = 0
    for line in lines:
        seen += line["amount_subtotal"]
        upto = discount * seen // subtotal if subtotal else 0
        line["amount_discount"] = upto - given
        line["amount_total"] = line["amount_subtotal"] - line["amount_discount"]
        given = upto


def _check_total(made: Cart) -> None:
    minimum = MINIMUM_AMOUNTS[made.currency]
    if 0 < made.total < minimum:
        raise ApiError(
            "The Checkout Session's total amount due must add up to at least "
            f"{money(minimum, made.currency)} {made.currency}",
            code="amount_too_small",
        )
    if made.total > MAXIMUM_AMOUNT:
        raise ApiError(
            "The Checkout Session's total amount due must be no more than "
            f"{money(MAXIMUM_AMOUNT, made.currency)} {made.currency}",
            code="amount_too_large",
        )
