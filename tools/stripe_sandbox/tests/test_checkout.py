"""What Stripe refuses of Checkout Sessions. The shop's tests open and pay them."""

import time
from typing import Any

import pytest
import requests
import stripe

SUCCESS_URL = "http://127.0.0.1/success?session_id={CHECKOUT_SESSION_ID}"
CANCEL_URL = "http://127.0.0.1/cancel"


def line(name: str, unit_amount: int, quantity: int = 1) -> dict[str, Any]:
    price = {"currency": "eur", "unit_amount": unit_amount, "product_data": {"name": name}}
    return {"price_data": price, "quantity": quantity}


def new_session(api: stripe.StripeClient, **changes: Any) -> stripe.checkout.Session:
    params: dict[str, Any] = {
        "mode": "payment",
        "line_items": [line("Álgebra", 12345)],
        "customer": api.v1.customers.create({"email": "ana@example.com"}).id,
        "success_url": SUCCESS_URL,
        "cancel_url": CANCEL_URL,
        **changes,
    }
    given = {name: value for name, value in params.items() if value is not None}
    return api.v1.checkout.sessions.create(given)


def test_expires_at_is_limited_to_30_minutes_and_24_hours(api):
    now = int(time.time())
    with pytest.raises(stripe.InvalidRequestError) as early:
        new_session(api, expires_at=now + 29 * 60)
    with pytest.raises(stripe.InvalidRequestError) as late:
        new_session(api, expires_at=now + 24 * 3600 + 60)

    assert early.value.user_message == (
        "The `expires_at` timestamp must be at least 30 minutes from Checkout Session creation."
    )
    assert late.value.user_message == (
        "The `expires_at` timestamp must be less than 24 hours from Checkout Session creation."
    )
    assert new_session(api, expires_at=now + 31 * 60).expires_at == now + 31 * 60
    assert new_session(api).expires_at == pytest.approx(now + 24 * 3600, abs=10)


DOLLARS = {"currency": "usd", "unit_amount": 500, "product_data": {"name": "Taza"}}
REFUSED = {
    "no lines": ({"line_items": None}, "`line_items` parameter is required"),
    "invalid success URL": ({"success_url": "javascript:alert(1)"}, "Not a valid URL"),
    "amount too small": ({"line_items": [line("Nada", 10)]}, r"must add up to at least €0\.50 eur"),
    "unknown coupon": ({"discounts": [{"coupon": "NADA"}]}, "No such coupon: 'NADA'"),
    "unknown customer": ({"customer": "cus_nadie"}, "No such customer: 'cus_nadie'"),
    "unknown parameter": ({"cancel_uri": "http://x"}, "Received unknown parameter: cancel_uri"),
    "removed parameter": (
        {"payment_method_types": ["card"]},
        "The parameter payment_method_types is no longer supported",
    ),
    "unsupported parameter": (
        {"payment_intent_data": {"transfer_group": "x"}},
        r"does not implement the parameter payment_intent_data\[transfer_group\]",
    ),
    "adaptive pricing": (
        {"adaptive_pricing": {"enabled": True}},
        "does not convert prices",
    ),
    "text too long": (
        {"custom_text": {"submit": {"message": "x" * 1201}}},
        "at most 1200 characters",
    ),
    "another mode": ({"mode": "setup"}, "for payments of a known customer only"),
    "another currency": (
        {"line_items": [line("Álgebra", 500), {**line("Taza", 500), "price_data": DOLLARS}]},
        "has one currency",
    ),
    "too many lines": ({"line_items": [line("Álgebra", 500)] * 101}, "limited to 100 items"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_session_parameters_are_refused(api, case):
    changes, message = REFUSED[case]
    with pytest.raises(stripe.InvalidRequestError, match=message):
        new_session(api, **changes)


def test_api_cannot_confirm_or_cancel_intent_of_session(sandbox, api):
    session = new_session(api)
    declined = sandbox.new_card("4000000000000002").id
    requests.post(session.url, json={"payment_method": declined, "name": "Ana"}, timeout=60)
    intent = api.v1.checkout.sessions.retrieve(session.id).payment_intent

    for attempt in (
        lambda: api.v1.payment_intents.cancel(intent),
        lambda: api.v1.payment_intents.confirm(intent, {"payment_method": "pm_card_visa"}),
    ):
        with pytest.raises(stripe.InvalidRequestError, match="created by Checkout"):
            attempt()
