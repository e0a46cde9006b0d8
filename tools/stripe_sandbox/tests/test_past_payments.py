"""Payments and cards that another program invented."""

from collections.abc import Iterator

import pytest
import requests

from ..testing import SandboxProcess, running_sandbox

PAID_AT, REFUNDED_AT = 1767225600, 1767312000
PAYMENT = {
    "id": "pi_sample_1",
    "amount": 19200,
    "currency": "eur",
    "created": PAID_AT,
    "refunds": [{"id": "re_sample_1", "amount": 4200, "created": REFUNDED_AT}],
}
CARD = {"customer": "cus_sample_1", "payment_method": "pm_sample_1"}


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    with running_sandbox(tmp_path_factory.mktemp("sandbox") / "state.sqlite3") as process:
        yield process


def test_past_payments_are_refunded_and_past_cards_charged_like_others(sandbox):
    api, content = sandbox.client(), {"payments": [PAYMENT], "saved_cards": [CARD]}
    assert sandbox.control("POST", "payments", content) == {"payments": 1, "saved_cards": 1}
    # Neither the events nor the movements of the balance exist here.
    assert set(sandbox.control("GET", "state")["objects"]) == {
        "charge",
        "customer",
        "payment_intent",
        "payment_method",
        "refund",
    }
    intent = api.v1.payment_intents.retrieve("pi_sample_1", {"expand": ["latest_charge"]})
    charge = intent.latest_charge
    assert (intent.status, intent.amount_received, intent.created) == ("succeeded", 19200, PAID_AT)
    assert (charge.paid, charge.amount_refunded, charge.created) == (True, 4200, PAID_AT)
    assert charge.payment_method_details.card.last4 == "4242"
    [past] = api.v1.refunds.list({"payment_intent": intent.id}).data
    assert (past.id, past.status, past.created) == ("re_sample_1", "succeeded", REFUNDED_AT)

    made = api.v1.refunds.create({"payment_intent": intent.id})
    bought = api.v1.payment_intents.create(
        {
            "amount": 5000,
            "currency": "eur",
            "customer": "cus_sample_1",
            "payment_method": "pm_sample_1",
            "allowed_payment_method_types": ["card"],
            "confirm": True,
            "off_session": True,
        }
    )

    assert (made.status, made.amount, bought.status) == ("succeeded", 15000, "succeeded")
    moved = [row.amount for row in api.v1.balance_transactions.list().data]
    assert moved == [5000, -15000]
    # Repeating the request changes nothing.
    assert sandbox.control("POST", "payments", content) == {"payments": 0, "saved_cards": 0}
    assert api.v1.charges.retrieve(charge.id).refunded


@pytest.mark.parametrize(
    "content",
    [
        {"payments": []},
        {"payments": ["pi_1"], "saved_cards": []},
        {"payments": [{**PAYMENT, "id": "pi_2", "amount": "5"}], "saved_cards": []},
        {"payments": [{**PAYMENT, "id": "pi_2", "amount": 4199}], "saved_cards": []},
        {"payments": [], "saved_cards": [{"customer": "cus_1"}]},
    ],
)
def test_past_payments_that_make_no_sense_are_refused(sandbox, content):
    answer = requests.post(f"{sandbox.url}/_sandbox/payments", json=content, timeout=10)

    assert answer.status_code == 400
    assert answer.json()["error"]
