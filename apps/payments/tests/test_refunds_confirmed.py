"""A confirmed refund that ends a plan stops every charge before Stripe has answered."""

from contextlib import contextmanager
from datetime import timedelta

import pytest
import time_machine
from django.urls import reverse
from django.utils import timezone

from apps.classroom.models import Enrolment
from apps.core.models import Mail
from apps.orders.models import Refund
from apps.orders.plan.by_hand import begin_by_hand, store_opened_payment
from apps.orders.plan.charging import charge_again
from apps.orders.plan.notices import charges_to_announce
from apps.payments.events.reconcile import reconcile
from apps.payments.refunds.reconcile import reconcile_returns
from tests.helpers.plans import buy_in_instalments, charge_on, charges, day, link_of
from tests.helpers.refunds import refund, refunded_at_provider

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("audited")]
# A plan ends by a whole refund or by one that cancels it; both are the same from there on.
CANCELS = {"cents": 500, "cancels_plan": True}
both_ends = pytest.mark.parametrize("confirmed", [{}, CANCELS], ids=["whole", "plan"])


@pytest.fixture
def plan(api, sandbox, work):
    bought = buy_in_instalments(api, sandbox)
    with time_machine.travel(day(0)):
        work()
    return bought


@pytest.fixture
def outage(sandbox):
    """Calls get no answer while the context lasts."""

    @contextmanager
    def without_answer(calls="POST /v1/refunds", do="timeout_before"):
        sandbox.process.fault(calls=calls, caller="server", do=do, seconds=0)
        yield
        sandbox.process.control("DELETE", "faults")

    return without_answer


def reconcile_at(number, *, hours=0.0):
    with time_machine.travel(day(number, hours=hours)):
        reconcile()
        reconcile_returns()


def assert_over(sandbox, plan, confirmed):
    """No instalment is charged later, and a confirmed whole refund has returned every payment."""
    plan.refresh_from_db()
    taken = sum(charges(sandbox, plan))
    back = sum(refunded_at_provider(sandbox, plan))
    if confirmed:
        assert (plan.status, taken - back) == ("partially_refunded", 3334 - 500)
    else:
        assert (plan.status, taken - back) == ("refunded", 0)
        assert Enrolment.objects.count() == 0
    assert not plan.instalments.filter(status__in=("due", "failed")).exists()
    assert charge_on(60).summary() == ""
    assert plan.flag == ""


def refund_on(number, plan, clerk, confirmed, *, hours=0.0):
    with time_machine.travel(day(number, hours=hours)):
        return refund(plan, clerk, **confirmed)


@pytest.mark.parametrize(
    ("confirmed", "do"), [({}, "timeout_before"), (CANCELS, "timeout_after")], ids=["whole", "plan"]
)
def test_no_instalment_is_charged_while_the_refund_has_no_answer(
    sandbox, plan, clerk, outage, confirmed, do
):
    with outage(do=do):
        [row] = refund_on(20, plan, clerk, confirmed)
        assert (row.status, plan.status) == ("requested", "paying")
        assert charge_on(20, hours=1).summary() == ""

    reconcile_at(20, hours=2)

    assert charges(sandbox, plan) == [3334]
    assert_over(sandbox, plan, confirmed)


def test_student_cannot_pay_while_the_refund_has_no_answer(api, sandbox, plan, clerk, outage):
    with outage():
        refund_on(20, plan, clerk, CANCELS)
    with time_machine.travel(day(20, hours=1)):
        status, answer = api.post("instalments/pay", {**link_of(plan), "what": "next", "number": 2})
        _, shown = api.get("instalments", **link_of(plan))

    assert (status, answer["code"]) == (409, "already_paid")
    assert (shown["next_amount"], shown["rest_amount"]) == (0, 0)
    assert [row["state"] for row in shown["instalments"]] == ["paid", "canceled", "canceled"]
    reconcile_at(20, hours=2)
    assert_over(sandbox, plan, CANCELS)


def test_open_payment_is_canceled_although_the_refund_call_has_no_answer(
    api, sandbox, plan, clerk, outage
):
    with time_machine.travel(day(20)):
        _, started = api.post("instalments/pay", {**link_of(plan), "what": "next", "number": 2})
    with outage():
        refund_on(20, plan, clerk, {}, hours=1)

    assert sandbox.payment(started["payment_intent_id"])["status"] == "canceled"
    reconcile_at(20, hours=2)
    assert_over(sandbox, plan, {})


def test_reconciliation_cancels_an_open_payment_after_a_failed_cancellation(
    api, sandbox, plan, clerk, outage
):
    with time_machine.travel(day(20)):
        _, started = api.post("instalments/pay", {**link_of(plan), "what": "all", "number": 2})
    with outage("POST /v1/*"):
        refund_on(20, plan, clerk, CANCELS, hours=1)
    assert sandbox.payment(started["payment_intent_id"])["status"] != "canceled"

    with time_machine.travel(day(20, hours=2)):
        reconcile()

    assert sandbox.payment(started["payment_intent_id"])["status"] == "canceled"
    reconcile_at(20, hours=3)
    assert_over(sandbox, plan, CANCELS)


def test_payment_opened_during_the_refund_is_not_stored(sandbox, plan, clerk, outage):
    with time_machine.travel(day(20)):
        by_hand = begin_by_hand(order_id=plan.pk, first=2, everything=False)
    with outage():
        refund_on(20, plan, clerk, {}, hours=1)

    assert not store_opened_payment(by_hand, reference="pi_opened_too_late")
    reconcile_at(20, hours=2)
    assert_over(sandbox, plan, {})


def test_plan_that_is_ending_cannot_be_charged_by_staff_and_is_not_announced(
    sandbox, plan, clerk, outage
):
    with outage():
        refund_on(19, plan, clerk, {}, hours=12)
    with time_machine.travel(day(19, hours=13)):
        assert not charges_to_announce().exists()
    with time_machine.travel(day(20)):
        assert not charge_again(instalment_id=plan.instalments.get(number=2).pk, actor="carla")

    reconcile_at(20, hours=1)
    assert_over(sandbox, plan, {})


@pytest.mark.parametrize(
    ("confirmed", "everything"), [({}, True), (CANCELS, False)], ids=["whole", "plan"]
)
def test_payment_confirmed_during_the_refund_is_refunded_too(
    api, sandbox, plan, clerk, work, confirmed, everything
):
    with time_machine.travel(day(20)):
        what = "all" if everything else "next"
        _, started = api.post("instalments/pay", {**link_of(plan), "what": what, "number": 2})
        # The bank has confirmed the payment, but the shop does not know it yet.
        assert sandbox.confirm(started["client_secret"]) == ""
    rows = refund_on(20, plan, clerk, confirmed, hours=1)

    assert_over(sandbox, plan, confirmed)
    late = rows[-1]
    assert (late.status, late.payment.reference) == ("succeeded", started["payment_intent_id"])
    assert (late.actor, late.reason, late.user) == ("carla", "Error", None)
    with time_machine.travel(day(20, hours=2)):
        work()
    assert Mail.objects.filter(template="refund_owner", status="sent").count() == 2


@both_ends
def test_payment_that_succeeds_after_the_end_of_the_plan_is_refunded(
    api, sandbox, plan, clerk, outage, confirmed
):
    with time_machine.travel(day(20)):
        _, started = api.post("instalments/pay", {**link_of(plan), "what": "next", "number": 2})
    with outage("POST /v1/payment_intents/*"):
        refund_on(20, plan, clerk, confirmed, hours=1)
    assert sandbox.confirm(started["client_secret"]) == ""

    with time_machine.travel(day(20, hours=2)):
        api.post("complete-payment", {"payment_intent_id": started["payment_intent_id"]})
        assert plan.events.filter(kind="payment_after_end").count() == 1
        reconcile_returns()

    assert_over(sandbox, plan, confirmed)


def test_late_payment_that_cannot_be_refunded_is_flagged(api, sandbox, plan, clerk, outage):
    with time_machine.travel(day(20)):
        _, started = api.post("instalments/pay", {**link_of(plan), "what": "next", "number": 2})
    with outage("POST /v1/payment_intents/*"):
        refund_on(20, plan, clerk, {}, hours=1)
    sandbox.confirm(started["client_secret"])
    sandbox.process.control("POST", "disputes", {"payment_intent": started["payment_intent_id"]})
    with time_machine.travel(day(20, hours=2)):
        api.post("complete-payment", {"payment_intent_id": started["payment_intent_id"]})
        reconcile_returns()

    plan.refresh_from_db()
    late = Refund.objects.get(payment__reference=started["payment_intent_id"])
    assert late.status == "failed"
    assert plan.flag.startswith("No se ha devuelto")
    assert Mail.objects.filter(key=f"staff-attention:refund-rejected-{late.pk}").count() == 1


def test_rejected_refund_leaves_the_plan_unchanged(sandbox, plan, clerk):
    made = sandbox.process.control(
        "POST", "disputes", {"payment_intent": plan.stripe_payment_intent_id}
    )
    [row] = refund_on(19, plan, clerk, CANCELS)
    assert (row.status, plan.status) == ("failed", "paying")
    sandbox.process.control("POST", f"disputes/{made['id']}", {"status": "won"})
    reconcile_at(19, hours=1)

    assert charge_on(20).charged == 1
    assert charge_on(40).charged == 1

    plan.refresh_from_db()
    assert plan.status == "paid"
    assert refunded_at_provider(sandbox, plan) == []


def test_plan_paid_before_its_refund_is_rejected_stays_paid(api, sandbox, plan, clerk, outage):
    with time_machine.travel(day(20)):
        _, started = api.post("instalments/pay", {**link_of(plan), "what": "all", "number": 2})
    with outage("POST /v1/*"):
        refund_on(20, plan, clerk, {"cents": 500, "cancels_plan": True}, hours=1)
    sandbox.confirm(started["client_secret"])
    with time_machine.travel(day(20, hours=2)):
        api.post("complete-payment", {"payment_intent_id": started["payment_intent_id"]})

    # Stripe forgets idempotency keys after 24 hours, so the request is given up.
    reconcile_at(21, hours=2)

    plan.refresh_from_db()
    assert (plan.status, Refund.objects.get().status) == ("paid", "failed")
    assert list(plan.instalments.values_list("status", flat=True)) == ["paid"] * 3


def test_staff_are_mailed_when_a_refund_is_rejected_later(sandbox, plan, clerk, outage):
    with outage():
        [row] = refund_on(10, plan, clerk, {})
    reconcile_at(11, hours=1)

    row.refresh_from_db()
    assert row.status == "failed"
    assert Mail.objects.filter(key=f"staff-attention:refund-rejected-{row.pk}").count() == 1
    assert charge_on(20).charged == 1


def test_whole_refund_with_one_rejected_payment_ends_the_plan_and_is_flagged(sandbox, plan, clerk):
    charge_on(20)
    sandbox.process.control("POST", "disputes", {"payment_intent": plan.stripe_payment_intent_id})

    rows = refund_on(21, plan, clerk, {})

    assert [row.status for row in rows] == ["succeeded", "failed"]
    assert refunded_at_provider(sandbox, plan) == [3333]
    assert plan.status == "partially_refunded"
    assert list(plan.instalments.values_list("status", flat=True)) == ["paid", "paid", "canceled"]
    assert plan.flag.replace("\xa0", " ") == (
        "Se confirmó devolver todo lo cobrado y faltan 33,34 € por devolver"
    )
    assert Mail.objects.filter(key__startswith="staff-attention:refund-incomplete-").count() == 1
    assert charge_on(40).summary() == ""
    reconcile_at(21)


def test_clerk_is_told_that_the_plan_continues_after_a_rejected_refund(
    client, sandbox, plan, clerk
):
    sandbox.process.control("POST", "disputes", {"payment_intent": plan.stripe_payment_intent_id})
    page = reverse("admin:refund_order", args=[plan.pk])
    with time_machine.travel(timezone.now() + timedelta(hours=1)):
        # Refunds need a fresh password, so the sign-in is as late as the refund.
        client.force_login(clerk)
        form = {"amount": "33,34", "reason": "Error"}
        shown = client.post(page, {**form, "preview": "x"})
        hidden = {"batch": shown.context["batch"], "seen": shown.context["seen"]}
        answer = client.post(page, {**form, **hidden, "confirm": "x"}, follow=True)
        reconcile_returns()

    assert "No se han devuelto" in answer.content.decode()
    assert "El plan sigue como estaba." in answer.content.decode()
