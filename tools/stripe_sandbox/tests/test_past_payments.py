"""Payments and cards that another program invented."""

from ..testing import running_sandbox

PAID_AT, REFUNDED_AT = 1767225600, 1767312000
PAYMENT = {
    "id": "pi_sample_1",
    "amount": 19200,
    "currency": "eur",
    "created": PAID_AT,
    "metadata": {"order_id": "7"},
    "refunds": [{"id": "re_sample_1", "amount": 4200, "created": REFUNDED_AT}],
    "disputes": [],
}
CARD = {"customer": "cus_sample_1", "payment_method": "pm_sample_1"}


def test_past_payments_are_refunded_and_past_cards_charged_like_others(sandbox):
    api, content = sandbox.client(), {"payments": [PAYMENT], "saved_cards": [CARD]}
    assert sandbox.control("POST", "payments", content) == {"payments": 1, "saved_cards": 1}
    assert sandbox.control("GET", "state")["events"] == {}
    intent = api.v1.payment_intents.retrieve("pi_sample_1", {"expand": ["latest_charge"]})
    charge = intent.latest_charge
    assert (intent.status, intent.amount_received, intent.created) == ("succeeded", 19200, PAID_AT)
    assert (charge.paid, charge.amount_refunded, charge.created) == (True, 4200, PAID_AT)
    assert charge.metadata.to_dict() == PAYMENT["metadata"]
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
    assert moved[:2] == [5000, -15000]
    # Repeating the request changes nothing.
    assert sandbox.control("POST", "payments", content) == {"payments": 0, "saved_cards": 0}
    assert api.v1.charges.retrieve(charge.id).refunded


def test_past_payments_and_disputes_move_the_balance_and_are_paid_out_on_mondays(tmp_path):
    day, thursday = 24 * 3600, PAID_AT
    opened, closed = thursday + 7 * day, thursday + 14 * day
    payments = [
        {
            **PAYMENT,
            "id": f"pi_{status}",
            "refunds": [],
            "disputes": [
                {
                    "id": f"dp_{status}",
                    "amount": 19200,
                    "created": opened,
                    "status": status,
                    "closed": closed,
                }
            ],
        }
        for status in ("lost", "won")
    ]
    with running_sandbox(tmp_path / "state.sqlite3") as process:
        process.control("POST", "payments", {"payments": payments, "saved_cards": []})
        api = process.client()

        # 1.5 % and 25 cents for each charge, 20 euros for each dispute.
        moved = [
            (row.created - thursday, row.type, row.amount, row.fee)
            for row in api.v1.balance_transactions.list({"limit": 100}).auto_paging_iter()
            if row.type != "payout"
        ]
        assert sorted(moved) == [
            (0, "charge", 19200, 313),
            (0, "charge", 19200, 313),
            (7 * day, "adjustment", -19200, 2000),
            (7 * day, "adjustment", -19200, 2000),
            (14 * day, "adjustment", 19200, 0),
        ]
        # The disputes left a debt, which the dispute that was won does not pay.
        [payout] = api.v1.payouts.list().data
        assert (payout.amount, payout.created) == (2 * (19200 - 313), thursday + 4 * day + 6 * 3600)
        disputes = {row.id: row.status for row in api.v1.disputes.list().data}
        assert disputes == {"dp_lost": "lost", "dp_won": "won"}
        assert process.control("GET", "state")["events"] == {}
