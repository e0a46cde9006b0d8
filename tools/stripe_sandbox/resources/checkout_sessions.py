"""Checkout Sessions: create, read, change, expire. `checkout_payment.py` pays them."""

import re
from typing import Any
from urllib.parse import quote

from ..context import Context
from ..errors import ApiError, invalid_params
from ..fields import check_email, merged_metadata, refuse_unsupported
from ..lists import line_items, list_page
from . import checkout_completion, checkout_items, customers, payment_intents, setup_intents

MINUTES_AT_LEAST = 30
HOURS_AT_MOST = 24
TEXT_AT_MOST = 1200
URL = re.compile(r"https?://[^\s/]+(/\S*)?")
INTENT_DATA = (
    "capture_method",
    "description",
    "metadata",
    "receipt_email",
    "setup_future_usage",
    "statement_descriptor_suffix",
)
SETUP_DATA = ("description", "metadata")
SETUP_SHARED = ("allowed_payment_method_types", "customer", "excluded_payment_method_types")


def create(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    """Create an open session with the URL of its page. Paying creates the payment intent.

    Raises ApiError 400 for parameters that exclude each other, and for amounts and times beyond
    Stripe's limits.
    """
    mode = _mode(params)
    _check_urls(params)
    _check_customer(ctx, params)
    _check_adaptive_pricing(params)
    expires_at = _expires_at(ctx, params)
    cart = checkout_items.new_cart(ctx, params) if mode == "payment" else None
    session = {
        "id": ctx.new_id("cs_test_a1", 56),
        "object": "checkout.session",
        "adaptive_pricing": {"enabled": False},
        "after_expiration": None,
        "allow_promotion_codes": None,
        "allowed_payment_method_types": params.get("allowed_payment_method_types"),
        "amount_subtotal": cart.subtotal if cart else None,
        "amount_total": cart.total if cart else None,
        "automatic_tax": {"enabled": False, "liability": None, "provider": None, "status": None},
        "billing_address_collection": params.get("billing_address_collection"),
        "cancel_url": params.get("cancel_url"),
        "client_reference_id": params.get("client_reference_id"),
        "client_secret": None,
        "collected_information": None,
        "consent": None,
        "consent_collection": None,
        "created": ctx.now,
        "currency": cart.currency if cart else params.get("currency"),
        "currency_conversion": None,
        "custom_fields": [],
        "custom_text": {
            "after_submit": None,
            "shipping_address": None,
            "submit": _submit_text(params),
            "terms_of_service_acceptance": None,
        },
        "customer": params.get("customer"),
        "customer_account": None,
        "customer_creation": _customer_creation(params),
        "customer_details": _known_customer_details(ctx, params),
        "customer_email": params.get("customer_email"),
        "discounts": _discounts(cart),
        "excluded_payment_method_types": params.get("excluded_payment_method_types"),
        "expires_at": expires_at,
        "invoice": None,
        "invoice_creation": _no_invoice() if cart else None,
        "livemode": False,
        "locale": params.get("locale"),
        "metadata": merged_metadata({}, params.get("metadata")),
        "mode": mode,
        "origin_context": None,
        "payment_intent": None,
        "payment_link": None,
        "payment_method_collection": "always" if mode == "setup" else "if_required",
        "payment_method_configuration_details": None,
        "payment_method_options": {"card": {"request_three_d_secure": "automatic"}},
        "payment_method_types": ["card"],
        "payment_status": "unpaid" if cart and cart.total else "no_payment_required",
        "permissions": None,
        "phone_number_collection": {"enabled": False},
        "recovered_from": None,
        "saved_payment_method_options": None,
        "setup_intent": None,
        "shipping_address_collection": None,
        "shipping_cost": None,
        "shipping_options": [],
        "status": "open",
        "submit_type": params.get("submit_type"),
        "subscription": None,
        "success_url": params["success_url"],
        "total_details": {
            "amount_discount": cart.discount,
            "amount_shipping": 0,
            "amount_tax": 0,
        }
        if cart
        else None,
        "ui_mode": "hosted_page",
        "url": None,
        "wallet_options": None,
    }
    if mode == "setup":
        # In setup mode the intent is created with the session, not with the first attempt.
        data = {name: params[name] for name in SETUP_SHARED if name in params}
        intent = setup_intents.create(ctx, {**data, **_intent_data(params, mode)})
        checkout_completion.link_intent(ctx, intent, session)
    session["url"] = f"{ctx.base_url}/c/pay/{quote(session['id'], safe='')}"
    ctx.tx.insert(
        session,
        {
            "lines": cart.lines if cart else [],
            "intent_data": _intent_data(params, mode),
        },
    )
    return session


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return with_current_status(ctx, ctx.require("checkout.session", id))


def update(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    session = ctx.require("checkout.session", id)
    session["metadata"] = merged_metadata(session["metadata"], params.get("metadata"))
    ctx.tx.save(session)
    return with_current_status(ctx, session)


def list_all(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    where: list[tuple[str, Any]] = [
        (f"$.{name} =", params[name])
        for name in ("customer", "payment_intent", "status")
        if name in params
    ]
    if "customer_details" in params:
        where.append(("$.customer_details.email =", params["customer_details"]["email"]))
    page = list_page(ctx, "checkout.session", "/v1/checkout/sessions", params, where)
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


def _mode(params: dict[str, Any]) -> str:
    mode: str = params.get("mode", "")
    if not mode:
        raise invalid_params("Missing required param: mode.", "mode", "parameter_missing")
    if mode == "subscription":
        raise ApiError(
            "The Stripe sandbox has no subscriptions.",
            code="sandbox_unsupported",
            param="mode",
        )
    if params.get("ui_mode", "hosted_page") != "hosted_page":
        raise ApiError(
            "The Stripe sandbox has hosted pages only.",
            code="sandbox_unsupported",
            param="ui_mode",
        )
    other = {"payment": "setup_intent_data", "setup": "payment_intent_data"}[mode]
    if other in params:
        raise invalid_params(f"You can not pass `{other}` in `{mode}` mode.", other)
    if mode == "setup":
        for name in ("line_items", "discounts", "submit_type"):
            if name in params:
                raise invalid_params(f"You can not pass `{name}` in `{mode}` mode.", name)
        if "currency" not in params and "allowed_payment_method_types" not in params:
            raise invalid_params(
                "Missing required param: currency.", "currency", "parameter_missing"
            )
    types = params.get("allowed_payment_method_types")
    if (types and "card" not in types) or "card" in params.get("excluded_payment_method_types", []):
        raise ApiError(
            "No valid payment method types for this Checkout Session: the sandbox has cards "
            "only, and they are left out.",
            param="allowed_payment_method_types" if types else "excluded_payment_method_types",
        )
    return mode


def _check_urls(params: dict[str, Any]) -> None:
    if "success_url" not in params:
        raise invalid_params(
            "Missing required param: success_url.", "success_url", "parameter_missing"
        )
    for name in ("success_url", "cancel_url"):
        if name in params and not URL.fullmatch(params[name]):
            raise ApiError("Not a valid URL", code="url_invalid", param=name)


def _check_customer(ctx: Context, params: dict[str, Any]) -> None:
    if "customer" in params:
        for name in ("customer_email", "customer_creation"):
            if name in params:
                raise invalid_params(
                    f"You may only specify one of these parameters: customer, {name}.", "customer"
                )
        customers.require_active(ctx, params["customer"], param="customer")
    check_email(params.get("customer_email", ""), "customer_email")
    if len(params.get("client_reference_id", "")) > 200:
        raise invalid_params(
            "Invalid string: must be at most 200 characters",
            "client_reference_id",
            "parameter_invalid_string",
        )


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


def _customer_creation(params: dict[str, Any]) -> str | None:
    if "customer" in params:
        return None
    return str(params.get("customer_creation", "if_required"))


def _known_customer_details(ctx: Context, params: dict[str, Any]) -> dict[str, Any] | None:
    """Customer details that are known before the page is filled in."""
    email = params.get("customer_email")
    name = phone = None
    if "customer" in params:
        customer = ctx.require("customer", params["customer"])
        email, name, phone = customer["email"], customer["name"], customer["phone"]
    return checkout_completion.details(email, name, phone) if email else None


def _discounts(cart: checkout_items.Cart | None) -> list[dict[str, Any]]:
    if cart is None or cart.coupon is None:
        return []
    return [{"coupon": cart.coupon["id"], "promotion_code": None}]


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


def _intent_data(params: dict[str, Any], mode: str) -> dict[str, Any]:
    """The parameters for the later intent. Stripe checks them when the session is created."""
    name, supported = {
        "payment": ("payment_intent_data", INTENT_DATA),
        "setup": ("setup_intent_data", SETUP_DATA),
    }[mode]
    data: dict[str, Any] = params.get(name, {})
    refuse_unsupported(data, supported, name)
    merged_metadata({}, data.get("metadata"))
    payment_intents.check_capture(data, f"{name}[capture_method]")
    check_email(data.get("receipt_email", ""), f"{name}[receipt_email]")
    return data
