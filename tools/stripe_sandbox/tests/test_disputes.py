"""Disputes, and refunds that are slow, fail or are made in the dashboard."""

import pytest
import requests
import stripe

from ..testing import wait_until


def paid(api: stripe.StripeClient, method: str = "pm_card_visa") -> stripe.PaymentIntent:
    return api.v1.payment_intents.create(
        {
            "amount": 12345,
            "currency": "eur",
            "allowed_payment_method_types": ["card"],
            "payment_method": method,
            "confirm": True,
        }
    )


def charge_of(api: stripe.StripeClient, intent: stripe.PaymentIntent) -> stripe.Charge:
    return api.v1.charges.list({"payment_intent": intent.id}).data[0]


def event_types(api: stripe.StripeClient, object_id: str) -> list[str]:
    events = api.v1.events.list({"limit": 100}).data
    return [event.type for event in events if object_id in str(event.data.object)][::-1]


def test_partial_dispute_is_opened_and_lost(sandbox, api):
    intent = paid(api)

    opened = sandbox.control("POST", "disputes", {"payment_intent": intent.id, "amount": 5000})

    dispute = api.v1.disputes.retrieve(opened["id"])
    assert (dispute.status, dispute.reason) == ("needs_response", "fraudulent")
    assert (dispute.amount, dispute.payment_intent) == (5000, intent.id)
    assert dispute.is_charge_refundable is False
    assert charge_of(api, intent).disputed is True
    listed = api.v1.disputes.list({"payment_intent": intent.id}).data
    assert [one.id for one in listed] == [dispute.id]

    sandbox.control("POST", f"disputes/{dispute.id}", {"status": "lost"})

    assert api.v1.disputes.retrieve(dispute.id).status == "lost"
    assert event_types(api, dispute.id) == [
        "charge.dispute.created",
        "charge.dispute.funds_withdrawn",
        "charge.dispute.closed",
    ]
    with pytest.raises(requests.HTTPError):
        sandbox.control("POST", f"disputes/{dispute.id}", {"status": "won"})


def test_disputed_charge_can_be_refunded_only_after_dispute_is_won(sandbox, api):
    intent = paid(api)
    opened = sandbox.control(
        "POST", "disputes", {"payment_intent": intent.id, "reason": "product_not_received"}
    )
    assert (opened["amount"], opened["reason"]) == (12345, "product_not_received")

    with pytest.raises(stripe.InvalidRequestError) as refused:
        api.v1.refunds.create({"payment_intent": intent.id})
    assert refused.value.code == "charge_disputed"
    assert refused.value.user_message == (
        f"Charge {opened['charge']} has been charged back; cannot issue a refund."
    )

    sandbox.control("POST", f"disputes/{opened['id']}", {"status": "won"})
    assert event_types(api, opened["id"])[-2:] == [
        "charge.dispute.funds_reinstated",
        "charge.dispute.closed",
    ]
    assert api.v1.refunds.create({"payment_intent": intent.id}).status == "succeeded"


def test_dispute_card_opens_dispute_after_charge(api):
    intent = paid(api, "pm_card_createDispute")

    assert intent.status == "succeeded"
    [dispute] = api.v1.disputes.list({"payment_intent": intent.id}).data
    assert (dispute.amount, dispute.reason) == (12345, "fraudulent")
    assert event_types(api, intent.id) == [
        "payment_intent.created",
        "charge.succeeded",
        "payment_intent.succeeded",
        "charge.dispute.created",
        "charge.dispute.funds_withdrawn",
    ]


def test_dashboard_refund_has_no_metadata(sandbox, api):
    intent = paid(api)

    made = sandbox.control("POST", "refunds", {"payment_intent": intent.id, "amount": 345})

    refund = api.v1.refunds.retrieve(made["id"])
    assert (refund.amount, refund.status, refund.metadata.to_dict()) == (345, "succeeded", {})
    charge = charge_of(api, intent)
    assert (charge.amount_refunded, charge.refunded) == (345, False)
    assert event_types(api, intent.id)[-2:] == ["refund.created", "charge.refunded"]
    last = api.v1.events.list({"type": "refund.created", "limit": 1}).data[0]
    assert last.request.id is None
    with pytest.raises(stripe.InvalidRequestError) as too_much:
        api.v1.refunds.create({"payment_intent": intent.id, "amount": 12001})
    assert too_much.value.user_message == (
        "Refund amount (€120.01) is greater than unrefunded amount on charge (€120.00)"
    )
    api.v1.refunds.create({"payment_intent": intent.id})
    with pytest.raises(stripe.InvalidRequestError) as nothing_left:
        api.v1.refunds.create({"payment_intent": intent.id})
    assert nothing_left.value.code == "charge_already_refunded"
    assert [one.amount for one in api.v1.refunds.list({"payment_intent": intent.id}).data] == [
        12000,
        345,
    ]


def test_slow_refund_is_pending_before_it_succeeds(api):
    intent = paid(api, "pm_card_pendingRefund")

    refund = api.v1.refunds.create({"payment_intent": intent.id})

    assert refund.status == "pending"
    wait_until(lambda: api.v1.refunds.retrieve(refund.id).status == "succeeded")
    assert event_types(api, refund.id)[-2:] == ["refund.updated", "charge.refund.updated"]


def test_failed_refund_leaves_charge_unrefunded(api):
    intent = paid(api, "pm_card_refundFail")

    refund = api.v1.refunds.create({"payment_intent": intent.id})
    assert refund.status == "succeeded"

    wait_until(lambda: api.v1.refunds.retrieve(refund.id).status == "failed")
    assert api.v1.refunds.retrieve(refund.id).failure_reason == "lost_or_stolen_card"
    charge = charge_of(api, intent)
    assert (charge.amount_refunded, charge.refunded) == (0, False)
    assert event_types(api, refund.id)[-1] == "refund.failed"


def test_control_lets_refund_fail_once(sandbox, api):
    intent = paid(api)
    refund = api.v1.refunds.create({"payment_intent": intent.id, "amount": 1000})

    failed = sandbox.control("POST", f"refunds/{refund.id}", {"status": "failed"})

    assert failed["status"] == "failed"
    assert charge_of(api, intent).amount_refunded == 0
    with pytest.raises(requests.HTTPError):
        sandbox.control("POST", f"refunds/{refund.id}", {"status": "failed"})
    assert charge_of(api, intent).amount_refunded == 0


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("disputes", {}, 400),
        ("disputes", {"payment_intent": "pi_x"}, 400),
        ("disputes", {"payment_intent": 7}, 400),
        ("disputes/du_x", {"status": "won"}, 404),
        ("refunds", {"charge": "ch_x"}, 400),
        ("refunds", {"charge": "ch_x", "metadata": {}}, 400),
        ("refunds/re_x", {"status": "failed"}, 404),
        ("nada", {}, 404),
    ],
)
def test_invalid_control_request_is_refused(sandbox, path, content, status):
    answer = requests.post(f"{sandbox.url}/_sandbox/{path}", json=content, timeout=60)
    assert answer.status_code == status
    assert answer.json()["error"]
