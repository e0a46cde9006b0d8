"""Money given back by staff: once at the provider whatever happens, never more than was paid."""

from datetime import timedelta
from uuid import uuid4

import pytest
import time_machine
from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.classroom.models import Enrolment
from apps.core.models import Mail
from apps.orders.models import Order, Payment, ReferralReward, Refund
from apps.orders.refunds.available import lines_left, refundable_cents
from apps.orders.refunds.effects import RefundRequest
from apps.orders.refunds.preview import preview
from apps.orders.refunds.request import OutOfDate, RefundRefused
from apps.orders.refunds.sent_back import refunds_sent_back, settle_outside
from apps.payments.reconcile import reconcile
from apps.payments.reconcile_refunds import reconcile_returns
from apps.payments.refunding import make_refund
from apps.payments.stripe import refunds as stripe_returns
from apps.pricing.models import PromoCode
from tests.helpers.factories import ANA, checkout_body, make_promo, make_subject, whole
from tests.helpers.parallel import in_parallel
from tests.helpers.plans import buy_in_instalments, charge_on, day, link_of
from tests.helpers.refunds import buy, make_clerk, refund, refunded_at_provider

pytestmark = pytest.mark.django_db
REFUNDS = {"calls": "POST /v1/refunds", "caller": "server"}


@pytest.fixture
def clerk(db):
    return make_clerk()


@pytest.fixture
def order(api, sandbox, work):
    bought = buy(api, sandbox)
    work()
    return bought


@pytest.fixture
def fault(sandbox):
    yield sandbox.process.fault
    sandbox.process.control("DELETE", "faults")


def reasons(order):
    return list(order.events.values_list("reason", flat=True))


def text(order, **request):
    sentences = preview(order, RefundRequest(reason="Error", **request))
    return " ".join(sentences).replace("\xa0", " ")


def test_a_whole_refund_gives_everything_back_and_ends_the_access(
    sandbox, order, clerk, work, mailoutbox
):
    assert Enrolment.objects.get().state == "open"
    mailoutbox.clear()

    [made] = refund(order, clerk, reason="Se apuntó dos veces")
    work()

    assert refunded_at_provider(sandbox, order) == [18240]
    assert (made.status, made.amount_cents, made.actor) == ("succeeded", 18240, "carla")
    assert made.reference.startswith("re_")
    assert order.status == "refunded"
    assert Enrolment.objects.count() == 0
    assert Payment.objects.get().refunded == Payment.objects.get().amount
    last = order.events.get(to_status="refunded")
    assert (last.actor, last.from_status) == ("carla", "paid")
    assert last.reason.replace("\xa0", " ") == "Devueltos 182,40 €: Se apuntó dos veces"
    student, owner = sorted(mailoutbox, key=lambda mail: mail.to != ["bruno@example.com"])
    assert student.subject.replace("\xa0", " ") == "Te hemos devuelto 182,40 €"
    assert "termina tu acceso al aula de lo que compraste" in student.body
    # The reason is the team's.
    assert "dos veces" not in student.body
    assert owner.to == [settings.STAFF_EMAIL]
    assert "Motivo: Se apuntó dos veces" in owner.body
    assert "carla ha devuelto" in owner.body


def test_the_refund_at_the_provider_names_ours(sandbox, order, clerk):
    [made] = refund(order, clerk, 1000)

    assert sandbox.process.client().v1.refunds.retrieve(made.reference).metadata.to_dict() == {
        "order_id": str(order.pk),
        "refund": str(made.key_id),
    }


def test_a_part_leaves_the_access_and_may_be_followed_by_further_parts(
    sandbox, order, clerk, work, mailoutbox
):
    refund(order, clerk, 1000)
    assert order.status == "partially_refunded"
    refund(order, clerk, 2000)
    work()

    assert order.status == "partially_refunded"
    assert refunded_at_provider(sandbox, order) == [1000, 2000]
    assert Enrolment.objects.get().state == "open"
    assert refundable_cents(order) == 15240
    assert "Tu acceso al aula no cambia." in mailoutbox[-1].body + mailoutbox[-2].body

    refund(order, clerk)

    assert order.status == "refunded"
    assert refunded_at_provider(sandbox, order) == [1000, 2000, 15240]
    assert Enrolment.objects.count() == 0
    with pytest.raises(RefundRefused, match="No queda nada que devolver"):
        refund(order, clerk, 1)


def test_chosen_lines_lose_their_access_and_no_other(api, sandbox, work, clerk):
    micro, macro = make_subject("Microeconomía"), make_subject("Macroeconomía")
    order = buy(api, sandbox, micro, macro, total="349.80")
    work()
    line = order.lines.get(subject=macro)

    assert "Se retira el acceso a: Macroeconomía." in text(
        order, amount_cents=17490, line_ids=frozenset({line.pk})
    )
    refund(order, clerk, 17490, line_ids=frozenset({line.pk}))

    assert order.status == "partially_refunded"
    assert list(Enrolment.objects.values_list("subject", flat=True)) == [micro.pk]
    assert list(lines_left(order)) == [order.lines.get(subject=micro)]


def test_the_preview_says_what_would_change_and_changes_nothing(api, sandbox, clerk):
    make_promo("MENOS10")
    order = buy(api, sandbox, total="164.16", promo_code="MENOS10")

    assert text(order, amount_cents=16416) == (
        f"Se devuelven 164,16 € del pago {order.stripe_payment_intent_id} (164,16 €). "
        "Es todo lo cobrado: el pedido queda como devuelto. "
        "Se retira el acceso al aula de todo lo que abrió este pedido. "
        "El uso del código MENOS10 sigue contando: no se puede usar otra vez."
    )
    assert "El acceso al aula no cambia." in text(order, amount_cents=100)
    assert refunded_at_provider(sandbox, order) == []
    assert Refund.objects.count() == 0

    refund(order, clerk)

    assert PromoCode.objects.get(code="MENOS10").uses_taken == 1
    assert order.promo_uses.get().status == "used"


@pytest.mark.parametrize("cents", [0, -1, 18241])
def test_more_than_is_left_or_nothing_is_refused(sandbox, order, clerk, cents):
    with pytest.raises(RefundRefused, match="Se pueden devolver entre 0,01"):
        refund(order, clerk, cents)

    assert refunded_at_provider(sandbox, order) == []
    assert Refund.objects.count() == 0


def test_a_refund_without_a_reason_is_refused(order, clerk):
    with pytest.raises(RefundRefused, match="Escribe el motivo"):
        refund(order, clerk, 100, reason="  ")


def test_a_second_click_on_the_same_preview_refunds_once(sandbox, order, clerk):
    request, batch = RefundRequest(1000, "Error"), uuid4().hex
    for _ in range(2):
        make_refund(order_id=order.pk, request=request, batch=batch, user=clerk, seen_cents=18240)

    assert refunded_at_provider(sandbox, order) == [1000]
    assert Mail.objects.filter(template="refund_made").count() == 1


def test_a_preview_that_is_out_of_date_is_shown_again(sandbox, order, clerk):
    refund(order, clerk, 1000)

    with pytest.raises(OutOfDate):
        make_refund(
            order_id=order.pk,
            request=RefundRequest(1000, "Error"),
            batch=uuid4().hex,
            user=clerk,
            seen_cents=18240,
        )
    assert refunded_at_provider(sandbox, order) == [1000]


def test_nobody_gives_back_more_than_their_day_allows(sandbox, order, clerk, settings):
    settings.REFUND_DAILY_LIMIT = 50
    refund(order, clerk, 4000)

    with pytest.raises(RefundRefused, match="hoy te quedan 10,00"):
        refund(order, clerk, 1001)
    refund(order, make_clerk("diego"), 1001)
    refund(order, clerk, 1000)
    with time_machine.travel(timezone.now() + timedelta(days=1)):
        refund(order, clerk, 5000)

    assert refunded_at_provider(sandbox, order) == [4000, 1001, 1000, 5000]


def test_the_database_itself_refuses_more_than_was_paid(order):
    with pytest.raises(IntegrityError), transaction.atomic():
        Payment.objects.update(refunded="182.41")


# ---------------------------------------------------------------- what the provider does
@pytest.mark.parametrize("do", ["timeout_after", "timeout_before"])
def test_an_answer_that_never_comes_is_settled_with_one_refund(sandbox, order, clerk, fault, do):
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


def test_an_answer_that_is_lost_once_is_no_second_refund(sandbox, order, clerk, fault):
    fault(**REFUNDS, do="timeout_after", seconds=0, nth=1)

    [made] = refund(order, clerk, 1000)

    assert made.status == "succeeded"
    assert refunded_at_provider(sandbox, order) == [1000]


@pytest.mark.parametrize("is_done", [True, False])
def test_an_internal_error_that_is_kept_for_the_key_is_got_past(
    sandbox, order, clerk, fault, is_done
):
    fault(**REFUNDS, do="error_500", nth=1, **({"work": True} if is_done else {}))

    [made] = refund(order, clerk, 1000)
    # Asked again under the same key, Stripe gives the same 500 for 24 hours.
    with time_machine.travel(timezone.now() + timedelta(minutes=3)):
        reconcile_returns()

    made.refresh_from_db()
    assert made.status == "succeeded"
    assert refunded_at_provider(sandbox, order) == [1000]


def test_a_request_whose_key_is_forgotten_is_given_up_instead_of_repeated(
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


def test_one_that_was_made_without_an_answer_is_found_also_after_a_day(
    sandbox, order, clerk, fault
):
    fault(**REFUNDS, do="timeout_after", seconds=0)
    refund(order, clerk, 1000)
    sandbox.process.control("DELETE", "faults")

    with time_machine.travel(timezone.now() + timedelta(hours=25)):
        reconcile_returns()

    assert refunded_at_provider(sandbox, order) == [1000]
    assert Refund.objects.get().status == "succeeded"
    assert not any("rechazada" in reason for reason in reasons(order))


def test_two_that_settle_the_same_request_at_once_make_one_refund(sandbox, order, clerk, fault):
    fault(**REFUNDS, do="timeout_before", seconds=0)
    [row] = refund(order, clerk, 1000)
    sandbox.process.control("DELETE", "faults")

    # Both have looked, and found nothing there.
    made = [
        stripe_returns.create_refund(row, payment=row.payment.reference, order_id=order.pk)
        for _ in range(2)
    ]

    assert made[0].reference == made[1].reference
    assert refunded_at_provider(sandbox, order) == [1000]


def test_a_disputed_payment_is_refused_in_spanish(sandbox, order, clerk):
    sandbox.process.control("POST", "disputes", {"payment_intent": order.stripe_payment_intent_id})

    [made] = refund(order, clerk)

    assert made.status == "failed"
    assert made.problem == ("El pago está en disputa: decide el banco, y no se puede devolver.")
    assert order.status == "paid"
    assert Payment.objects.get().refunded == 0
    assert Mail.objects.filter(template="refund_made").count() == 0


def test_what_was_given_back_in_the_dashboard_a_moment_ago_is_not_given_back_again(
    sandbox, order, clerk
):
    sandbox.process.control(
        "POST", "refunds", {"payment_intent": order.stripe_payment_intent_id, "amount": 10000}
    )

    [made] = refund(order, clerk)

    assert (made.status, made.problem) == ("failed", "Ya se había devuelto en Stripe")
    assert refunded_at_provider(sandbox, order) == [10000]
    assert order.status == "partially_refunded"
    assert refundable_cents(order) == 8240


def test_a_payment_that_the_provider_does_not_know_is_refused(sandbox, order, clerk):
    sandbox.forget_everything()

    [made] = refund(order, clerk)

    assert (made.status, made.problem) == ("failed", "Stripe no conoce este pago")
    assert order.status == "paid"


def test_a_refund_on_its_way_counts_and_arrives(api, sandbox, clerk):
    order = buy(api, sandbox, number="4000000000007726")

    [made] = refund(order, clerk)
    assert (made.status, order.status) == ("pending", "refunded")
    sandbox.process.control("POST", f"refunds/{made.reference}", {"status": "failed"})
    reconcile_returns()

    made.refresh_from_db()
    assert made.status == "failed"


def test_what_the_bank_sends_back_is_told_and_can_be_given_back_again(sandbox, order, clerk):
    [made] = refund(order, clerk)
    sandbox.process.control("POST", f"refunds/{made.reference}", {"status": "failed"})

    for _ in range(2):
        reconcile_returns()

    order.refresh_from_db()
    made.refresh_from_db()
    assert (made.status, made.problem) == ("failed", "tarjeta perdida o robada")
    # The decision stands, and so do its effects; the money is what is missing.
    assert order.status == "refunded"
    assert order.flag.startswith("El banco no ha aceptado la devolución")
    assert Mail.objects.filter(key=f"staff-attention:refund-failed-{made.pk}").count() == 1
    assert list(refunds_sent_back()) == [made]
    assert refundable_cents(order) == 18240

    refund(order, clerk)

    assert order.status == "refunded"
    assert not refunds_sent_back().exists()


def test_what_was_given_back_otherwise_is_not_given_back_again(sandbox, order, clerk):
    [made] = refund(order, clerk)
    assert settle_outside([made.pk], actor="carla") == 0
    sandbox.process.control("POST", f"refunds/{made.reference}", {"status": "failed"})
    reconcile_returns()

    assert settle_outside([made.pk], actor="carla") == 1

    assert not refunds_sent_back().exists()
    assert refundable_cents(order) == 0
    with pytest.raises(RefundRefused):
        refund(order, clerk, 100)


# ---------------------------------------------------------------- plans
def test_a_whole_refund_of_a_plan_goes_back_payment_by_payment_and_ends_it(
    api, sandbox, clerk, work
):
    plan = buy_in_instalments(api, sandbox)
    charge_on(20)
    with time_machine.travel(day(21), tick=False):
        work()
        assert "Se anulan los plazos que quedan: el 3.º (33,33 €)." in text(plan, amount_cents=6667)
        made = refund(plan, clerk)

    # The newest first.
    assert [row.amount_cents for row in made] == [3333, 3334]
    assert refunded_at_provider(sandbox, plan) == [3333, 3334]
    assert plan.status == "refunded"
    assert list(plan.instalments.values_list("status", flat=True)) == ["paid", "paid", "canceled"]
    assert Mail.objects.filter(template="refund_made").count() == 1
    assert Enrolment.objects.count() == 0
    assert charge_on(40).summary() == ""
    assert charge_on(60).summary() == ""


def test_a_part_of_a_plan_lets_it_go_on_and_stays_visible_at_its_end(api, sandbox, clerk):
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


def test_a_part_of_a_plan_may_end_it(api, sandbox, clerk):
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


def test_an_open_payment_of_an_order_given_back_can_not_be_paid_any_more(api, sandbox, clerk):
    plan = buy_in_instalments(api, sandbox)
    with time_machine.travel(day(1), tick=False):
        _, started = api.post("instalments/pay", {**link_of(plan), "what": "next", "number": 2})
        refund(plan, clerk)

    assert sandbox.payment(started["payment_intent_id"])["status"] == "canceled"
    assert not plan.payments.open().exists()


def test_an_open_payment_that_could_not_be_canceled_is_canceled_later(api, sandbox, clerk, fault):
    plan = buy_in_instalments(api, sandbox)
    with time_machine.travel(day(1), tick=False):
        _, started = api.post("instalments/pay", {**link_of(plan), "what": "next", "number": 2})
        fault(calls="POST /v1/payment_intents/*", do="timeout_before", seconds=0)
        refund(plan, clerk)
        sandbox.process.control("DELETE", "faults")
        assert plan.payments.open().exists()
        reconcile()

    assert sandbox.payment(started["payment_intent_id"])["status"] == "canceled"


def test_a_payment_too_many_goes_back_first_and_the_order_stays_paid(api, sandbox, order, clerk):
    customer = order.customer_reference
    twice = sandbox.process.client().v1.payment_intents.create(
        {
            "amount": 18240,
            "currency": "eur",
            "customer": customer,
            "payment_method": "pm_card_visa",
            "confirm": True,
            "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
            "metadata": {"order_id": str(order.pk), "revision": "1"},
        }
    )
    api.post("complete-payment", {"payment_intent_id": twice.id})
    assert Payment.objects.get(reference=twice.id).flag

    assert "Era dinero de más: el pedido sigue pagado." in text(order, amount_cents=18240)
    [made] = refund(order, clerk, 18240)

    assert made.payment.reference == twice.id
    assert order.status == "paid"
    assert Enrolment.objects.count() == 1


# ---------------------------------------------------------------- rewards
@pytest.fixture
def invited(api, sandbox, work):
    """Bruno's order with Ana's friend code."""
    ana = buy(api, sandbox, make_subject("Historia"), **ANA)
    code = PromoCode.objects.get(student=ana.student, is_referral_code=True)
    order = buy(api, sandbox, total="167.40", promo_code=code.code)
    work()
    return order


def test_a_whole_refund_cancels_the_reward(invited, clerk):
    assert "La recompensa de 25,00 € para ana@example.com se anula." in text(
        invited, amount_cents=16740
    )

    refund(invited, clerk)

    reward = ReferralReward.objects.get()
    assert (reward.status, reward.cancel_reason) == ("canceled", "pedido devuelto")


def test_a_part_keeps_the_reward_and_the_last_complete_subject_takes_it_away(invited, clerk):
    refund(invited, clerk, 1000)
    assert ReferralReward.objects.get().status == "held"

    refund(invited, clerk, 1000, line_ids=frozenset({invited.lines.get().pk}))

    assert ReferralReward.objects.get().status == "canceled"


def test_a_reward_that_was_paid_already_is_a_warning(invited, clerk):
    ReferralReward.objects.update(
        status="paid", owed_at=timezone.now(), paid_at=timezone.now(), paid_by="diego"
    )
    assert "ya se pagó: el pedido queda con un aviso" in text(invited, amount_cents=16740)

    refund(invited, clerk)

    assert ReferralReward.objects.get().status == "paid"
    assert "ya se pagó" in invited.flag


def test_an_order_that_cost_nothing_has_nothing_to_give_back(api, sandbox, clerk):
    make_promo("GRATIS", value="100")
    placed = api.checkout(checkout_body(whole(make_subject()), total="0", promo_code="GRATIS"))
    order = Order.objects.get(pk=placed["order_id"])
    assert order.status == "paid"
    with pytest.raises(RefundRefused, match="No queda nada que devolver"):
        refund(order, clerk, 1)
    with pytest.raises(ObjectDoesNotExist):
        Refund.objects.get()


# ---------------------------------------------------------------- at once
@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_clerks_at_once_give_back_no_more_than_was_paid(api, sandbox):
    order = buy(api, sandbox)
    clerks = [make_clerk("carla"), make_clerk("diego")]

    def press():
        return make_refund(
            order_id=order.pk,
            request=RefundRequest(18240, "Error"),
            batch=uuid4().hex,
            user=clerks.pop(),
            seen_cents=18240,
        )

    results = in_parallel(press, 2)

    refused = [one for one in results if isinstance(one, Exception)]
    assert [type(one) for one in refused] == [RefundRefused]
    assert refunded_at_provider(sandbox, order) == [18240]
    assert Payment.objects.get().refunded == Payment.objects.get().amount
    order.refresh_from_db()
    assert order.status == "refunded"
    assert order.events.filter(to_status="refunded").count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_daily_limit_holds_for_two_windows_of_one_clerk(api, sandbox, settings):
    settings.REFUND_DAILY_LIMIT = 100
    clerk = make_clerk()
    orders = [buy(api, sandbox), buy(api, sandbox, **ANA)]

    def press():
        return make_refund(
            order_id=orders.pop().pk,
            request=RefundRequest(6000, "Error"),
            batch=uuid4().hex,
            user=clerk,
            seen_cents=18240,
        )

    results = in_parallel(press, 2)

    assert [type(one) for one in results if isinstance(one, Exception)] == [RefundRefused]
    assert Refund.objects.count() == 1
