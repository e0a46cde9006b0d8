"""Payments: test cards, states, 3-D Secure, saved cards, refunds, lists."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
import requests
import stripe

from ..testing import SandboxProcess, running_sandbox, wait_until

RETURN_URL = "http://127.0.0.1/success"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    state = tmp_path_factory.mktemp("sandbox") / "state.sqlite3"
    with running_sandbox(state, environment={"SANDBOX_PROCESSING_SECONDS": "0.2"}) as process:
        yield process


@pytest.fixture(scope="module")
def api(sandbox: SandboxProcess) -> stripe.StripeClient:
    return sandbox.client()


def new_intent(api: stripe.StripeClient, **params) -> stripe.PaymentIntent:
    given = {"amount": 12345, "currency": "eur", "allowed_payment_method_types": ["card"], **params}
    return api.v1.payment_intents.create(given)


def confirm_in_browser(
    sandbox: SandboxProcess, intent: stripe.PaymentIntent, method: str
) -> stripe.PaymentIntent:
    return sandbox.browser_client().v1.payment_intents.confirm(
        intent.id,
        {"client_secret": intent.client_secret, "payment_method": method, "use_stripe_sdk": True},
    )


def event_types(api: stripe.StripeClient, object_id: str) -> list[str]:
    events = api.v1.events.list({"limit": 100}).data
    return [event.type for event in events if object_id in str(event.data.object)][::-1]


def answer_challenge(intent: stripe.PaymentIntent, *, accept: bool) -> requests.Response:
    address = intent.next_action.to_dict()["use_stripe_sdk"]["stripe_js"]
    return requests.post(address, json={"accept": accept}, timeout=60)


def test_payment_passes_through_its_states(sandbox, api):
    customer = api.v1.customers.create({"email": "ana@example.com", "name": "Ana Pérez"})
    intent = new_intent(
        api,
        customer=customer.id,
        receipt_email="ana@example.com",
        description="Pedido 7",
        metadata={"order": "7"},
    )
    assert intent.status == "requires_payment_method"
    assert intent.livemode is False

    card = sandbox.new_card("4242424242424242")

    intent = api.v1.payment_intents.confirm(
        intent.id, {"payment_method": card.id, "expand": ["latest_charge", "customer"]}
    )
    assert intent.status == "succeeded"
    assert intent.amount_received == 12345
    assert intent.customer.name == "Ana Pérez"
    assert intent.latest_charge.paid is True
    assert intent.latest_charge.metadata.to_dict() == {"order": "7"}
    assert intent.latest_charge.payment_method_details.card.last4 == "4242"
    assert event_types(api, intent.id) == [
        "payment_intent.created",
        "charge.succeeded",
        "payment_intent.succeeded",
    ]


DECLINES = {
    "4000000000000002": ("card_declined", "generic_decline"),
    "4000000000009995": ("card_declined", "insufficient_funds"),
    "4000000000000069": ("expired_card", None),
    "4000000000000127": ("incorrect_cvc", None),
    "4000000000000119": ("processing_error", None),
    "4000000000000341": ("card_declined", "generic_decline"),
}


@pytest.mark.parametrize("number", DECLINES)
def test_declined_card_answers_reason_and_another_card_pays(sandbox, api, number):
    code, decline_code = DECLINES[number]
    intent = new_intent(api)

    with pytest.raises(stripe.CardError) as refused:
        confirm_in_browser(sandbox, intent, sandbox.new_card(number).id)

    error = refused.value
    assert (error.http_status, error.code) == (402, code)
    assert error.error.decline_code == decline_code
    assert error.error.payment_intent.id == intent.id
    after = api.v1.payment_intents.retrieve(intent.id, {"expand": ["latest_charge"]})
    assert after.status == "requires_payment_method"
    assert after.payment_method is None
    assert after.amount_received == 0
    assert after.last_payment_error.code == code
    assert (after.latest_charge.status, after.latest_charge.paid) == ("failed", False)
    assert event_types(api, intent.id) == [
        "payment_intent.created",
        "charge.failed",
        "payment_intent.payment_failed",
    ]
    second = confirm_in_browser(sandbox, intent, sandbox.new_card("4242424242424242").id)
    assert second.status == "succeeded"
    assert second.last_payment_error is None


@pytest.mark.parametrize(
    ("card", "code", "param"),
    [
        ({"number": "4242424242424241"}, "incorrect_number", "number"),
        ({"number": "4242424242424242", "exp_month": 13}, "invalid_expiry_month", "exp_month"),
        ({"number": "4242424242424242", "exp_year": 2020}, "invalid_expiry_year", "exp_year"),
        ({"number": "4242424242424242", "cvc": "12"}, "invalid_cvc", "cvc"),
    ],
)
def test_invalid_card_data_are_refused(sandbox, card, code, param):
    with pytest.raises(stripe.CardError) as refused:
        sandbox.new_card(**card)
    assert (refused.value.code, refused.value.param) == (code, param)


def test_unknown_card_number_is_declined(sandbox):
    with pytest.raises(stripe.CardError) as refused:
        sandbox.new_card("4111111111111111")
    assert refused.value.error.decline_code == "test_mode_live_card"


@pytest.mark.parametrize("number", ["4000002500003155", "4000002760003184"])
def test_accepted_challenge_charges_once(sandbox, api, number):
    intent = new_intent(api)
    waiting = confirm_in_browser(sandbox, intent, sandbox.new_card(number).id)
    assert waiting.status == "requires_action"
    assert api.v1.charges.list({"payment_intent": intent.id}).data == []

    assert answer_challenge(waiting, accept=True).json()["status"] == "succeeded"
    assert answer_challenge(waiting, accept=False).json()["status"] == "succeeded"

    (charge,) = api.v1.charges.list({"payment_intent": intent.id}).data
    assert charge.payment_method_details.card.three_d_secure.result == "authenticated"
    assert event_types(api, intent.id) == [
        "payment_intent.created",
        "payment_intent.requires_action",
        "charge.succeeded",
        "payment_intent.succeeded",
    ]


def test_rejected_challenge_fails_and_another_card_pays(sandbox, api):
    intent = new_intent(api)
    waiting = confirm_in_browser(sandbox, intent, sandbox.new_card("4000002760003184").id)

    answer_challenge(waiting, accept=False)

    failed = api.v1.payment_intents.retrieve(intent.id)
    assert failed.status == "requires_payment_method"
    assert failed.last_payment_error.code == "payment_intent_authentication_failure"
    assert api.v1.charges.list({"payment_intent": intent.id}).data == []
    again = confirm_in_browser(sandbox, intent, sandbox.new_card("4242424242424242").id)
    assert again.status == "succeeded"


def test_new_attempt_invalidates_earlier_challenge(sandbox, api):
    intent = new_intent(api)
    first = confirm_in_browser(sandbox, intent, sandbox.new_card("4000002760003184").id)
    assert api.v1.payment_intents.retrieve(intent.id).status == "requires_action"

    second = confirm_in_browser(sandbox, intent, sandbox.new_card("4000002760003184").id)

    assert answer_challenge(first, accept=True).status_code == 404
    assert answer_challenge(second, accept=True).json()["status"] == "succeeded"


def test_server_side_confirmation_redirects_and_returns(sandbox, api):
    intent = api.v1.payment_intents.create(
        {
            "amount": 500,
            "currency": "eur",
            "payment_method": "pm_card_authenticationRequired",
            "confirm": True,
            "return_url": RETURN_URL + "?order=7",
        }
    )
    assert intent.next_action.type == "redirect_to_url"

    answer = requests.post(
        intent.next_action.redirect_to_url.url, json={"accept": False}, timeout=60
    )

    assert answer.json()["return_url"] == (
        f"{RETURN_URL}?order=7&payment_intent={intent.id}"
        f"&payment_intent_client_secret={intent.client_secret}&redirect_status=failed"
    )


def test_slow_card_is_processing_before_it_succeeds(sandbox, api):
    sandbox.control("POST", "settlement", {"enabled": False})
    intent = confirm_in_browser(sandbox, new_intent(api), sandbox.new_card("4000009990000005").id)
    assert intent.status == "processing"

    with pytest.raises(stripe.InvalidRequestError, match="status of processing"):
        api.v1.payment_intents.cancel(intent.id)
    sandbox.control("POST", "settlement", {"enabled": True})
    wait_until(lambda: api.v1.payment_intents.retrieve(intent.id).status == "succeeded")
    assert event_types(api, intent.id)[-2:] == ["charge.succeeded", "payment_intent.succeeded"]


def test_slow_declining_card_is_processing_before_it_is_declined(sandbox, api):
    intent = confirm_in_browser(sandbox, new_intent(api), sandbox.new_card("4000009990000013").id)
    assert intent.status == "processing"

    wait_until(lambda: api.v1.payment_intents.retrieve(intent.id).status != "processing")

    after = api.v1.payment_intents.retrieve(intent.id, {"expand": ["latest_charge"]})
    assert (after.status, after.amount_received) == ("requires_payment_method", 0)
    assert after.last_payment_error.decline_code == "generic_decline"
    assert after.latest_charge.status == "failed"
    assert event_types(api, intent.id)[-3:] == [
        "payment_intent.processing",
        "charge.failed",
        "payment_intent.payment_failed",
    ]
    again = confirm_in_browser(sandbox, intent, sandbox.new_card("4242424242424242").id)
    assert again.status == "succeeded"


def test_card_saved_with_3d_secure_is_charged_off_session_without_it(sandbox, api):
    customer = api.v1.customers.create({"email": "ana@example.com"})
    first = new_intent(api, customer=customer.id, setup_future_usage="off_session")
    card = sandbox.new_card("4000002500003155")
    answer_challenge(confirm_in_browser(sandbox, first, card.id), accept=True)
    assert api.v1.payment_methods.retrieve(card.id).customer == customer.id

    later = new_intent(
        api,
        customer=customer.id,
        payment_method=card.id,
        off_session=True,
        confirm=True,
        return_url=RETURN_URL,
    )

    assert later.status == "succeeded"


def test_card_that_always_requires_3d_secure_is_declined_off_session(sandbox, api):
    customer = api.v1.customers.create({})
    card = sandbox.new_card("4000002760003184")
    api.v1.payment_methods.attach(card.id, {"customer": customer.id})

    with pytest.raises(stripe.CardError) as refused:
        new_intent(
            api,
            customer=customer.id,
            payment_method=card.id,
            off_session=True,
            confirm=True,
            return_url=RETURN_URL,
        )

    assert refused.value.code == "authentication_required"
    assert refused.value.error.payment_intent.status == "requires_payment_method"


def test_declined_card_cannot_be_attached(sandbox, api):
    customer = api.v1.customers.create({})
    with pytest.raises(stripe.CardError):
        api.v1.payment_methods.attach("pm_card_chargeDeclined", {"customer": customer.id})
    saved = api.v1.payment_methods.attach("pm_card_chargeCustomerFail", {"customer": customer.id})
    assert saved.customer == customer.id
    api.v1.payment_methods.detach(saved.id)
    with pytest.raises(stripe.InvalidRequestError, match="may not be used again"):
        api.v1.payment_methods.attach(saved.id, {"customer": customer.id})


def test_card_of_another_customer_is_refused(sandbox, api):
    ana, bruno = (api.v1.customers.create({"name": name}) for name in ("Ana", "Bruno"))
    card = api.v1.payment_methods.attach("pm_card_visa", {"customer": ana.id})

    with pytest.raises(stripe.InvalidRequestError, match="does not belong to the Customer"):
        new_intent(api, customer=bruno.id, payment_method=card.id)
    with pytest.raises(stripe.InvalidRequestError, match="Please include the Customer"):
        new_intent(api, payment_method=card.id)


def test_unsaved_card_can_be_used_once(sandbox, api):
    card = sandbox.new_card("4242424242424242")
    confirm_in_browser(sandbox, new_intent(api), card.id)

    with pytest.raises(stripe.InvalidRequestError, match="may not be used again"):
        confirm_in_browser(sandbox, new_intent(api), card.id)


def test_parallel_confirmations_charge_once(sandbox, api):
    intent = new_intent(api)
    cards = [sandbox.new_card("4242424242424242").id for _ in range(12)]

    def attempt(card: str) -> str:
        try:
            return confirm_in_browser(sandbox, intent, card).status
        except stripe.InvalidRequestError as error:
            return error.code

    with ThreadPoolExecutor(12) as pool:
        outcomes = sorted(pool.map(attempt, cards))

    assert outcomes == ["payment_intent_unexpected_state"] * 11 + ["succeeded"]
    assert len(api.v1.charges.list({"payment_intent": intent.id}).data) == 1


def test_succeeded_payment_cannot_be_confirmed_or_canceled(sandbox, api):
    intent = confirm_in_browser(sandbox, new_intent(api), sandbox.new_card("4242424242424242").id)

    with pytest.raises(stripe.InvalidRequestError) as confirmed:
        confirm_in_browser(sandbox, intent, sandbox.new_card("4242424242424242").id)
    with pytest.raises(stripe.InvalidRequestError) as canceled:
        api.v1.payment_intents.cancel(intent.id)

    for error in (confirmed.value, canceled.value):
        assert error.code == "payment_intent_unexpected_state"
        assert error.error.payment_intent.status == "succeeded"
    assert "has already succeeded after being previously confirmed" in confirmed.value.user_message


def test_payment_without_card_can_be_canceled_and_not_confirmed_afterwards(sandbox, api):
    intent = api.v1.payment_intents.cancel(new_intent(api).id)

    assert intent.status == "canceled"
    with pytest.raises(stripe.InvalidRequestError, match="status of canceled"):
        confirm_in_browser(sandbox, intent, sandbox.new_card("4242424242424242").id)
    assert event_types(api, intent.id) == ["payment_intent.created", "payment_intent.canceled"]


def test_refunds_never_exceed_charge(sandbox, api):
    intent = confirm_in_browser(sandbox, new_intent(api), sandbox.new_card("4242424242424242").id)

    with pytest.raises(stripe.InvalidRequestError) as too_much:
        api.v1.refunds.create({"payment_intent": intent.id, "amount": 12346})
    assert too_much.value.param == "amount"
    refund = api.v1.refunds.create({"payment_intent": intent.id, "amount": 12000})
    assert refund.status == "succeeded"
    with pytest.raises(stripe.InvalidRequestError, match=r"unrefunded amount on charge \(€3\.45\)"):
        api.v1.refunds.create({"payment_intent": intent.id, "amount": 346})
    api.v1.refunds.create({"payment_intent": intent.id})
    with pytest.raises(stripe.InvalidRequestError) as nothing_left:
        api.v1.refunds.create({"payment_intent": intent.id})

    assert nothing_left.value.code == "charge_already_refunded"
    charge = api.v1.charges.retrieve(refund.charge)
    assert (charge.amount_refunded, charge.refunded) == (12345, True)
    amounts = [one.amount for one in api.v1.refunds.list({"payment_intent": intent.id}).data]
    assert amounts == [345, 12000]


def test_unpaid_payment_cannot_be_refunded(api):
    with pytest.raises(stripe.InvalidRequestError, match="does not have a successful charge"):
        api.v1.refunds.create({"payment_intent": new_intent(api).id})


def test_lists_are_paginated_newest_first(api):
    customer = api.v1.customers.create({})
    made = [new_intent(api, customer=customer.id).id for _ in range(5)]
    other = new_intent(api)

    page = api.v1.payment_intents.list({"customer": customer.id, "limit": 2})
    assert [one.id for one in page.data] == [made[4], made[3]]
    assert page.has_more is True
    assert [one.id for one in page.auto_paging_iter()] == made[::-1]
    assert other.id not in [one.id for one in page.auto_paging_iter()]


def test_payments_and_charges_of_all_customers_are_listed_by_creation_time(sandbox, api):
    paid = []
    for name in ("Ana", "Bruno", "Carla"):
        customer = api.v1.customers.create({"name": name})
        paid.append(
            new_intent(api, customer=customer.id, payment_method="pm_card_visa", confirm=True)
        )
    with closing(sqlite3.connect(sandbox.state, timeout=60)) as database, database:
        for days, intent in enumerate(paid, start=1):
            for id in (intent.id, intent.latest_charge):
                database.execute(
                    "UPDATE objects SET body = json_set(body, '$.created', ?) WHERE id = ?",
                    (days * 86400, id),
                )

    def listed(calls: Any, **created: int) -> list[str]:
        return [one.id for one in calls.list({"created": created, "limit": 1}).auto_paging_iter()]

    intents = [intent.id for intent in paid]
    charges = [intent.latest_charge for intent in paid]
    for calls, ids in ((api.v1.payment_intents, intents), (api.v1.charges, charges)):
        assert listed(calls, gte=86400, lt=4 * 86400) == ids[::-1]
        assert listed(calls, gte=2 * 86400, lt=3 * 86400) == [ids[1]]
        assert listed(calls, gt=86400, lte=3 * 86400) == [ids[2], ids[1]]
