"""Save cards with setup intents, and charge them off session."""

from typing import Any

import pytest
import requests
import stripe

from ..testing import SandboxProcess


@pytest.fixture
def customer(api: stripe.StripeClient) -> stripe.Customer:
    return api.v1.customers.create({"email": "ana@example.com"})


def confirm_in_browser(
    sandbox: SandboxProcess, intent: stripe.SetupIntent, method: str
) -> stripe.SetupIntent:
    return sandbox.browser_client().v1.setup_intents.confirm(
        intent.id,
        {
            "client_secret": intent.client_secret,
            "payment_method": method,
            "use_stripe_sdk": True,
            "return_url": "http://127.0.0.1/cuenta",
        },
    )


def answer_challenge(intent: Any, *, accept: bool) -> None:
    address = intent.next_action.to_dict()["use_stripe_sdk"]["stripe_js"]
    requests.post(address, json={"accept": accept}, timeout=60).raise_for_status()


def owner(api: stripe.StripeClient, card: str) -> str | None:
    """The customer for whom the card is saved."""
    return api.v1.payment_methods.retrieve(card).customer


def save(sandbox: SandboxProcess, customer: stripe.Customer, number: str) -> str:
    """Save a card with a setup intent, including 3-D Secure if the card requires it."""
    api = sandbox.client()
    intent = api.v1.setup_intents.create({"customer": customer.id})
    confirmed = confirm_in_browser(sandbox, intent, sandbox.new_card(number).id)
    if confirmed.status == "requires_action":
        answer_challenge(confirmed, accept=True)
    saved = api.v1.setup_intents.retrieve(intent.id)
    assert saved.status == "succeeded"
    return saved.payment_method


def charge(api: stripe.StripeClient, customer: stripe.Customer, card: str) -> stripe.PaymentIntent:
    return api.v1.payment_intents.create(
        {
            "amount": 5000,
            "currency": "eur",
            "customer": customer.id,
            "payment_method": card,
            "off_session": True,
            "confirm": True,
            "return_url": "http://127.0.0.1/cuenta",
        }
    )


def event_types(api: stripe.StripeClient, object_id: str) -> list[str]:
    events = api.v1.events.list({"limit": 100}).data
    return [event.type for event in events if object_id in str(event.data.object)][::-1]


def test_setup_intent_saves_card_without_charging_it(sandbox, api, customer):
    intent = api.v1.setup_intents.create(
        {"customer": customer.id, "usage": "off_session", "metadata": {"order_id": "7"}}
    )
    assert (intent.status, intent.usage) == ("requires_payment_method", "off_session")
    card = sandbox.new_card("4242424242424242").id

    confirmed = confirm_in_browser(sandbox, intent, card)

    assert confirmed.status == "succeeded"
    assert not hasattr(confirmed, "metadata")  # not a public field
    assert owner(api, card) == customer.id
    assert event_types(api, intent.id) == ["setup_intent.created", "setup_intent.succeeded"]
    assert api.v1.charges.list({"customer": customer.id}).data == []
    with pytest.raises(stripe.InvalidRequestError) as again:
        confirm_in_browser(sandbox, intent, card)
    assert again.value.code == "setup_intent_unexpected_state"


def test_browser_needs_client_secret_of_setup_intent(sandbox, api):
    intent = api.v1.setup_intents.create({})
    browser = sandbox.browser_client().v1.setup_intents

    with pytest.raises(stripe.InvalidRequestError, match="client_secret"):
        browser.retrieve(intent.id)
    with pytest.raises(stripe.InvalidRequestError, match="does not match"):
        browser.retrieve(intent.id, {"client_secret": "seti_x_secret_y"})
    assert browser.retrieve(intent.id, {"client_secret": intent.client_secret}).id == intent.id


def test_declined_card_is_not_saved(sandbox, api, customer):
    intent = api.v1.setup_intents.create({"customer": customer.id})

    card = sandbox.new_card("4000000000009995").id

    with pytest.raises(stripe.CardError) as refused:
        confirm_in_browser(sandbox, intent, card)

    assert (refused.value.http_status, refused.value.code) == (402, "card_declined")
    assert refused.value.error.setup_intent.status == "requires_payment_method"
    after = api.v1.setup_intents.retrieve(intent.id)
    assert after.last_setup_error.decline_code == "insufficient_funds"
    assert owner(api, card) is None
    assert event_types(api, intent.id)[-1] == "setup_intent.setup_failed"
    [attempt] = api.v1.setup_attempts.list({"setup_intent": intent.id}).data
    assert (attempt.id, attempt.status) == (after.latest_attempt, "failed")
    assert attempt.setup_error.decline_code == "insufficient_funds"


@pytest.mark.parametrize("accept", [True, False])
def test_3d_secure_decides_whether_card_is_saved(sandbox, api, customer, accept):
    intent = api.v1.setup_intents.create({"customer": customer.id})
    card = sandbox.new_card("4000002500003155").id
    waiting = confirm_in_browser(sandbox, intent, card)
    assert waiting.status == "requires_action"
    page = requests.get(
        waiting.next_action.to_dict()["use_stripe_sdk"]["stripe_js"], timeout=60
    ).text
    assert "que quieres guardar esta tarjeta" in page

    answer_challenge(waiting, accept=accept)

    after = api.v1.setup_intents.retrieve(intent.id)
    assert owner(api, card) == (customer.id if accept else None)
    if accept:
        assert after.status == "succeeded"
        assert charge(api, customer, card).status == "succeeded"
    else:
        assert after.status == "requires_payment_method"
        assert after.last_setup_error.code == "setup_intent_authentication_failure"


def test_detached_card_cannot_be_charged(sandbox, api, customer):
    kept, removed = (save(sandbox, customer, "4242424242424242") for _ in range(2))
    api.v1.payment_methods.detach(removed)

    assert (owner(api, kept), owner(api, removed)) == (customer.id, None)
    with pytest.raises(stripe.InvalidRequestError, match="may not be used again"):
        charge(api, customer, removed)
    assert charge(api, customer, kept).status == "succeeded"


def test_saved_card_is_charged_off_session(sandbox, api, customer):
    card = save(sandbox, customer, "4242424242424242")

    first, second = charge(api, customer, card), charge(api, customer, card)

    assert (first.status, first.amount_received) == ("succeeded", 5000)
    assert second.id != first.id
    assert len(api.v1.charges.list({"customer": customer.id}).data) == 2


def test_declined_off_session_charge_answers_402_with_intent(sandbox, api, customer):
    card = save(sandbox, customer, "4000000000000341")

    with pytest.raises(stripe.CardError) as refused:
        charge(api, customer, card)

    error = refused.value
    assert (error.http_status, error.code) == (402, "card_declined")
    assert error.error.decline_code == "generic_decline"
    intent = api.v1.payment_intents.retrieve(error.error.payment_intent.id)
    assert intent.status == "requires_payment_method"
    assert intent.last_payment_error.payment_method.id == card
    assert event_types(api, intent.id) == [
        "payment_intent.created",
        "charge.failed",
        "payment_intent.payment_failed",
    ]
    assert owner(api, card) == customer.id


def test_customer_authenticates_declined_off_session_charge(sandbox, api, customer):
    card = save(sandbox, customer, "4000002760003184")

    with pytest.raises(stripe.CardError) as refused:
        charge(api, customer, card)
    assert refused.value.code == "authentication_required"
    assert refused.value.error.decline_code == "authentication_required"
    intent = refused.value.error.payment_intent
    assert intent.status == "requires_payment_method"

    waiting = sandbox.browser_client().v1.payment_intents.confirm(
        intent.id,
        {
            "client_secret": intent.client_secret,
            "payment_method": card,
            "use_stripe_sdk": True,
            "return_url": "http://127.0.0.1/cuenta",
        },
    )
    assert waiting.status == "requires_action"
    answer_challenge(waiting, accept=True)

    assert api.v1.payment_intents.retrieve(intent.id).status == "succeeded"


@pytest.mark.parametrize(
    ("refusal", "code", "decline_code"),
    [
        ("insufficient_funds", "card_declined", "insufficient_funds"),
        ("expired_card", "expired_card", None),
        ("authentication_required", "authentication_required", "authentication_required"),
    ],
)
def test_control_declines_saved_card_until_it_is_undone(
    sandbox, api, customer, refusal, code, decline_code
):
    card = save(sandbox, customer, "4242424242424242")
    assert charge(api, customer, card).status == "succeeded"

    sandbox.control("POST", f"payment_methods/{card}", {"refuse": refusal})
    with pytest.raises(stripe.CardError) as refused:
        charge(api, customer, card)
    assert (refused.value.code, refused.value.error.decline_code) == (code, decline_code)

    sandbox.control("POST", f"payment_methods/{card}", {"refuse": None})
    assert charge(api, customer, card).status == "succeeded"


def test_control_refuses_unknown_decline_code(sandbox):
    card = sandbox.new_card("4242424242424242").id
    for path, content in (
        (f"payment_methods/{card}", {"refuse": "por_que_si"}),
        (f"payment_methods/{card}", {}),
        (f"payment_methods/{card}", []),
    ):
        answer = requests.post(f"{sandbox.url}/_sandbox/{path}", json=content, timeout=60)
        assert answer.status_code == 400, content
    answer = requests.post(
        f"{sandbox.url}/_sandbox/payment_methods/pm_x", json={"refuse": None}, timeout=60
    )
    assert answer.status_code == 404
