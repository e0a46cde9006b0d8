"""Checkout Sessions: create, read, expire. `checkout_payment.py` pays them."""

import re
from typing import Any
from urllib.parse import quote

from ..context import Context
from ..errors import ApiError, invalid_params
from ..fields import check_email, merged_metadata, nullable, refuse_unsupported
from ..lists import line_items, list_page
from . import checkout_completion, checkout_items, customers

MINUTES_AT_LEAST = 30
HOURS_AT_MOST = 24
TEXT_AT_MOST = 1200
URL = re.compile(r"https?://[^\s/]+(/\S*)?")
INTENT_DATA = ("description", "metadata", "receipt_email", "setup_future_usage")


def create(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    """Create an open session with the URL of its page. Paying creates the payment intent.

    Raises ApiError 400 for parameters that exclude each other, and for amounts and times beyond
    Stripe's limits.
    """
    _check_mode(params)
    _check_urls(params)
    _check_adaptive_pricing(params)
    customer = customers.require_active(ctx, params["customer"], param="customer")
    expires_at = _expires_at(ctx, params)
    cart = checkout_items.new_cart(ctx, params)
    intent_data = _intent_data(params)
    id = ctx.new_id("cs_test_a1", 56)
    session = {
        **nullable("checkout.session"),
        "id": id,
        "object": "checkout.session",
        "adaptive_pricing": {"enabled": False},
        "amount_subtotal": cart.subtotal,
        "amount_total": cart.total,
        "automatic_tax": {"enabled": False, "liability": None, "provider": None, "status": None},
        "cancel_url": params.get("cancel_url"),
        "client_reference_id": params.get("client_reference_id"),
        "created": ctx.now,
        "currency": cart.currency,
        "custom_fields": [],
        "custom_text": {
            "after_submit": None,
            "shipping_address": None,
            "submit": _submit_text(params),
            "terms_of_service_acceptance": None,
        },
        "customer": customer["id"],
        "customer_details": checkout_completion.details(
            customer["email"], customer["name"], customer["phone"]
        ),
        "discounts": [{"coupon": coupon["id"], "promotion_code": None} for coupon in cart.coupons],
        "excluded_payment_method_types": params.get("excluded_payment_method_types"),
        "expires_at": expires_at,
        "invoice_creation": _no_invoice(),
        "livemode": False,
        "locale": params.get("locale"),
        "metadata": merged_metadata({}, params.get("metadata")),
        "mode": "payment",
        "payment_method_collection": "if_required",
        "payment_method_options": {"card": {"request_three_d_secure": "automatic"}},
        "payment_method_types": ["card"],
        "payment_status": "unpaid",
        "phone_number_collection": {"enabled": False},
        "shipping_options": [],
        "status": "open",
        "submit_type": params.get("submit_type"),
        "success_url": params["success_url"],
        "total_details": {
            "amount_discount": cart.discount,
            "amount_shipping": 0,
            "amount_tax": 0,
        },
        "ui_mode": "hosted_page",
        "url": f"{ctx.base_url}/c/pay/{quote(id, safe='')}",
    }
    ctx.tx.insert(session, {"lines": cart.lines, "intent_data": intent_data})
    return session


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return with_current_status(ctx, ctx.require("checkout.session", id))


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    by = ("customer", "payment_intent")
    page = list_page(ctx, "checkout.session", "/v1/checkout/sessions", params, by=by)
    return {**page, "data": [with_current_status(ctx, session) for session in page["data"]]}


def list_line_items(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    ctx.require("checkout.session", id)
    return line_items(ctx, id, params)


def expire(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    session = ctx.require("checkout.session", id)
    status = with_current_status(ctx, session)["status"]
    if status != "open":
        raise ApiError(
            'Only Checkout Sessions with a status in ["open"] can be expired. This Checkout '
            f"Session has a status of `{status}`."
        )
    checkout_completion.expire(ctx, session)
    return session


def with_current_status(ctx: Context, session: dict[str, Any]) -> dict[str, Any]:
    """The session as the API shows it: expired after its expiry time, even if not stored yet."""
    if checkout_completion.has_expired(ctx, session):
        return {**session, "status": "expired", "url": None}
    return session


def _check_mode(params: dict[str, Any]) -> None:
    if params.get("mode") != "payment":
        raise ApiError(
            "The Stripe sandbox has hosted pages for payments of a known customer only.",
            code="sandbox_unsupported",
            param="mode",
        )
    if "card" in params.get("excluded_payment_method_types", []):
        raise ApiError(
            "No valid payment method types for this Checkout Session: the sandbox has cards "
            "only, and they are left out.",
            param="excluded_payment_method_types",
        )


def _check_urls(params: dict[str, Any]) -> None:
    for name in ("success_url", "cancel_url"):
        if name in params and not URL.fullmatch(params[name]):
            raise ApiError("Not a valid URL", code="url_invalid", param=name)


def _expires_at(ctx: Context, params: dict[str, Any]) -> int:
    at: int = params.get("expires_at", ctx.now + HOURS_AT_MOST * 3600)
    if at < ctx.now + MINUTES_AT_LEAST * 60:
        bound = f"at least {MINUTES_AT_LEAST} minutes"
    elif at > ctx.now + HOURS_AT_MOST * 3600:
        bound = f"less than {HOURS_AT_MOST} hours"
    else:
        return at
    raise ApiError(
        f"The `expires_at` timestamp must be {bound} from Checkout Session creation.",
        param="expires_at",
    )


def _submit_text(params: dict[str, Any]) -> dict[str, str] | None:
    """The merchant's text next to the pay button."""
    refuse_unsupported(params.get("custom_text", {}), ("submit",), "custom_text")
    text: dict[str, str] | None = params.get("custom_text", {}).get("submit")
    if text and len(text["message"]) > TEXT_AT_MOST:
        raise invalid_params(
            f"Invalid string: must be at most {TEXT_AT_MOST} characters",
            "custom_text[submit][message]",
            "parameter_invalid_string",
        )
    return text or None


def _check_adaptive_pricing(params: dict[str, Any]) -> None:
    if params.get("adaptive_pricing", {}).get("enabled"):
        raise ApiError(
            "The Stripe sandbox does not convert prices.",
            code="sandbox_unsupported",
            param="adaptive_pricing[enabled]",
        )


def _no_invoice() -> dict[str, Any]:
    return {
        "enabled": False,
        "invoice_data": {
            "account_tax_ids": None,
            "custom_fields": None,
            "description": None,
            "footer": None,
            "issuer": None,
            "metadata": {},
            "rendering_options": None,
        },
    }


def _intent_data(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters for the later intent. Stripe checks them when the session is created."""
    data: dict[str, Any] = params.get("payment_intent_data", {})
    refuse_unsupported(data, INTENT_DATA, "payment_intent_data")
    merged_metadata({}, data.get("metadata"))
    check_email(data.get("receipt_email", ""), "payment_intent_data[receipt_email]")
    return data
