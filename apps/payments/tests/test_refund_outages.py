"""A refund is made once although Stripe fails, rejects it or never answers."""

from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.core.models import Mail
from apps.orders.models import Payment, Refund
from apps.orders.models.statuses import DisputeStatus
from apps.orders.refunds.available import refundable_cents
from apps.orders.refunds.disputes import ReportedDispute, record_dispute
from apps.orders.refunds.request import RefundRefused
from apps.orders.refunds.sent_back_by_bank import (
    record_paid_by_other_means,
    refunds_sent_back_by_bank,
)
from apps.payments.refunds.reconcile import reconcile_returns
from apps.payments.stripe import refunds as stripe_returns
from tests.helpers.factories import make_subject
from tests.helpers.refunds import buy, refund, refunded_at_provider

pytestmark = pytest.mark.django_db
REFUNDS = {"calls": "POST /v1/refunds", "caller": "server"}


def reasons(order):
    return list(order.events.values_list("reason", flat=True))


@pytest.mark.parametrize("do", ["timeout_after", "timeout_before"])
def test_refund_without_an_answer_is_settled_as_one_refund(sandbox, order, clerk, fault, do):
    fault(**REFUNDS, do=do, seconds=0)

    [made] = refund(order, clerk)
    assert made.status == "requested"
    assert order.status == "paid"
    assert Payment.objects.get().refunded == Payment.objects.get().amount
    sandbox.process.control("DELETE", "faults")
    with time_machine.travel(timezone.now() + timedelta(minutes=3)):
        assert reconcile_returns().settled == 1
        assert reconcile_returns().summary() == ""

    order.refresh_from_db()
    assert refunded_at_provider(sandbox, order) == [18240]
    assert order.status == "refunded"
    assert Mail.objects.filter(template="refund_made").count() == 1


def test_lost_answer_leads_to_no_second_refund(sandbox, order, clerk, fault):
    fault(**REFUNDS, do="timeout_after", seconds=0, nth=1)

    [made] = refund(order, clerk, 1000)

    assert made.status == "succeeded"
    assert refunded_at_provider(sandbox, order) == [1000]


@pytest.mark.parametrize("is_done", [True, False])
def test_refund_succeeds_although_stripe_repeats_a_stored_500(
    sandbox, order, clerk, fault, is_done
):
    fault(**REFUNDS, do="error_500", nth=1, **({"work": True} if is_done else {}))

    [made] = refund(order, clerk, 1000)
    # Under one idempotency key, Stripe repeats the 500 for 24 hours.
    with time_machine.travel(timezone.now() + timedelta(minutes=3)):
        reconcile_returns()

    made.refresh_from_db()
    assert made.status == "succeeded"
    assert refunded_at_provider(sandbox, order) == [1000]


def test_refund_without_an_answer_for_24_hours_fails_and_is_not_repeated(
    sandbox, order, clerk, fault
):
    fault(**REFUNDS, do="timeout_before", seconds=0)
    refund(order, clerk, 1000)
    sandbox.process.control("DELETE", "faults")

    with time_machine.travel(timezone.now() + timedelta(hours=24)):
        reconcile_returns()

    assert refunded_at_provider(sandbox, order) == []
    assert Refund.objects.get().status == "failed"
    assert Payment.objects.get().refunded == 0
    assert refundable_cents(order) == 18240


def test_refund_made_without_an_answer_is_found_after_a_day(sandbox, order, clerk, fault):
    fault(**REFUNDS, do="timeout_after", seconds=0)
    refund(order, clerk, 1000)
    sandbox.process.control("DELETE", "faults")

    with time_machine.travel(timezone.now() + timedelta(hours=25)):
        reconcile_returns()

    assert refunded_at_provider(sandbox, order) == [1000]
    assert Refund.objects.get().status == "succeeded"
    assert not any("rechazada" in reason for reason in reasons(order))


def test_two_calls_for_the_same_request_make_one_refund(sandbox, order, clerk, fault):
    fault(**REFUNDS, do="timeout_before", seconds=0)
    [row] = refund(order, clerk, 1000)
    sandbox.process.control("DELETE", "faults")

    # Both callers have found no refund at Stripe.
    made = [
        stripe_returns.create_refund(row, payment=row.payment.reference, order_id=order.pk)
        for _ in range(2)
    ]

    assert made[0].reference == made[1].reference
    assert refunded_at_provider(sandbox, order) == [1000]


def test_refund_of_a_disputed_payment_fails_with_a_spanish_explanation(sandbox, order, clerk):
    sandbox.process.control("POST", "disputes", {"payment_intent": order.stripe_payment_intent_id})

    [made] = refund(order, clerk)

    assert made.status == "failed"
    assert made.problem == ("El pago está en disputa: decide el banco, y no se puede devolver.")
    assert order.status == "paid"
    assert Payment.objects.get().refunded == 0
    assert Mail.objects.filter(template="refund_made").count() == 0


def test_refund_fails_if_the_dashboard_has_refunded_meanwhile(sandbox, order, clerk):
    sandbox.process.control(
        "POST", "refunds", {"payment_intent": order.stripe_payment_intent_id, "amount": 10000}
    )

    [made] = refund(order, clerk)

    assert (made.status, made.problem) == ("failed", "Ya se había devuelto en Stripe")
    assert refunded_at_provider(sandbox, order) == [10000]
    assert order.status == "partially_refunded"
    assert refundable_cents(order) == 8240


def test_refund_of_a_payment_unknown_to_stripe_fails(sandbox, order, clerk):
    sandbox.forget_everything()

    [made] = refund(order, clerk)

    assert (made.status, made.problem) == ("failed", "Stripe no conoce este pago")
    assert order.status == "paid"


def test_pending_refund_counts_as_refunded_until_it_fails(api, sandbox, clerk):
    order = buy(api, sandbox, number="4000000000007726")

    [made] = refund(order, clerk)
    assert (made.status, order.status) == ("pending", "refunded")
    sandbox.process.control("POST", f"refunds/{made.reference}", {"status": "failed"})
    reconcile_returns()

    made.refresh_from_db()
    assert made.status == "failed"


def test_refund_returned_by_the_bank_is_flagged_and_can_be_repeated(sandbox, order, clerk):
    [made] = refund(order, clerk)
    sandbox.process.control("POST", f"refunds/{made.reference}", {"status": "failed"})

    for _ in range(2):
        reconcile_returns()

    order.refresh_from_db()
    made.refresh_from_db()
    assert (made.status, made.problem) == ("failed", "tarjeta perdida o robada")
    # The order stays refunded; only the money has come back to the shop.
    assert order.status == "refunded"
    assert order.flag.startswith("El banco no ha aceptado la devolución")
    assert Mail.objects.filter(key=f"staff-attention:refund-failed-{made.pk}").count() == 1
    assert list(refunds_sent_back_by_bank()) == [made]
    assert refundable_cents(order) == 18240

    refund(order, clerk)

    assert order.status == "refunded"
    assert not refunds_sent_back_by_bank().exists()
    # The list of refunds still shows the first one. It is not recorded as paid a second time.
    assert record_paid_by_other_means([made.pk], actor="carla") == 0
    assert refundable_cents(order) == 0


def test_refund_repeated_in_parts_is_not_recorded_as_paid_besides(sandbox, order, clerk):
    """Neither part is as large as the refund that the bank sent back."""
    [made] = refund(order, clerk)
    sandbox.process.control("POST", f"refunds/{made.reference}", {"status": "failed"})
    reconcile_returns()
    refund(order, clerk, 100_00)
    assert record_paid_by_other_means([made.pk], actor="carla") == 0
    refund(order, clerk, 82_40)

    assert record_paid_by_other_means([made.pk], actor="carla") == 0


def test_refund_of_a_line_repeated_in_other_parts_is_not_recorded_as_paid_besides(
    api, sandbox, clerk
):
    order = buy(api, sandbox, make_subject(), make_subject("Derecho"), total="349.80")
    line = frozenset({order.lines.first().pk})
    [made] = refund(order, clerk, 174_90, line_ids=line)
    sandbox.process.control("POST", f"refunds/{made.reference}", {"status": "failed"})
    reconcile_returns()
    refund(order, clerk, 100_00, line_ids=line)
    refund(order, clerk, 74_90)

    assert record_paid_by_other_means([made.pk], actor="carla") == 0


def test_refund_whose_payment_is_in_dispute_is_not_recorded_as_paid(sandbox, order, clerk):
    [made] = refund(order, clerk)
    sandbox.process.control("POST", f"refunds/{made.reference}", {"status": "failed"})
    reconcile_returns()
    report = ReportedDispute("dp_1", 182_40, DisputeStatus.LOST, "fraude", timezone.now())
    record_dispute(payment_id=made.payment_id, provider="Stripe", report=report)

    assert record_paid_by_other_means([made.pk], actor="carla") == 0


def test_refunds_that_were_never_sent_back_cost_no_look_at_their_orders(sandbox, order, clerk):
    """Ticking all of a list of 2,000 took more than a minute."""
    [made] = refund(order, clerk)
    with CaptureQueriesContext(connection) as queries:
        assert record_paid_by_other_means([made.pk], actor="carla") == 0
    assert not [query for query in queries if 'FROM "orders_order"' in query["sql"]]


def test_refund_settled_outside_stripe_is_not_repeated(sandbox, order, clerk):
    [made] = refund(order, clerk)
    assert record_paid_by_other_means([made.pk], actor="carla") == 0
    sandbox.process.control("POST", f"refunds/{made.reference}", {"status": "failed"})
    reconcile_returns()

    assert record_paid_by_other_means([made.pk], actor="carla") == 1

    assert not refunds_sent_back_by_bank().exists()
    assert refundable_cents(order) == 0
    with pytest.raises(RefundRefused):
        refund(order, clerk, 100)
