"""Balance transactions with fees, and payouts that are their sum."""

import pytest
import requests
import stripe

from ..testing import SandboxProcess


@pytest.fixture
def api(sandbox: SandboxProcess) -> stripe.StripeClient:
    sandbox.control("DELETE", "state")
    return sandbox.client()


def paid(api: stripe.StripeClient, amount: int) -> stripe.PaymentIntent:
    return api.v1.payment_intents.create(
        {
            "amount": amount,
            "currency": "eur",
            "allowed_payment_method_types": ["card"],
            "payment_method": "pm_card_visa",
            "confirm": True,
        }
    )


def entries(api: stripe.StripeClient, **filters) -> list[tuple[str, int, int, int]]:
    found = api.v1.balance_transactions.list({"limit": 100, **filters}).data
    return [(row.reporting_category, row.amount, row.fee, row.net) for row in found][::-1]


def test_charge_refund_and_dispute_move_the_balance(sandbox, api):
    intent = paid(api, 10033)
    refund = api.v1.refunds.create({"payment_intent": intent.id, "amount": 33})
    opened = sandbox.control("POST", "disputes", {"payment_intent": intent.id})
    sandbox.control("POST", f"disputes/{opened['id']}", {"status": "won"})
    sandbox.control("POST", f"refunds/{refund.id}", {"status": "failed"})

    # 1.5 % of 100.33 € is 1.50 €, and 25 cents.
    assert entries(api) == [
        ("charge", 10033, 175, 9858),
        ("refund", -33, 0, -33),
        ("dispute", -10000, 2000, -12000),
        ("dispute_reversal", 10000, 0, 10000),
        ("refund_failure", 33, 0, 33),
    ]


def test_transaction_is_named_by_its_source_and_expands_it(api):
    intent = paid(api, 5000)
    charge = api.v1.charges.list({"payment_intent": intent.id}).data[0]
    listed = api.v1.balance_transactions.list({"expand": ["data.source"]})
    [transaction] = listed.data
    assert transaction.id == charge.balance_transaction
    assert transaction.source.payment_intent == intent.id


def test_payout_takes_what_is_not_paid_out_yet_and_lists_it(sandbox, api):
    paid(api, 10000)
    first = sandbox.control("POST", "payouts", {})
    paid(api, 2000)
    second = sandbox.control("POST", "payouts", {})

    assert (first["amount"], second["amount"]) == (9825, 1945)
    assert entries(api, payout=second["id"]) == [
        ("charge", 2000, 55, 1945),
        ("payout", -1945, 0, -1945),
    ]
    assert [payout.id for payout in api.v1.payouts.list().data] == [
        second["id"],
        first["id"],
    ]
    assert sum(net for *_, net in entries(api)) == 0


def test_empty_balance_can_not_be_paid_out(sandbox, api):
    answer = requests.post(f"{sandbox.url}/_sandbox/payouts", json={}, timeout=60)
    assert answer.status_code == 400
