"""An instalment is charged once although Stripe fails, answers late or not at all."""

import pytest
import time_machine
from django.utils import timezone

from apps.orders.models import Instalment, Order, Payment
from apps.payments.events.reconcile import reconcile
from apps.payments.stripe.client import client
from tests.helpers.plans import (
    attempts,
    buy_in_instalments,
    charge_on,
    charges,
    day,
    link_of,
    states,
)

pytestmark = pytest.mark.django_db
CREATE = {"calls": "POST /v1/payment_intents", "caller": "server"}


@pytest.mark.parametrize(
    ("trouble", "done"),
    [
        ({"do": "timeout_before"}, 0),
        ({"do": "timeout_after"}, 1),
        ({"do": "error_500"}, 0),
        ({"do": "error_500", "work": True}, 1),
        ({"do": "error_429"}, 0),
        ({"do": "truncated"}, 1),
    ],
    ids=lambda value: value["do"] if isinstance(value, dict) else None,
)
def test_unknown_outcome_is_resolved_before_another_charge(sandbox, plan, fault, trouble, done):
    fault(**CREATE, **trouble, nth=[1, 2])

    charge_on(20)
    assert charges(sandbox, plan) == [3334] + [3333] * done
    for minutes in range(6, 40, 6):
        charge_on(20, hours=minutes / 60)

    assert charges(sandbox, plan) == [3334, 3333]
    assert states(plan) == ["paid", "paid", "due"]


def test_run_stops_and_releases_the_lease_when_calls_to_stripe_are_refused(
    api, sandbox, plan, fault, settings
):
    buy_in_instalments(api, sandbox, email="clara@example.com", phone="+34600777888")
    settings.STRIPE_BREAKER_FAILURES = 1
    client.cache_clear()
    fault(calls="*", caller="server", do="error_500")

    # The first call fails, which opens the breaker. The call for the other plan is not made.
    assert charge_on(20).problems == 2
    leases = Instalment.objects.filter(number=2).values_list("leased_until", flat=True)
    assert sorted(lease is not None for lease in leases) == [False, True]


def test_charge_without_an_answer_is_adopted_without_another_call(sandbox, plan, fault):
    fault(**CREATE, do="timeout_after", nth=[1, 2])
    charge_on(20)
    fault(**CREATE, do="timeout_before")

    assert charge_on(20, hours=0.2).charged == 1

    assert states(plan) == ["paid", "paid", "due"]
    assert attempts(plan) == [(2, 1, "automatic", "succeeded", "")]


def test_attempt_older_than_23_hours_is_replaced_under_a_new_idempotency_key(sandbox, plan, fault):
    fault(**CREATE, do="timeout_before")
    charge_on(20)
    sandbox.process.control("DELETE", "faults")

    assert charge_on(21).charged == 1

    assert [row[:4] for row in attempts(plan)] == [
        (2, 1, "automatic", "void"),
        (2, 2, "automatic", "succeeded"),
    ]
    assert charges(sandbox, plan) == [3334, 3333]


def test_attempt_older_than_23_hours_that_did_charge_is_adopted(sandbox, plan, fault):
    fault(**CREATE, do="timeout_after", nth=[1, 2])
    charge_on(20)

    assert charge_on(22).charged == 1

    assert [row[:4] for row in attempts(plan)] == [(2, 1, "automatic", "succeeded")]
    assert charges(sandbox, plan) == [3334, 3333]


def test_reconciliation_finds_a_charge_without_an_answer_on_a_disputed_order(sandbox, plan, fault):
    fault(**CREATE, do="timeout_after", nth=[1, 2])
    assert charge_on(20).problems == 1
    Order.objects.update(disputed_at=timezone.now())
    assert charge_on(21).summary() == ""

    with time_machine.travel(day(21)):
        found = reconcile()

    assert found.payments == 1
    assert states(plan) == ["paid", "paid", "due"]
    assert Payment.objects.filter(order=plan, status="succeeded").count() == 2


def test_payment_by_hand_is_refused_while_an_outcome_is_unknown(api, sandbox, plan, fault):
    fault(**CREATE, do="timeout_before", nth=[1, 2])
    charge_on(20)

    status, answer = api.post("instalments/pay", {**link_of(plan), "number": 2, "what": "next"})

    assert (status, answer["code"]) == (409, "payment_in_progress")
    assert charge_on(20, hours=0.2).charged == 1
    assert charges(sandbox, plan) == [3334, 3333]


def test_instalment_is_paid_when_the_bank_confirms_later(api, sandbox, plan, settings):
    Order.objects.update(card_reference=slow_card(sandbox, plan))
    charge_on(20)
    row = Payment.objects.get(status="processing")
    assert [instalment.number for instalment in row.instalments.all()] == [2]
    assert charge_on(20, hours=0.2).charged == 0
    assert api.post("instalments/pay", {**link_of(plan), "number": 2, "what": "next"})[0] == 409

    settle_at_bank(sandbox, row.reference)
    assert charge_on(20, hours=0.4).charged == 1

    assert states(plan) == ["paid", "paid", "due"]
    assert charges(sandbox, plan) == [3334, 3333]


def slow_card(sandbox, order):
    card = sandbox.process.new_card("4000009990000005")
    client = sandbox.process.client()
    return client.v1.payment_methods.attach(card.id, {"customer": order.customer_reference}).id


def settle_at_bank(sandbox, reference):
    from tools.stripe_sandbox.testing import wait_until

    wait_until(lambda: sandbox.payment(reference)["status"] == "succeeded", seconds=60)
