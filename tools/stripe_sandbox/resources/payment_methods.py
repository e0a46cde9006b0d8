"""Payment methods: cards, Bizum and PayPal."""

import hashlib
import time
from dataclasses import replace
from typing import Any

from .. import cards
from ..context import Context
from ..errors import ApiError, card_error, invalid_params
from ..fields import check_email
from . import customers, events

NO_BILLING_DETAILS = {"address": None, "email": None, "name": None, "phone": None, "tax_id": None}
NO_ADDRESS = {
    "city": None,
    "country": None,
    "line1": None,
    "line2": None,
    "postal_code": None,
    "state": None,
}


# Methods whose buyers leave the shop's page, with the fields of a payment method of each.
REDIRECTING: dict[str, dict[str, Any]] = {
    "bizum": {"buyer_id": None},
    "paypal": {"country": None, "payer_email": None, "payer_id": None},
}


def create(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
    kind = params.get("type", "")
    if kind in REDIRECTING:
        return store_redirecting(ctx, kind, params.get("billing_details"))
    if kind != "card":
        raise ApiError(
            "The Stripe sandbox knows cards, Bizum and PayPal only.",
            code="sandbox_unsupported",
            param="type",
        )
    card = params.get("card", {})
    for name in ("number", "exp_month", "exp_year"):
        if name not in card:
            full = f"card[{name}]"
            raise invalid_params(f"Missing required param: {full}.", full, "parameter_missing")
    if not ctx.is_publishable:
        raise ApiError(
            "Sending credit card numbers directly to the Stripe API is generally unsafe. We "
            "suggest you use test tokens that map to the test card you are using, see "
            "https://stripe.com/docs/testing.",
            status=402,
        )
    number, expiry = _checked_number(card, ctx.now)
    return _insert(ctx, number, expiry, params.get("billing_details"))


def from_named(ctx: Context, id: str) -> dict[str, Any] | None:
    """A new payment method for a name such as `pm_card_visa`. None for other ids."""
    number = cards.NAMED_PAYMENT_METHODS.get(id)
    return _insert(ctx, number, _far_expiry(ctx), None) if number else None


def store_visa(ctx: Context, id: str | None = None) -> dict[str, Any]:
    """Store a card 4242 4242 4242 4242, with this id or a new one."""
    number = cards.NAMED_PAYMENT_METHODS["pm_card_visa"]
    return _insert(ctx, number, _far_expiry(ctx), None, id=id)


def find(ctx: Context, id: str) -> dict[str, Any]:
    return from_named(ctx, id) or ctx.require("payment_method", id, param="payment_method")


def card_of(ctx: Context, method: dict[str, Any]) -> cards.Card:
    """The behavior of the card or other method: that of its number, unless a test set a refusal."""
    private = ctx.tx.private(method["id"])
    card = cards.CARDS.get(private.get("number", ""), cards.APPROVED)
    refusal = private.get("refusal")
    if refusal is None:
        return card
    if refusal == cards.AUTHENTICATION_REQUIRED.code:
        return replace(card, decline=None, authentication="always")
    return replace(card, decline=cards.DECLINES[refusal], authentication="")


def set_refusal(ctx: Context, id: str, refusal: str | None) -> dict[str, Any]:
    """Decline this card from now on, or require 3-D Secure. None undoes it."""
    method = ctx.require("payment_method", id)
    ctx.tx.save_private(id, ctx.tx.private(id) | {"refusal": refusal})
    return method


def retrieve(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    return ctx.require("payment_method", id)


def attach(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    """Save a card for a customer. As at Stripe, a card that would be declined is refused."""
    method = from_named(ctx, id) or ctx.require("payment_method", id)
    customer = customers.require_active(ctx, params["customer"], param="customer")
    if method["customer"] == customer["id"]:
        return method
    if method["customer"]:
        raise ApiError("The payment method you provided has already been attached to a customer.")
    check_reusable(ctx, method)
    card = card_of(ctx, method)
    if card.decline and not card.attachable:
        raise card_error(
            card.decline.code, card.decline.message, decline_code=card.decline.decline_code
        )
    return save_for(ctx, method, customer["id"])


def save_for(ctx: Context, method: dict[str, Any], customer: str) -> dict[str, Any]:
    method["customer"] = customer
    ctx.tx.save(method)
    events.record(ctx, "payment_method.attached", method)
    return method


def detach(ctx: Context, params: dict[str, Any], id: str) -> dict[str, Any]:
    method = ctx.require("payment_method", id)
    if not method["customer"]:
        raise ApiError(
            "The payment method you provided is not attached to a customer so detachment is "
            "impossible."
        )
    previous = {"customer": method["customer"]}
    method["customer"] = None
    ctx.tx.save(method)
    mark_used(ctx, method)
    events.record(ctx, "payment_method.detached", method, previous)
    return method


def check_reusable(ctx: Context, method: dict[str, Any]) -> None:
    if ctx.tx.private(method["id"]).get("used"):
        raise ApiError(
            "This PaymentMethod was previously used without being attached to a Customer or was "
            "detached from a Customer, and may not be used again. To use a PaymentMethod multiple "
            "times, you must attach it to a Customer first."
        )


def authenticate(ctx: Context, method: dict[str, Any]) -> None:
    """Record that the cardholder has authenticated the card for off-session charges."""
    private = ctx.tx.private(method["id"])
    ctx.tx.save_private(method["id"], private | {"authenticated_for_later": True})


def mark_used(ctx: Context, method: dict[str, Any]) -> None:
    ctx.tx.save_private(method["id"], ctx.tx.private(method["id"]) | {"used": True})


def _checked_number(card: dict[str, Any], now: int) -> tuple[str, tuple[int, int]]:
    number = card["number"].replace(" ", "").replace("-", "")
    month, year = card["exp_month"], card["exp_year"]
    year += 2000 if year < 100 else 0
    if not number.isdigit() or not 12 <= len(number) <= 19 or not cards.luhn_valid(number):
        raise card_error("incorrect_number", "Your card number is incorrect.", param="number")
    if not 1 <= month <= 12:
        raise card_error(
            "invalid_expiry_month", "Your card's expiration month is invalid.", param="exp_month"
        )
    if not is_valid_expiry(month, year, now):
        raise card_error(
            "invalid_expiry_year", "Your card's expiration year is invalid.", param="exp_year"
        )
    card_type = cards.CARDS.get(number)
    cvc = card.get("cvc")
    if cvc is not None and not (cvc.isdigit() and len(cvc) == 3):
        raise card_error("invalid_cvc", "Your card's security code is invalid.", param="cvc")
    if card_type is None:
        decline = cards.LIVE_CARD_DECLINE
        raise card_error(decline.code, decline.message, decline_code=decline.decline_code)
    return number, (month, year)


def is_valid_expiry(month: int, year: int, now: int) -> bool:
    """Whether a card is valid now: until the end of its month, and at most 50 years ahead."""
    today = time.gmtime(now)
    return (today.tm_year, today.tm_mon) <= (year, month) and year <= today.tm_year + 50


def _far_expiry(ctx: Context) -> tuple[int, int]:
    return 12, time.gmtime(ctx.now).tm_year + 1


def _insert(
    ctx: Context,
    number: str,
    expiry: tuple[int, int],
    billing: dict[str, Any] | None,
    *,
    id: str | None = None,
) -> dict[str, Any]:
    details = _card_details(number, expiry)
    return _store(ctx, "card", details, billing, {"number": number}, id=id)


def store_redirecting(
    ctx: Context, kind: str, billing: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Store a payment method of a kind in REDIRECTING."""
    return _store(ctx, kind, dict(REDIRECTING[kind]), billing, {})


def _store(
    ctx: Context,
    kind: str,
    details: dict[str, Any],
    billing: dict[str, Any] | None,
    private: dict[str, Any],
    *,
    id: str | None = None,
) -> dict[str, Any]:
    billing = billing or {}
    check_email(billing.get("email") or "", "billing_details[email]")
    address = billing.get("address") or {}
    method = {
        "id": id or ctx.new_id("pm_"),
        "object": "payment_method",
        "allow_redisplay": "unspecified",
        "billing_details": {
            **NO_BILLING_DETAILS,
            **{name: value or None for name, value in billing.items()},
            "address": {**NO_ADDRESS, **{name: value or None for name, value in address.items()}},
        },
        kind: details,
        "created": ctx.now,
        "customer": None,
        "livemode": False,
        "metadata": {},
        "type": kind,
    }
    ctx.tx.insert(method, private)
    return method


def _card_details(number: str, expiry: tuple[int, int]) -> dict[str, Any]:
    card = cards.CARDS[number]
    return {
        "brand": card.brand,
        "checks": {
            "address_line1_check": None,
            "address_postal_code_check": None,
            "cvc_check": "unchecked",
        },
        "country": "US",
        "display_brand": card.brand,
        "exp_month": expiry[0],
        "exp_year": expiry[1],
        "fingerprint": hashlib.sha256(number.encode()).hexdigest()[:16],
        "funding": "credit",
        "generated_from": None,
        "last4": number[-4:],
        "networks": {"available": [card.brand], "preferred": None},
        "regulated_status": "unregulated",
        "three_d_secure_usage": {"supported": True},
        "wallet": None,
    }
