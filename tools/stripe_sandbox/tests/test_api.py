"""The API: parameters, keys, idempotency, restarts, and protection from other sites."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
import stripe

from ..testing import (
    PUBLISHABLE_KEY,
    SECRET_KEY,
    running_sandbox,
)

PAYMENT = {"amount": 5000, "currency": "eur"}


def refusal(call, *args) -> stripe.StripeError:
    with pytest.raises(stripe.StripeError) as refused:
        call(*args)
    return refused.value


@pytest.mark.parametrize(
    ("params", "code", "param", "message"),
    [
        ({"currency": "eur"}, "parameter_missing", "amount", "Missing required param: amount."),
        ({"amount": 5000}, "parameter_missing", "currency", "Missing required param: currency."),
        ({**PAYMENT, "foo": 1}, "parameter_unknown", "foo", "Received unknown parameter: foo"),
        (
            {**PAYMENT, "automatic_payment_methods": {"enabled": True, "x": 1}},
            "parameter_unknown",
            "automatic_payment_methods[x]",
            "Received unknown parameter: automatic_payment_methods[x]",
        ),
        (
            {**PAYMENT, "description": ""},
            "parameter_invalid_empty",
            "description",
            "You passed an empty string for 'description', which cannot be unset. You should "
            "remove 'description' from your request or supply a non-empty value.",
        ),
        ({**PAYMENT, "amount": "50.00"}, None, "amount", "Invalid value for amount: 50.00"),
        ({**PAYMENT, "confirm": "yes"}, None, "confirm", "Invalid value for confirm: yes"),
        (
            {**PAYMENT, "setup_future_usage": "never"},
            None,
            "setup_future_usage",
            "Invalid value for setup_future_usage: never",
        ),
        ({**PAYMENT, "metadata": "x"}, None, "metadata", "Invalid value for metadata: x"),
        (
            {**PAYMENT, "allowed_payment_method_types": "card"},
            None,
            "allowed_payment_method_types",
            "Invalid value for allowed_payment_method_types: card",
        ),
        (
            {**PAYMENT, "payment_method_types": ["card"]},
            "payment_method_types_no_longer_supported",
            "payment_method_types",
            "The parameter payment_method_types is no longer supported.",
        ),
        (
            {**PAYMENT, "excluded_payment_method_types": ["card", "bizum", "paypal"]},
            "payment_intent_invalid_parameter",
            "excluded_payment_method_types",
            "No valid payment method types for this Payment Intent: the sandbox has card, bizum, "
            "paypal, and they are left out.",
        ),
        (
            {**PAYMENT, "description": {"a": 1}},
            None,
            "description",
            "Invalid value for description: {'a': '1'}",
        ),
        (
            {**PAYMENT, "amount": 49},
            "amount_too_small",
            "amount",
            "Amount must be at least €0.50 eur",
        ),
        (
            {**PAYMENT, "transfer_group": "x"},
            "sandbox_unsupported",
            "transfer_group",
            "The Stripe sandbox does not implement the parameter transfer_group.",
        ),
        (
            {**PAYMENT, "off_session": True},
            None,
            "off_session",
            "The parameter `off_session` cannot be passed when creating a PaymentIntent unless "
            "`confirm` is set to true.",
        ),
    ],
)
def test_invalid_parameter_answers_400(sandbox, api, params, code, param, message):
    before = sandbox.control("GET", "state")

    error = refusal(api.v1.payment_intents.create, params)

    assert isinstance(error, stripe.InvalidRequestError)
    assert (error.http_status, error.code, error.param) == (400, code, param)
    assert error.user_message == message
    assert sandbox.control("GET", "state") == before


def test_confirmation_with_possible_redirect_needs_return_url(api):
    params = {**PAYMENT, "payment_method": "pm_card_visa", "confirm": True}
    assert refusal(api.v1.payment_intents.create, params).param == "return_url"
    later = {**params, "off_session": True}
    assert refusal(api.v1.payment_intents.create, later).param == "return_url"
    script = {**params, "return_url": "javascript:alert(1)"}
    assert refusal(api.v1.payment_intents.create, script).code == "url_invalid"
    never = {"enabled": True, "allow_redirects": "never"}
    intent = api.v1.payment_intents.create({**params, "automatic_payment_methods": never})
    assert intent.status == "succeeded"


def test_unknown_field_cannot_be_expanded(api):
    error = refusal(api.v1.payment_intents.create, {**PAYMENT, "expand": ["metadata"]})
    assert error.user_message == "This property cannot be expanded (metadata)."


def test_unknown_object_and_unknown_url_answer_404(sandbox, api):
    error = refusal(api.v1.payment_intents.retrieve, "pi_unknown")
    assert (error.http_status, error.code) == (404, "resource_missing")
    answer = requests.get(f"{sandbox.url}/v1/prices", auth=(SECRET_KEY, ""), timeout=60)
    assert answer.status_code == 404
    assert "Unrecognized request URL" in answer.json()["error"]["message"]


@pytest.mark.parametrize("key", ["sk_test_wrong0123456789", PUBLISHABLE_KEY])
def test_wrong_or_publishable_key_answers_401(sandbox, key):
    error = refusal(sandbox.client(key).v1.charges.list)
    assert isinstance(error, stripe.AuthenticationError)
    assert error.http_status == 401
    assert key not in error.user_message


def test_browser_needs_client_secret_and_sees_public_fields_only(sandbox, api):
    customer = api.v1.customers.create({"email": "ana@example.com"})
    intent = api.v1.payment_intents.create(
        {**PAYMENT, "customer": customer.id, "metadata": {"order": "7"}}
    )
    other = api.v1.payment_intents.create(PAYMENT)
    browser = sandbox.browser_client().v1.payment_intents

    assert refusal(browser.retrieve, intent.id).param == "client_secret"
    wrong = refusal(browser.retrieve, intent.id, {"client_secret": other.client_secret})
    assert wrong.http_status == 400
    seen = browser.retrieve(intent.id, {"client_secret": intent.client_secret}).to_dict()
    assert seen["status"] == "requires_payment_method"
    assert not {"customer", "metadata", "latest_charge"} & set(seen)


def test_browser_cannot_confirm_off_session(sandbox, api):
    intent = api.v1.payment_intents.create(PAYMENT)
    params = {"client_secret": intent.client_secret, "off_session": True}
    error = refusal(sandbox.browser_client().v1.payment_intents.confirm, intent.id, params)
    assert error.param == "off_session"


def test_secret_key_cannot_send_card_numbers(sandbox, api):
    card = {"number": "4242424242424242", "exp_month": 12, "exp_year": 2034}
    error = refusal(api.v1.payment_methods.create, {"type": "card", "card": card})
    assert "generally unsafe" in error.user_message


def test_same_idempotency_key_answers_same_object(api):
    first = api.v1.payment_intents.create(PAYMENT, {"idempotency_key": "order-1"})
    second = api.v1.payment_intents.create(PAYMENT, {"idempotency_key": "order-1"})

    assert first.id == second.id
    assert second.last_response.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.last_response.headers


def test_idempotency_key_with_other_parameters_or_call_is_refused(sandbox, api):
    api.v1.payment_intents.create(PAYMENT, {"idempotency_key": "order-2"})
    before = sandbox.control("GET", "state")

    other = refusal(
        api.v1.payment_intents.create, {**PAYMENT, "amount": 5001}, {"idempotency_key": "order-2"}
    )
    elsewhere = refusal(api.v1.customers.create, {}, {"idempotency_key": "order-2"})

    for error in (other, elsewhere):
        assert isinstance(error, stripe.IdempotencyError)
        assert error.http_status == 400
    assert sandbox.control("GET", "state") == before


def test_parallel_calls_with_one_idempotency_key_create_one_object(api):
    def create(_: int) -> str:
        return api.v1.payment_intents.create(PAYMENT, {"idempotency_key": "order-3"}).id

    with ThreadPoolExecutor(10) as pool:
        assert len(set(pool.map(create, range(10)))) == 1


def test_idempotency_key_stores_declined_payment_but_not_invalid_parameters(sandbox, api):
    params = {**PAYMENT, "allowed_payment_method_types": ["card"], "confirm": True}
    declined = {**params, "payment_method": "pm_card_chargeDeclined"}
    options = {"idempotency_key": "order-4"}
    first = refusal(api.v1.payment_intents.create, declined, options)
    charges = sandbox.control("GET", "state")["charges"]
    second = refusal(api.v1.payment_intents.create, declined, options)
    assert first.error.payment_intent.id == second.error.payment_intent.id
    assert sandbox.control("GET", "state")["charges"] == charges

    options = {"idempotency_key": "order-5"}
    assert refusal(api.v1.payment_intents.create, {**PAYMENT, "foo": 1}, options).param == "foo"
    assert api.v1.payment_intents.create(PAYMENT, options).amount == 5000


def test_state_and_idempotency_survive_a_restart(tmp_path):
    state = tmp_path / "state.sqlite3"
    with running_sandbox(state) as first:
        paid = first.client().v1.payment_intents.create(
            {**PAYMENT, "allowed_payment_method_types": ["card"], "payment_method": "pm_card_visa"}
            | {"confirm": True},
            {"idempotency_key": "order-6"},
        )
    with running_sandbox(state) as second:
        api = second.client()
        assert api.v1.payment_intents.retrieve(paid.id).status == "succeeded"
        assert second.control("GET", "state")["charges"] == {"succeeded": 1}
        again = refusal(api.v1.payment_intents.create, PAYMENT, {"idempotency_key": "order-6"})
        assert isinstance(again, stripe.IdempotencyError)


def test_log_contains_no_secrets(sandbox, api):
    intent = api.v1.payment_intents.create(PAYMENT)
    sandbox.browser_client().v1.payment_intents.retrieve(
        intent.id, {"client_secret": intent.client_secret}
    )
    requests.get(f"{sandbox.url}/v3/challenge/{intent.id}/sometoken", timeout=60)

    log = sandbox.log.read_text()

    assert f"GET /v1/payment_intents/{intent.id} 200" in log
    for secret in (SECRET_KEY, PUBLISHABLE_KEY, intent.client_secret, "sometoken"):
        assert secret not in log


def test_request_for_foreign_host_name_is_refused(sandbox):
    answer = requests.get(
        f"{sandbox.url}/_sandbox/state", headers={"Host": "evil.example"}, timeout=60
    )
    assert answer.status_code == 403


def test_form_of_another_site_cannot_use_controls(sandbox):
    answer = requests.post(
        f"{sandbox.url}/_sandbox/webhooks", data='{"enabled": false}', timeout=60
    )
    assert answer.status_code == 400
    assert sandbox.control("GET", "state")["webhooks_enabled"] is True


def test_home_page_says_in_spanish_that_it_is_not_stripe(sandbox):
    page = requests.get(f"{sandbox.url}/", timeout=60)
    assert "No es Stripe" in page.text
    assert page.headers["X-Stripe-Sandbox"] == "true"
    assert requests.get(f"{sandbox.url}/healthz", timeout=60).json() == {"status": "ok"}
    numbers = [card["number"] for card in sandbox.control("GET", "cards")]
    assert "4242424242424242" in numbers
