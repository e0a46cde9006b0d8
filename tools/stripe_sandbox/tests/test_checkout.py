"""Checkout Sessions: API calls, requests of the hosted page, events."""

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
import stripe

from ..testing import SandboxProcess, wait_until

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


def pay(
    session: stripe.checkout.Session, method: str | None, **content: Any
) -> tuple[int, dict[str, Any]]:
    """The request that the hosted page sends to pay. Returns status and JSON."""
    answer = requests.post(
        session.url, json={"payment_method": method, "name": "Ana Pérez", **content}, timeout=60
    )
    return answer.status_code, answer.json()


def event_types(api: stripe.StripeClient, *object_ids: str | None) -> list[str]:
    events = api.v1.events.list({"limit": 100}).data
    wanted = [event for event in events if any(str(id) in str(event.data) for id in object_ids)]
    return [event.type for event in wanted][::-1]


def answer_challenge(
    api: stripe.StripeClient, session: stripe.checkout.Session, *, accept: bool
) -> None:
    intent = api.v1.payment_intents.retrieve(
        api.v1.checkout.sessions.retrieve(session.id).payment_intent
    )
    address = intent.next_action.to_dict()["use_stripe_sdk"]["stripe_js"]
    requests.post(address, json={"accept": accept}, timeout=60).raise_for_status()


def test_paying_on_hosted_page_completes_session(sandbox, api):
    session = new_session(
        api,
        client_reference_id="7",
        metadata={"order_id": "7"},
        payment_intent_data={"metadata": {"order_id": "7"}, "description": "Pedido 7"},
    )
    assert (session.status, session.payment_status) == ("open", "unpaid")
    assert session.payment_intent is None
    assert session.url == f"{sandbox.url}/c/pay/{session.id}"
    assert (session.amount_subtotal, session.amount_total) == (12345, 12345)
    page = requests.get(session.url, timeout=60).text
    assert "Modo de pruebas" in page
    assert "Álgebra" in page
    assert "123,45\N{NO-BREAK SPACE}€" in page

    status, answer = pay(session, sandbox.new_card("4242424242424242").id)

    assert status == 200
    assert answer["url"] == f"http://127.0.0.1/success?session_id={session.id}"
    after = api.v1.checkout.sessions.retrieve(session.id, {"expand": ["payment_intent"]})
    assert (after.status, after.payment_status, after.url) == ("complete", "paid", None)
    assert (after.customer_details.email, after.customer_details.name) == (
        "ana@example.com",
        "Ana Pérez",
    )
    assert after.client_reference_id == "7"
    intent = after.payment_intent
    assert (intent.status, intent.amount_received) == ("succeeded", 12345)
    assert intent.metadata.to_dict() == {"order_id": "7"}
    assert intent.description == "Pedido 7"
    assert event_types(api, session.id, intent.id) == [
        "payment_intent.created",
        "charge.succeeded",
        "payment_intent.succeeded",
        "checkout.session.completed",
    ]


@pytest.mark.parametrize(("accept", "status"), [(True, "complete"), (False, "open")])
def test_3d_secure_decides_whether_session_is_completed(sandbox, api, accept, status):
    session = new_session(api)

    _, answer = pay(session, sandbox.new_card("4000002760003184").id)
    assert (answer["status"], answer["url"]) == ("open", None)
    assert answer["client_secret"].startswith("pi_")
    answer_challenge(api, session, accept=accept)

    assert api.v1.checkout.sessions.retrieve(session.id).status == status
    state = requests.get(f"{session.url}?state", timeout=60).json()
    assert (state["url"] is not None) is accept


def test_processing_payment_completes_session_unpaid_and_reports_success_later(sandbox, api):
    session = new_session(api)

    pay(session, sandbox.new_card("4000009990000005").id)
    after = api.v1.checkout.sessions.retrieve(session.id)
    assert after.status == "complete"

    wait_until(lambda: api.v1.checkout.sessions.retrieve(session.id).payment_status == "paid")
    types = event_types(api, session.id, after.payment_intent)
    assert types[-5:] == [
        "payment_intent.processing",
        "checkout.session.completed",
        "charge.succeeded",
        "payment_intent.succeeded",
        "checkout.session.async_payment_succeeded",
    ]
    completed = api.v1.events.list({"type": "checkout.session.completed", "limit": 1}).data[0]
    assert completed.data.object.payment_status == "unpaid"


def test_session_stays_unpaid_if_processing_payment_is_declined(sandbox, api):
    session = new_session(api)

    pay(session, sandbox.new_card("4000009990000013").id)

    wait_until(
        lambda: "checkout.session.async_payment_failed" in event_types(api, session.id),
    )
    after = api.v1.checkout.sessions.retrieve(session.id, {"expand": ["payment_intent"]})
    assert (after.status, after.payment_status) == ("complete", "unpaid")
    assert after.payment_intent.status == "requires_payment_method"
    assert after.payment_intent.amount_received == 0


def move_expiry_to_the_past(sandbox: SandboxProcess, session_id: str) -> None:
    with sqlite3.connect(sandbox.state, timeout=60) as connection:
        connection.execute(
            "UPDATE objects SET body = json_set(body, '$.expires_at', ?) WHERE id = ?",
            (int(time.time()) - 1, session_id),
        )


def test_session_expires_with_time_and_cancels_its_intent(sandbox, api):
    session = new_session(api)
    pay(session, sandbox.new_card("4000002760003184").id)

    move_expiry_to_the_past(sandbox, session.id)

    assert api.v1.checkout.sessions.retrieve(session.id).status == "expired"
    wait_until(lambda: "checkout.session.expired" in event_types(api, session.id))
    intent = api.v1.checkout.sessions.retrieve(session.id, {"expand": ["payment_intent"]})
    assert intent.payment_intent.status == "canceled"
    assert intent.payment_intent.cancellation_reason == "expired"


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


def test_coupon_discount_is_distributed_over_lines_exactly(sandbox, api):
    coupon = api.v1.coupons.create(
        {
            "amount_off": 1000,
            "currency": "eur",
            "duration": "once",
            "name": "BIENVENIDA",
            "max_redemptions": 1,
        }
    )
    session = new_session(
        api,
        line_items=[line("Álgebra", 3333), line("Cálculo", 3333, 2), line("Física", 1)],
        discounts=[{"coupon": coupon.id}],
    )

    assert (session.amount_subtotal, session.amount_total) == (10000, 9000)
    assert session.total_details.amount_discount == 1000
    assert session.discounts[0].coupon == coupon.id
    lines = api.v1.checkout.sessions.line_items.list(session.id).data
    assert [one.description for one in lines] == ["Álgebra", "Cálculo", "Física"]
    assert [one.quantity for one in lines] == [1, 2, 1]
    assert sum(one.amount_discount for one in lines) == 1000
    assert sum(one.amount_total for one in lines) == 9000
    assert "−10,00\N{NO-BREAK SPACE}€" in requests.get(session.url, timeout=60).text

    pay(session, sandbox.new_card("4242424242424242").id)
    used = api.v1.coupons.retrieve(coupon.id)
    assert (used.times_redeemed, used.valid) == (1, False)
    with pytest.raises(stripe.InvalidRequestError) as refused:
        new_session(api, discounts=[{"coupon": coupon.id}])
    assert refused.value.code == "coupon_expired"


def test_hosted_page_shows_descriptions_discount_name_and_custom_text(api):
    coupon = api.v1.coupons.create({"amount_off": 100, "currency": "eur", "name": "BIENVENIDA"})
    described = line("Álgebra", 3333)
    described["price_data"]["product_data"]["description"] = "Grado en Física"
    session = new_session(
        api,
        line_items=[described],
        discounts=[{"coupon": coupon.id}],
        custom_text={"submit": {"message": "Plazo 1 de 3"}},
        adaptive_pricing={"enabled": False},
    )

    assert session.custom_text.submit.message == "Plazo 1 de 3"
    page = requests.get(session.url, timeout=60).text
    assert "Álgebra<small>Grado en Física</small>" in page
    assert "<dt>BIENVENIDA</dt>" in page
    assert '<p class="note">Plazo 1 de 3</p>' in page


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


def test_sessions_are_listed_by_intent_and_customer(sandbox, api):
    customer = api.v1.customers.create({"email": "bruno@example.com"})
    session = new_session(
        api,
        customer=customer.id,
        payment_intent_data={"setup_future_usage": "off_session"},
    )
    assert session.customer_details.email == "bruno@example.com"
    card = sandbox.new_card("4242424242424242")
    pay(session, card.id)
    intent = api.v1.checkout.sessions.retrieve(session.id).payment_intent

    for query in ({"payment_intent": intent}, {"customer": customer.id}):
        found = api.v1.checkout.sessions.list({**query, "expand": ["data.line_items"]}).data
        assert [one.id for one in found] == [session.id]
        assert found[0].line_items.data[0].description == "Álgebra"
    assert api.v1.payment_methods.retrieve(card.id).customer == customer.id


def test_api_cannot_confirm_or_cancel_intent_of_session(sandbox, api):
    session = new_session(api)
    pay(session, sandbox.new_card("4000000000000002").id)
    intent = api.v1.checkout.sessions.retrieve(session.id).payment_intent

    for attempt in (
        lambda: api.v1.payment_intents.cancel(intent),
        lambda: api.v1.payment_intents.confirm(intent, {"payment_method": "pm_card_visa"}),
    ):
        with pytest.raises(stripe.InvalidRequestError, match="created by Checkout"):
            attempt()


def test_parallel_payments_of_session_charge_once(sandbox, api):
    session = new_session(api)
    cards = [sandbox.new_card("4242424242424242").id for _ in range(8)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda card: pay(session, card)[0], cards))

    assert sorted(answers) == [200] + [400] * 7
    intent = api.v1.checkout.sessions.retrieve(session.id).payment_intent
    assert len(api.v1.charges.list({"payment_intent": intent}).data) == 1
    assert event_types(api, session.id) == ["checkout.session.completed"]


def test_challenge_answered_after_expiry_charges_nothing(sandbox, api):
    session = new_session(api)
    _, answer = pay(session, sandbox.new_card("4000002760003184").id)
    intent = api.v1.payment_intents.retrieve(answer["client_secret"].partition("_secret_")[0])
    challenge = intent.next_action.to_dict()["use_stripe_sdk"]["stripe_js"]

    move_expiry_to_the_past(sandbox, session.id)
    late = requests.post(challenge, json={"accept": True}, timeout=60).json()

    assert late["status"] == "canceled"
    assert api.v1.charges.list({"payment_intent": intent.id}).data == []
    assert api.v1.checkout.sessions.retrieve(session.id).status == "expired"
