"""What a refund does to the order's instalments and to the friend's reward."""

from decimal import Decimal

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.utils import timezone

from apps.classroom.models import Enrolment
from apps.core.models import Mail, StaffLimit
from apps.orders.models import Order, ReferralReward
from apps.orders.models.statuses import EventKind
from apps.orders.refunds.available import left_today_cents
from apps.orders.refunds.effects import RefundRequest
from apps.orders.refunds.preview import preview
from apps.orders.refunds.request import RefundRefused
from apps.payments.events.reconcile import reconcile
from apps.pricing.models import PromoCode
from tests.helpers.factories import ANA, checkout_body, make_subject, whole
from tests.helpers.plans import buy_in_instalments, charge_on, day, link_of
from tests.helpers.refunds import buy, refund, refunded_at_provider

pytestmark = pytest.mark.django_db


def text(order, **request):
    sentences = preview(order, RefundRequest(reason="Error", **request))
    return " ".join(sentences).replace("\xa0", " ")


def test_whole_refund_of_a_plan_refunds_each_payment_and_ends_the_plan(api, sandbox, clerk, work):
    plan = buy_in_instalments(api, sandbox)
    charge_on(20)
    with time_machine.travel(day(21), tick=False):
        work()
        assert "Se anulan los plazos que quedan: el 3.º (33,33 €)." in text(plan, amount_cents=6667)
        made = refund(plan, clerk)

    # The newest payment is refunded first.
    assert [row.amount_cents for row in made] == [3333, 3334]
    assert refunded_at_provider(sandbox, plan) == [3333, 3334]
    assert plan.status == "refunded"
    assert list(plan.instalments.values_list("status", flat=True)) == ["paid", "paid", "canceled"]
    assert Mail.objects.filter(template="refund_made").count() == 1
    assert Enrolment.objects.count() == 0
    assert charge_on(40).summary() == ""
    assert charge_on(60).summary() == ""


def test_plan_continues_after_a_partial_refund_and_ends_partially_refunded(api, sandbox, clerk):
    plan = buy_in_instalments(api, sandbox)
    with time_machine.travel(day(1), tick=False):
        assert "Los plazos que quedan se siguen cobrando: el 2.º (33,33 €) y el 3.º" in text(
            plan, amount_cents=500
        )
        refund(plan, clerk, 500)
    assert plan.status == "paying"

    assert charge_on(20).charged == 1
    assert charge_on(40).charged == 1

    plan.refresh_from_db()
    assert plan.status == "partially_refunded"


def test_partial_refund_can_cancel_the_remaining_instalments(api, sandbox, clerk):
    plan = buy_in_instalments(api, sandbox)
    with time_machine.travel(day(1), tick=False):
        refund(plan, clerk, 500, cancels_plan=True)

    assert plan.status == "partially_refunded"
    assert list(plan.instalments.values_list("status", flat=True)) == [
        "paid",
        "canceled",
        "canceled",
    ]
    assert charge_on(20).summary() == ""
    status, shown = api.get("instalments", **link_of(plan))
    assert status == 200
    assert [row["state"] for row in shown["instalments"]] == ["paid", "canceled", "canceled"]
    assert (shown["next_amount"], shown["rest_amount"]) == (0, 0)
    status, _ = api.post("instalments/pay", {**link_of(plan), "what": "next", "number": 2})
    assert status == 409


def test_forgiven_instalments_count_towards_the_day_of_the_clerk(api, sandbox):
    plan = buy_in_instalments(api, sandbox)
    marta = User.objects.create_user("marta", is_staff=True)
    group = Group.objects.create(name="Contabilidad")
    StaffLimit.objects.create(group=group, refund_a_day=71)
    marta.groups.add(group)
    with time_machine.travel(day(1), tick=False):
        assert "Se perdonan 66,66 € de plazos" in text(plan, amount_cents=500, cancels_plan=True)
        with pytest.raises(RefundRefused, match="66,66"):
            refund(plan, marta, 500, cancels_plan=True)
        # A part leaves the plan running, and the whole ends the access: neither forgives anything.
        assert "perdonan" not in text(plan, amount_cents=500)
        assert "perdonan" not in text(plan, amount_cents=3334)
        line = frozenset({plan.lines.get().pk})
        losing = {"amount_cents": 500, "line_ids": line, "cancels_plan": True}
        assert "perdonan" not in text(plan, **losing)

        (made,) = refund(plan, marta, 434, cancels_plan=True)

        assert made.forgiven == Decimal("66.66")
        assert left_today_cents(marta) == 0
    assert plan.status == "partially_refunded"
    assert "perdona 66,66" in plan.events.get(kind=EventKind.REFUND_REQUESTED).reason


def test_refund_of_one_of_two_courses_forgives_what_the_other_still_owes(api, sandbox):
    # Two courses cost 15 € less: 90 €, of which 60 € are unpaid.
    subjects = make_subject(price="70.00"), make_subject("Historia", price="35.00")
    body = checkout_body(*map(whole, subjects), total="90.00", payment_type="installment")
    placed = api.checkout(body)
    assert sandbox.confirm(placed["client_secret"]) == ""
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    plan = Order.objects.get()
    dear = plan.lines.get(subject=subjects[0])

    losing = {"amount_cents": 100, "line_ids": frozenset({dear.pk}), "cancels_plan": True}
    assert "Se perdonan 20,00 € de plazos" in text(plan, **losing)


def test_refund_cancels_the_open_payment_of_the_plan(api, sandbox, clerk):
    plan = buy_in_instalments(api, sandbox)
    with time_machine.travel(day(1), tick=False):
        _, started = api.post("instalments/pay", {**link_of(plan), "what": "next", "number": 2})
        refund(plan, clerk)

    assert sandbox.payment(started["payment_intent_id"])["status"] == "canceled"
    assert not plan.payments.open().exists()


def test_reconciliation_cancels_an_open_payment_that_the_refund_could_not_cancel(
    api, sandbox, clerk, fault
):
    plan = buy_in_instalments(api, sandbox)
    with time_machine.travel(day(1), tick=False):
        _, started = api.post("instalments/pay", {**link_of(plan), "what": "next", "number": 2})
        fault(calls="POST /v1/payment_intents/*", do="timeout_before", seconds=0)
        refund(plan, clerk)
        sandbox.process.control("DELETE", "faults")
        assert plan.payments.open().exists()
        reconcile()

    assert sandbox.payment(started["payment_intent_id"])["status"] == "canceled"


@pytest.fixture
def invited(api, sandbox, work):
    """Bruno's order with Ana's friend code."""
    ana = buy(api, sandbox, make_subject("Historia"), **ANA)
    code = PromoCode.objects.get(student=ana.student, is_referral_code=True)
    order = buy(api, sandbox, total="167.40", promo_code=code.code)
    work()
    return order


def test_whole_refund_cancels_the_reward(invited, clerk):
    assert "La recompensa de 25,00 € para ana@example.com se anula." in text(
        invited, amount_cents=16740
    )

    refund(invited, clerk)

    reward = ReferralReward.objects.get()
    assert (reward.status, reward.cancel_reason) == ("canceled", "pedido devuelto")


def test_reward_is_canceled_when_no_whole_subject_is_left(invited, clerk):
    refund(invited, clerk, 1000)
    assert ReferralReward.objects.get().status == "held"

    refund(invited, clerk, 1000, line_ids=frozenset({invited.lines.get().pk}))

    assert ReferralReward.objects.get().status == "canceled"


def test_refund_with_a_paid_reward_flags_the_order(invited, clerk):
    ReferralReward.objects.update(
        status="paid", owed_at=timezone.now(), paid_at=timezone.now(), paid_by="diego"
    )
    assert "ya se pagó: el pedido queda con un aviso" in text(invited, amount_cents=16740)

    refund(invited, clerk)

    assert ReferralReward.objects.get().status == "paid"
    assert "ya se pagó" in invited.flag
