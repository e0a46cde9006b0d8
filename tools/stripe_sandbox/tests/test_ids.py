"""Ids with any character, and a reset to the state after the first start."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
import stripe

from ..ids import OPAQUE_CHARACTERS
from ..testing import WEBHOOK_SECRET, SandboxProcess, running_sandbox

RETURN_URL = "http://127.0.0.1/success"
PAYMENT = {"amount": 5000, "currency": "eur", "return_url": RETURN_URL, "confirm": True}


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    endpoint = ("--webhook-url", "http://127.0.0.1:9/", "--webhook-secret", WEBHOOK_SECRET)
    state = tmp_path_factory.mktemp("sandbox") / "state.sqlite3"
    with running_sandbox(state, *endpoint) as process:
        yield process


@pytest.fixture
def sandbox(process: SandboxProcess) -> Iterator[SandboxProcess]:
    assert process.control("POST", "ids", {"style": "opaque"}) == {"style": "opaque"}
    yield process
    process.control("DELETE", "state")


@pytest.fixture
def api(sandbox: SandboxProcess) -> stripe.StripeClient:
    return sandbox.client()


def assert_opaque(id: str, prefix: str) -> None:
    assert id.startswith(prefix)
    assert len(id) == 255
    assert set(OPAQUE_CHARACTERS) <= set(id)


def test_objects_have_opaque_ids_and_are_found_by_them(api):
    customer = api.v1.customers.create({})
    card = api.v1.payment_methods.attach("pm_card_visa", {"customer": customer.id})
    intent = api.v1.payment_intents.create(
        {**PAYMENT, "customer": customer.id, "payment_method": card.id}
    )
    refund = api.v1.refunds.create({"payment_intent": intent.id, "amount": 1000})
    assert_opaque(customer.id, "cus_")
    assert_opaque(api.v1.events.list({"type": "refund.created"}).data[0].id, "evt_")

    for made, prefix, calls in (
        (card.id, "pm_", api.v1.payment_methods),
        (intent.id, "pi_", api.v1.payment_intents),
        (intent.latest_charge, "ch_", api.v1.charges),
        (refund.id, "re_", api.v1.refunds),
        (api.v1.coupons.create({"amount_off": 5, "currency": "eur"}).id, "", api.v1.coupons),
    ):
        assert_opaque(made, prefix)
        assert calls.retrieve(made).id == made
    assert intent.client_secret.startswith(f"{intent.id}_secret_")
    assert [one.id for one in api.v1.payment_intents.list({"customer": customer.id}).data] == [
        intent.id
    ]


def test_fully_percent_encoded_id_is_found(sandbox, api):
    intent = api.v1.payment_intents.create({"amount": 5000, "currency": "eur"})
    encoded = "".join(f"%{ord(character):02x}" for character in intent.id)

    answer = requests.get(
        f"{sandbox.url}/v1/payment_intents/{encoded}",
        auth=(sandbox.secret_key, ""),
        timeout=60,
    )

    assert answer.json()["id"] == intent.id
    assert api.v1.payment_intents.cancel(intent.id).status == "canceled"


def test_challenge_page_and_return_url_carry_opaque_id(sandbox, api):
    card = sandbox.new_card("4000002760003184")
    intent = api.v1.payment_intents.create({**PAYMENT, "payment_method": card.id})
    challenge = intent.next_action.redirect_to_url.url
    assert "Autorizar pago" in requests.get(challenge, timeout=60).text

    answer = requests.post(challenge, json={"accept": True}, timeout=60).json()

    assert answer["status"] == "succeeded"
    query = parse_qs(urlsplit(answer["return_url"]).query)
    assert query["payment_intent"] == [intent.id]
    assert query["payment_intent_client_secret"] == [intent.client_secret]


def test_hosted_page_with_opaque_id_is_paid(sandbox, api):
    price: Any = {"currency": "eur", "unit_amount": 5000, "product_data": {"name": "Álgebra"}}
    session = api.v1.checkout.sessions.create(
        {
            "mode": "payment",
            "line_items": [{"price_data": price, "quantity": 1}],
            "customer": api.v1.customers.create({"email": "ana@example.com"}).id,
            "success_url": RETURN_URL + "?session_id={CHECKOUT_SESSION_ID}",
        }
    )
    assert_opaque(session.id, "cs_test_")
    card = sandbox.new_card("4242424242424242").id
    answer = requests.post(session.url, json={"payment_method": card}, timeout=60).json()

    assert answer["status"] == "complete"
    assert parse_qs(urlsplit(answer["url"]).query) == {"session_id": [session.id]}


def test_controls_find_objects_by_opaque_id(sandbox, api):
    card = sandbox.new_card("4242424242424242")
    path = f"payment_methods/{quoted(card.id)}"
    assert sandbox.control("POST", path, {"refuse": None})["id"] == card.id
    intent = api.v1.payment_intents.create({**PAYMENT, "payment_method": card.id})
    dispute = sandbox.control("POST", "disputes", {"payment_intent": intent.id})

    won = sandbox.control("POST", f"disputes/{quoted(dispute['id'])}", {"status": "won"})

    assert (won["id"], won["status"]) == (dispute["id"], "won")


def quoted(id: str) -> str:
    return requests.utils.quote(id, safe="")


def test_reset_keeps_only_endpoint_of_command_line(sandbox, api):
    api.v1.customers.create({}, {"idempotency_key": "key"})
    api.v1.webhook_endpoints.create({"url": "http://127.0.0.1:9/b", "enabled_events": ["*"]})
    sandbox.control("POST", "webhooks", {"enabled": False})
    sandbox.fault(calls="*", do="error_429")

    assert sandbox.control("DELETE", "state") == {}

    assert sandbox.control("GET", "state") == {
        "payment_intents": {},
        "charges": {},
        "events": {},
        "objects": {"webhook_endpoint": 1},
        "deliveries": {},
        "calls": 0,
        "webhooks_enabled": True,
    }
    assert sandbox.control("GET", "faults") == {"faults": []}
    fresh = api.v1.customers.create({"name": "Ana"}, {"idempotency_key": "key"})
    assert len(fresh.id) == 18
