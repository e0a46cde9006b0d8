"""A plan of instalments from its first charge to its last, with all that may come between."""

from datetime import timedelta
from itertools import count

import pytest
import requests
import stripe
import time_machine
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from apps.classroom.models import Enrolment, Provisioning
from apps.core.models import Mail
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Instalment, InstalmentAttempt, Order, Payment
from apps.orders.plan.charging import charge_again
from apps.orders.plan.outcomes import mark_instalments_paid
from apps.orders.plan.plan_link import plan_url
from apps.orders.privacy import delete_orders
from apps.payments.jobs import charge_due_instalments
from apps.payments.reconcile import reconcile
from apps.payments.stripe.intents import payment_of_intent
from apps.payments.webhooks import HANDLERS
from tests.helpers.plans import (
    buy_in_instalments,
    charge_on,
    charges,
    day,
    give_card,
    link_of,
)
from tests.helpers.shop import DECLINED, SUCCESS

pytestmark = pytest.mark.django_db
CREATE = {"calls": "POST /v1/payment_intents", "caller": "server"}
REFUSED_LATER = "pm_card_chargeCustomerFail"
ASKS_ALWAYS = "pm_card_authenticationRequired"


@pytest.fixture
def plan(api, sandbox):
    return buy_in_instalments(api, sandbox)


@pytest.fixture
def work_on(work):
    """The worker, so many days after the purchase."""

    def run(number):
        with time_machine.travel(day(number)):
            work()

    return run


@pytest.fixture
def fault(sandbox):
    yield sandbox.process.fault
    sandbox.process.control("DELETE", "faults")


def states(order):
    return list(order.instalments.order_by("number").values_list("status", flat=True))


def attempts(order):
    return list(
        InstalmentAttempt.objects.filter(instalment__order=order)
        .order_by("instalment", "number")
        .values_list("instalment__number", "number", "kind", "outcome", "error_code")
    )


def mails(template):
    return Mail.objects.filter(template=template)


def next_of(order):
    return order.instalments.exclude(status="paid").order_by("number").first().number


def pay(api, order, sandbox, what="next", number=None, at=None):
    """What the page does: prepare, confirm with Stripe.js, complete."""
    with time_machine.travel(at or day(0), tick=False):
        wanted = {"number": next_of(order), "what": what}
        status, started = api.post("instalments/pay", {**link_of(order), **wanted})
        assert status == 200, started
        refusal = sandbox.confirm(started["client_secret"], *([number] if number else []))
        if not refusal:
            reference = started["payment_intent_id"]
            assert api.post("complete-payment", {"payment_intent_id": reference})[0] == 200
    order.refresh_from_db()
    return refusal


@pytest.mark.usefixtures("audited")
def test_a_plan_is_charged_from_its_first_day_to_its_last(sandbox, plan, work_on, mailoutbox):
    assert plan.card_reference.startswith("pm_")
    for quiet in (1, 17):
        assert charge_on(quiet).summary() == ""

    assert charge_on(18).noticed == 1
    work_on(18)
    assert charge_on(19).noticed == 0
    assert charges(sandbox, plan) == [3334]
    assert charge_on(20).charged == 1
    assert states(plan) == ["paid", "paid", "due"]
    assert charge_on(20, hours=1).summary() == ""
    assert charge_on(38).noticed == 1
    work_on(38)
    assert charge_on(40).charged == 1

    plan.refresh_from_db()
    assert plan.status == "paid"
    assert states(plan) == ["paid", "paid", "paid"]
    assert charges(sandbox, plan) == [3334, 3333, 3333]
    assert attempts(plan) == [
        (2, 1, "automatic", "succeeded", ""),
        (3, 1, "automatic", "succeeded", ""),
    ]
    assert charge_on(60).summary() == ""
    work_on(60)
    subjects = [mail.subject for mail in mailoutbox]
    assert subjects.count("Recibo de tu pago: plazo 2") == 1
    assert subjects.count("Recibo de tu pago: plazo 3") == 1
    assert subjects.count("El 11 de diciembre cobraremos el plazo 2") == 1
    assert subjects.count("El 31 de diciembre cobraremos el plazo 3") == 1
    notice = next(mail for mail in mailoutbox if mail.subject.startswith("El 11"))
    assert "33,33 €, en tu tarjeta Visa terminada en 4242" in " ".join(notice.body.split())
    assert f"/plazos?pedido={plan.pk}&clave=" in notice.body


def test_what_was_paid_before_its_mail_went_out_is_not_announced(
    api, sandbox, plan, work_on, mailoutbox
):
    charge_on(18)
    pay(api, plan, sandbox, at=day(18))
    work_on(18)

    assert not [mail for mail in mailoutbox if "cobraremos" in mail.subject]


def test_each_payment_says_what_it_pays_and_is_no_second_charge_for_anybody(api, sandbox, plan):
    charge_on(20)
    payment = Payment.objects.get(instalments__number=2)

    there = sandbox.payment(payment.reference)
    assert there["metadata"] == {
        "order_id": str(plan.pk),
        "instalments": "2",
        "attempt": "1",
        "automatic": "true",
    }
    status, answer = api.post("complete-payment", {"payment_intent_id": payment.reference})
    assert (status, answer["status"]) == (200, "paying")
    reconcile()
    assert Payment.objects.filter(status="succeeded").count() == 2
    assert not Payment.objects.exclude(flag="").exists()
    assert mails("instalment_paid").count() == 1


@pytest.mark.usefixtures("audited")
def test_a_refused_charge_is_tried_on_days_3_5_and_7_and_then_the_order_is_overdue(
    api, sandbox, plan, work_on
):
    work_on(0)
    give_card(plan, sandbox, REFUSED_LATER)

    tried = [at for at in range(19, 30) if charge_on(at).refused]

    assert tried == [20, 23, 25, 27]
    plan.refresh_from_db()
    assert plan.status == "overdue"
    assert states(plan) == ["paid", "failed", "due"]
    assert charges(sandbox, plan) == [3334]
    assert mails("instalment_unpaid").count() == 4
    assert mails("staff_attention").count() == 1
    assert Enrolment.objects.get().state == "paused"
    assert Provisioning.objects.get().paused_for == ["overdue"]
    assert plan.refused_cards == 0
    payments = sandbox.payments(plan.customer_reference)
    assert [payment["status"] for payment in payments] == ["canceled"] * 4 + ["succeeded"]

    assert pay(api, plan, sandbox, at=day(30)) == ""

    assert plan.status == "paying"
    assert states(plan) == ["paid", "paid", "due"]
    assert Enrolment.objects.get().state == "open"
    # The card that paid is the plan's from now on.
    assert charge_on(40).charged == 1
    plan.refresh_from_db()
    assert plan.status == "paid"
    assert charges(sandbox, plan) == [3334, 3333, 3333]


def test_a_runner_that_was_away_tries_again_and_keeps_to_the_days(sandbox, plan):
    give_card(plan, sandbox, REFUSED_LATER)

    tried = [at for at in (22, 26, 27, 40, 60) if charge_on(at).refused]

    # First refused on day 22: again on the days 25, 27 and 29, of which two were missed.
    assert tried[:3] == [22, 26, 27]
    assert plan.instalments.get(number=2).status == "failed"


@pytest.mark.parametrize("code", ["stolen_card", "lost_card", "expired_card", "card_not_supported"])
def test_a_card_that_is_refused_for_good_is_not_charged_again(sandbox, plan, code):
    sandbox.process.control("POST", f"payment_methods/{plan.card_reference}", {"refuse": code})
    assert charge_on(20).refused == 1

    for later in range(21, 45):
        charge_on(later)

    plan.refresh_from_db()
    assert plan.status == "overdue"
    assert charges(sandbox, plan) == [3334]
    assert [row[:2] for row in attempts(plan)] == [(2, 1)]
    # The student is reminded on each of the days all the same, and told of the third in its turn.
    second = mails("instalment_unpaid").filter(
        key__startswith=f"instalment-unpaid:{plan.instalments.get(number=2).pk}:"
    )
    assert second.count() == 4


@pytest.mark.usefixtures("audited")
def test_a_bank_that_asks_for_the_student_gets_them_by_mail(
    api, sandbox, plan, work_on, mailoutbox
):
    give_card(plan, sandbox, ASKS_ALWAYS)

    assert charge_on(20).refused == 1
    assert charge_on(23).refused == 0
    work_on(23)

    plan.refresh_from_db()
    assert plan.card_refusal == "authentication"
    assert attempts(plan) == [(2, 1, "automatic", "refused", "authentication_required")]
    mail = next(m for m in mailoutbox if m.subject == "Confirma el pago del plazo 2")
    assert "Tu banco pide que confirmes tú el pago" in " ".join(mail.body.split())
    link = plan_url(plan)
    assert link in mail.body
    assert pay(api, plan, sandbox, at=day(24)) == ""
    assert plan.card_refusal == ""
    assert states(plan) == ["paid", "paid", "due"]
    assert charge_on(40).charged == 1


@pytest.mark.usefixtures("audited")
def test_all_that_is_left_can_be_paid_at_once(api, sandbox, plan):
    assert pay(api, plan, sandbox, "all", at=day(10)) == ""

    assert plan.status == "paid"
    assert states(plan) == ["paid", "paid", "paid"]
    payment = Payment.objects.get(amount="66.66")
    assert [row.number for row in payment.instalments.order_by("number")] == [2, 3]
    assert mails("instalment_paid").count() == 1
    for later in (20, 40):
        assert charge_on(later).summary() == ""
    assert charges(sandbox, plan) == [3334, 6666]
    assert api.post("instalments/pay", {**link_of(plan), "number": 2, "what": "next"})[0] == 409


@pytest.mark.usefixtures("audited")
def test_the_next_one_can_be_paid_early_and_is_not_charged_then(api, sandbox, plan):
    assert pay(api, plan, sandbox, at=day(5)) == ""

    assert charge_on(20).charged == 0
    assert charge_on(40).charged == 1
    plan.refresh_from_db()
    assert plan.status == "paid"
    assert charges(sandbox, plan) == [3334, 3333, 3333]


def test_an_instalment_that_was_charged_since_it_was_looked_at_is_not_taken_for_the_next(
    api, sandbox, plan
):
    charge_on(20)

    for what in ("next", "all"):
        status, answer = api.post("instalments/pay", {**link_of(plan), "number": 2, "what": what})
        assert (status, answer["code"]) == (409, "plan_changed")
    assert not plan.payments.open().exists()


def test_paying_by_hand_reuses_its_payment_and_a_change_of_mind_cancels_it(api, sandbox, plan):
    one, again, everything = (
        api.post("instalments/pay", {**link_of(plan), "number": 2, "what": what})[1]
        for what in ("next", "next", "all")
    )

    assert one["client_secret"] == again["client_secret"]
    assert everything["payment_intent_id"] != one["payment_intent_id"]
    assert (one["amount"], everything["amount"]) == (33.33, 66.66)
    assert sandbox.payment(one["payment_intent_id"])["status"] == "canceled"
    assert sandbox.payment(one["payment_intent_id"])["setup_future_usage"] == "off_session"
    assert sandbox.payment(everything["payment_intent_id"])["setup_future_usage"] is None
    assert plan.payments.open().count() == 1


def test_a_refused_card_by_hand_leaves_the_payment_for_another(api, sandbox, plan):
    assert pay(api, plan, sandbox, number=DECLINED, at=day(5)) == "card_declined"
    reconcile()
    assert states(plan) == ["paid", "due", "due"]

    assert pay(api, plan, sandbox, at=day(5)) == ""

    assert states(plan) == ["paid", "paid", "due"]
    assert charges(sandbox, plan) == [3334, 3333]


def test_an_open_form_is_waited_for_and_then_its_payment_can_not_be_confirmed_any_more(
    api, sandbox, plan
):
    with time_machine.travel(day(20), tick=False):
        _, started = api.post("instalments/pay", {**link_of(plan), "number": 2, "what": "next"})
    assert charge_on(20, hours=0.25).charged == 0

    assert charge_on(20, hours=1).charged == 1

    assert sandbox.payment(started["payment_intent_id"])["status"] == "canceled"
    assert charges(sandbox, plan) == [3334, 3333]
    assert states(plan) == ["paid", "paid", "due"]


def test_what_was_paid_in_a_form_that_nobody_reported_is_adopted_and_not_charged(
    api, sandbox, plan
):
    with time_machine.travel(day(20), tick=False):
        _, started = api.post("instalments/pay", {**link_of(plan), "number": 2, "what": "next"})
    sandbox.confirm(started["client_secret"])

    assert charge_on(20, hours=1).charged == 1

    assert charges(sandbox, plan) == [3334, 3333]
    assert states(plan) == ["paid", "paid", "due"]


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
def test_an_outcome_that_is_not_known_is_found_out_before_anything_is_charged(
    sandbox, plan, fault, trouble, done
):
    fault(**CREATE, **trouble, nth=[1, 2])

    charge_on(20)
    assert charges(sandbox, plan) == [3334] + [3333] * done
    for minutes in range(6, 40, 6):
        charge_on(20, hours=minutes / 60)

    assert charges(sandbox, plan) == [3334, 3333]
    assert states(plan) == ["paid", "paid", "due"]


def test_a_charge_of_which_no_answer_came_is_adopted_without_another_call(sandbox, plan, fault):
    fault(**CREATE, do="timeout_after", nth=[1, 2])
    charge_on(20)
    fault(**CREATE, do="timeout_before")

    assert charge_on(20, hours=0.2).charged == 1

    assert states(plan) == ["paid", "paid", "due"]
    assert attempts(plan) == [(2, 1, "automatic", "succeeded", "")]


def test_an_attempt_of_more_than_23_hours_gives_way_to_one_with_a_key_of_its_own(
    sandbox, plan, fault
):
    fault(**CREATE, do="timeout_before")
    charge_on(20)
    sandbox.process.control("DELETE", "faults")

    assert charge_on(21).charged == 1

    assert [row[:4] for row in attempts(plan)] == [
        (2, 1, "automatic", "void"),
        (2, 2, "automatic", "succeeded"),
    ]
    assert charges(sandbox, plan) == [3334, 3333]


def test_an_attempt_of_more_than_23_hours_that_did_charge_is_adopted(sandbox, plan, fault):
    fault(**CREATE, do="timeout_after", nth=[1, 2])
    charge_on(20)

    assert charge_on(22).charged == 1

    assert [row[:4] for row in attempts(plan)] == [(2, 1, "automatic", "succeeded")]
    assert charges(sandbox, plan) == [3334, 3333]


def test_a_charge_without_an_answer_is_found_though_its_order_takes_no_charges_any_more(
    sandbox, plan, fault
):
    fault(**CREATE, do="timeout_after", nth=[1, 2])
    assert charge_on(20).problems == 1
    Order.objects.update(disputed_at=timezone.now())
    assert charge_on(21).summary() == ""

    with time_machine.travel(day(21)):
        found = reconcile()

    assert found.payments == 1
    assert states(plan) == ["paid", "paid", "due"]
    assert Payment.objects.filter(order=plan, status="succeeded").count() == 2


def test_a_run_in_which_stripe_takes_long_leaves_the_rest_to_the_next(
    api, sandbox, plan, monkeypatch
):
    other = buy_in_instalments(api, sandbox, email="ana@example.com", phone="+34600111111")
    # Each look at the clock finds two minutes gone: a third charge would begin after six.
    third = buy_in_instalments(api, sandbox, email="eva@example.com", phone="+34600222222")
    monkeypatch.setattr("apps.payments.plan_charges.monotonic", count(0, 120).__next__)

    assert charge_on(20).charged == 2
    assert states(third) == ["paid", "due", "due"]
    assert charge_on(20).charged == 1

    assert states(plan) == states(other) == states(third) == ["paid", "paid", "due"]


def test_while_an_outcome_is_not_known_nobody_pays_by_hand(api, sandbox, plan, fault):
    fault(**CREATE, do="timeout_before", nth=[1, 2])
    charge_on(20)

    status, answer = api.post("instalments/pay", {**link_of(plan), "number": 2, "what": "next"})

    assert (status, answer["code"]) == (409, "payment_in_progress")
    assert charge_on(20, hours=0.2).charged == 1
    assert charges(sandbox, plan) == [3334, 3333]


def test_a_disputed_or_refunded_order_is_not_charged(sandbox, plan):
    Order.objects.update(disputed_at=timezone.now())
    assert charge_on(20).summary() == ""
    Order.objects.update(disputed_at=None, status="refunded")
    assert charge_on(20).summary() == ""

    assert charges(sandbox, plan) == [3334]


def test_a_card_that_is_gone_at_the_provider_is_a_refusal(sandbox, plan):
    sandbox.process.client().v1.payment_methods.detach(plan.card_reference)

    assert charge_on(20).refused == 1

    plan.refresh_from_db()
    assert plan.card_refusal == "card_missing"
    assert mails("instalment_unpaid").count() == 1


def test_a_customer_who_was_deleted_at_stripe_is_a_refusal_and_can_still_pay(api, sandbox, plan):
    sandbox.process.client().v1.customers.delete(plan.customer_reference)

    done = charge_on(20)

    assert (done.refused, done.problems) == (1, 0)
    plan.refresh_from_db()
    assert plan.card_refusal == "card_missing"
    assert mails("instalment_unpaid").count() == 1
    deleted = plan.customer_reference
    assert pay(api, plan, sandbox, at=day(20)) == ""
    assert states(plan) == ["paid", "paid", "due"]
    assert plan.customer_reference != deleted
    assert charge_on(40).charged == 1
    plan.refresh_from_db()
    assert plan.status == "paid"


def test_a_charge_that_waits_for_the_student_is_a_refusal_though_no_error_said_so():
    intent = {
        "id": "pi_1",
        "object": "payment_intent",
        "status": "requires_action",
        "amount": 3333,
        "currency": "eur",
        "client_secret": "pi_1_secret_2",
        "customer": "cus_1",
        "payment_method": "pm_1",
        "last_payment_error": None,
        "livemode": False,
        "metadata": {"order_id": "7", "instalments": "2", "attempt": "1"},
    }
    by_hand = stripe.PaymentIntent.construct_from(intent, "sk_test_1")
    intent["metadata"] = {**intent["metadata"], "automatic": "true"}
    automatic = stripe.PaymentIntent.construct_from(intent, "sk_test_1")

    assert payment_of_intent(automatic).refusal_code == "authentication_required"
    assert payment_of_intent(by_hand).refusal_code == ""


def test_a_payment_that_the_bank_confirms_later_is_paid_then(api, sandbox, plan, settings):
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

    wait_until(lambda: sandbox.payment(reference)["status"] == "succeeded", seconds=15)


@pytest.mark.parametrize(
    ("amount", "numbers", "reason"),
    [
        (3000, (2,), "Importe inesperado de Plazo 2"),
        (3333, (1,), "Segundo pago de Plazo 1"),
        (3333, (2, 4), "Pago de Plazos 2 y 4 de un pedido que no los espera"),
    ],
)
def test_a_payment_that_does_not_fit_is_kept_and_flagged(plan, amount, numbers, reason):
    for _ in range(2):
        mark_instalments_paid(
            order_id=plan.pk,
            numbers=numbers,
            attempt=1,
            payment=ConfirmedPayment("pi_misfit", amount),
            actor="Stripe",
        )

    payment = Payment.objects.get(reference="pi_misfit")
    assert payment.flag.startswith(reason)
    assert payment.instalments.count() == 0
    plan.refresh_from_db()
    assert plan.flag.startswith(reason)
    assert states(plan) == ["paid", "due", "due"]
    assert mails("staff_attention").count() == 1


def test_staff_can_have_a_refused_instalment_charged_again_but_never_before_its_day(sandbox, plan):
    second, third = plan.instalments.filter(number__gt=1).order_by("number")
    give_card(plan, sandbox, REFUSED_LATER)
    charge_on(20)
    assert charge_on(21).refused == 0

    with time_machine.travel(day(21), tick=False):
        assert charge_again(instalment_id=second.pk, actor="carla")
        assert not charge_again(instalment_id=third.pk, actor="carla")

    assert charge_on(21).refused == 1
    assert plan.events.filter(actor="carla", reason="Cobrar otra vez el plazo 2").count() == 1


def test_the_command_and_the_job_say_what_they_did(plan, capsys):
    with time_machine.travel(day(20), tick=False):
        call_command("charge_instalments")
        assert charge_due_instalments() == ""
    with time_machine.travel(day(40), tick=False):
        assert charge_due_instalments().startswith("Plazos cobrados: 1.")

    assert capsys.readouterr().out.startswith("Plazos cobrados: 1.")


def test_the_classroom_says_why_an_access_rests_with_the_link_that_ends_it(
    client, sandbox, plan, work_on
):
    from apps.students.session import SESSION_KEY

    work_on(0)
    give_card(plan, sandbox, REFUSED_LATER)
    for at in (20, 23, 25, 27):
        charge_on(at)
    session = client.session
    session[SESSION_KEY] = plan.student_id
    session.save()

    page = client.get("/aula").content.decode()

    assert "Tienes un plazo sin pagar" in page
    assert plan_url(plan).replace("&", "&amp;") in page


# ---------------------------------------------------------------- the link
def test_the_plan_is_shown_to_who_has_its_link_and_names_nobody(api, sandbox, plan):
    with time_machine.travel(day(1), tick=False):
        answer = api.client.get("/api/instalments", link_of(plan))

    assert answer["Cache-Control"] == "no-store"
    assert answer["Referrer-Policy"] == "no-referrer"
    shown = answer.json()
    assert shown["card"] == "Visa terminada en 4242"
    assert (shown["next_amount"], shown["rest_amount"]) == (33.33, 66.66)
    assert [(row["number"], row["state"]) for row in shown["instalments"]] == [
        (1, "paid"), (2, "due"), (3, "due"),
    ]  # fmt: skip
    assert plan.email not in answer.content.decode()


def test_while_a_payment_is_disputed_the_plan_names_no_day_of_a_charge(api, plan):
    Order.objects.update(disputed_at=timezone.now())

    _, answer = api.get("instalments", **link_of(plan))

    assert (answer["paused"], answer["card_works"]) == (True, True)
    assert [row["charge_on"] for row in answer["instalments"]] == [None, None, None]


@pytest.mark.parametrize("change", ["token", "order", "recovery"])
def test_another_token_opens_nothing(api, plan, change):
    link = link_of(plan)
    if change == "recovery":
        link["token"] = plan.auth_token
    elif change == "order":
        link["order"] = plan.pk + 1
    else:
        link["token"] = link["token"][:-1] + ("0" if link["token"][-1] != "0" else "1")

    for answer in (
        api.get("instalments", **link),
        api.post("instalments/pay", {**link, "number": 2, "what": "all"}),
        api.post("instalments/card", link),
        api.post("instalments/card-saved", {**link, "setup_intent_id": "seti_1"}),
    ):
        assert (answer[0], answer[1]["code"]) == (404, "not_found")


def test_the_page_is_private_and_only_shows(client, plan):
    answer = client.get(plan_url(plan))

    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    assert answer["Referrer-Policy"] == "no-referrer"
    assert answer["X-Robots-Tag"] == "noindex"
    assert InstalmentAttempt.objects.count() == 0
    assert client.post(plan_url(plan)).status_code == 405


def test_eight_refused_cards_lock_the_plan_for_an_hour(api, sandbox, plan):
    Order.objects.update(locked_until=day(1) + timedelta(hours=1))

    with time_machine.travel(day(1), tick=False):
        status, answer = api.post("instalments/pay", {**link_of(plan), "number": 2, "what": "next"})

    assert (status, answer["code"]) == (429, "too_many_requests")
    assert Instalment.objects.filter(status="due").count() == 2


def refused_setup(sandbox, order, reference, secret, event_id):
    """A card that Stripe does not save for the setup, and its event."""
    with pytest.raises(stripe.CardError):
        sandbox.process.browser_client().v1.setup_intents.confirm(
            reference,
            {
                "client_secret": secret,
                "payment_method": sandbox.process.new_card(DECLINED).id,
                "return_url": "http://127.0.0.1/plazos",
            },
        )
    setup = sandbox.process.client().v1.setup_intents.retrieve(reference)
    payload = {"id": event_id, "data": {"object": setup.to_dict()}}
    return HANDLERS["setup_intent.setup_failed"](payload)


def test_cards_that_a_setup_refuses_count_and_the_eighth_ends_it(api, sandbox, plan):
    _, started = api.post("instalments/card", link_of(plan))
    tried = started["setup_intent_id"], started["client_secret"]

    for number in range(7):
        outcome = refused_setup(sandbox, plan, *tried, f"evt_{number}")
        assert outcome == f"{tried[0]}: tarjeta rechazada"
    refused_setup(sandbox, plan, *tried, "evt_6")
    plan.refresh_from_db()
    assert (plan.refused_cards, plan.locked_until) == (7, None)
    refused_setup(sandbox, plan, *tried, "evt_7")

    plan.refresh_from_db()
    assert plan.refused_cards == 8
    assert sandbox.process.client().v1.setup_intents.retrieve(tried[0]).status == "canceled"
    status, answer = api.post("instalments/card", link_of(plan))
    assert (status, answer["code"]) == (429, "too_many_requests")
    assert charges(sandbox, plan) == [3334]


def test_a_setup_of_another_shop_that_is_refused_counts_for_nobody(sandbox, plan):
    stray = sandbox.process.client().v1.setup_intents.create({"metadata": {"order_id": plan.pk}})
    event = {"id": "evt_1", "data": {"object": {"id": stray.id}}}

    assert HANDLERS["setup_intent.setup_failed"](event).endswith("no es de esta tienda")

    plan.refresh_from_db()
    assert plan.refused_cards == 0


# ---------------------------------------------------------------- another card
def save_card(api, sandbox, order, number=SUCCESS, at=None):
    """What the page does to change the card; the setup's reference."""
    with time_machine.travel(at or day(0), tick=False):
        status, started = api.post("instalments/card", link_of(order))
        assert status == 200, started
        reference = started["setup_intent_id"]
        confirmed = sandbox.process.browser_client().v1.setup_intents.confirm(
            reference,
            {
                "client_secret": started["client_secret"],
                "payment_method": sandbox.process.new_card(number).id,
                "use_stripe_sdk": True,
                "return_url": "http://127.0.0.1/plazos",
            },
        )
        if confirmed.status == "requires_action":
            address = confirmed.next_action.to_dict()["use_stripe_sdk"]["stripe_js"]
            requests.post(address, json={"accept": True}, timeout=10).raise_for_status()
    return reference


def tell_saved(api, order, reference, at=None):
    with time_machine.travel(at or day(0), tick=False):
        return api.post("instalments/card-saved", {**link_of(order), "setup_intent_id": reference})


def test_no_method_is_saved_whose_charges_answer_days_later(api, sandbox, plan):
    _, started = api.post("instalments/card", link_of(plan))

    setup = sandbox.process.client().v1.setup_intents.retrieve(started["setup_intent_id"])
    assert "sepa_debit" in setup.excluded_payment_method_types
    assert "card" not in setup.excluded_payment_method_types


def test_the_instalments_to_come_are_charged_to_the_new_card(api, sandbox, plan):
    first = plan.card_reference
    reference = save_card(api, sandbox, plan, "5555555555554444", at=day(5))

    for _ in range(2):
        status, answer = tell_saved(api, plan, reference, at=day(5))
        assert (status, answer["card"]) == (200, "Mastercard terminada en 4444")

    plan.refresh_from_db()
    assert plan.card_reference != first
    assert plan.events.filter(kind="card_changed").count() == 1
    assert charges(sandbox, plan) == [3334]
    assert charge_on(20).charged == 1
    charged = Payment.objects.get(instalments__number=2)
    assert charged.payment_method == plan.card_reference


def test_a_card_that_asks_for_3d_secure_once_is_charged_without_it_later(api, sandbox, plan):
    reference = save_card(api, sandbox, plan, "4000002500003155", at=day(5))
    assert tell_saved(api, plan, reference)[0] == 200

    assert charge_on(20).charged == 1
    assert charge_on(40).charged == 1


def test_a_refused_instalment_is_charged_to_the_new_card_on_the_same_day(
    api, sandbox, plan, work_on
):
    work_on(0)
    give_card(plan, sandbox, REFUSED_LATER)
    for at in (20, 23, 25, 27):
        charge_on(at)
    assert Enrolment.objects.get().state == "paused"

    reference = save_card(api, sandbox, plan, at=day(28))
    tell_saved(api, plan, reference, at=day(28))

    assert charge_on(28).charged == 1
    plan.refresh_from_db()
    assert plan.status == "paying"
    assert Enrolment.objects.get().state == "open"


def test_of_two_late_instalments_with_a_new_card_one_that_is_paid_ends_no_pause(
    api, sandbox, plan, work_on
):
    work_on(0)
    give_card(plan, sandbox, REFUSED_LATER)
    for at in (20, 23, 25, 27, 40, 43, 45, 47):
        charge_on(at)
    assert states(plan) == ["paid", "failed", "failed"]
    tell_saved(api, plan, save_card(api, sandbox, plan, at=day(48)), at=day(48))

    pay(api, plan, sandbox, at=day(48))

    assert plan.status == "overdue"
    assert Enrolment.objects.get().state == "paused"
    assert charge_on(48).charged == 1
    plan.refresh_from_db()
    assert plan.status == "paid"
    assert Enrolment.objects.get().state == "open"


def test_the_webhook_changes_the_card_of_a_closed_tab_and_an_old_setup_changes_nothing(
    api, sandbox, plan
):
    old = save_card(api, sandbox, plan, at=day(5))
    new = save_card(api, sandbox, plan, "5555555555554444", at=day(6))
    event = {"data": {"object": {"id": old}}}

    assert HANDLERS["setup_intent.succeeded"](event).endswith("tarjeta cambiada")
    assert tell_saved(api, plan, new)[1]["card"] == "Mastercard terminada en 4444"
    assert HANDLERS["setup_intent.succeeded"](event).endswith("ya conocida")

    plan.refresh_from_db()
    assert plan.card_label == "Mastercard terminada en 4444"


def test_a_setup_that_is_not_finished_or_of_another_order_changes_nothing(api, sandbox, plan):
    other = buy_in_instalments(api, sandbox, email="ana@example.com", phone="+34600111111")
    _, started = api.post("instalments/card", link_of(plan))
    assert tell_saved(api, plan, started["setup_intent_id"])[1]["card"] is None

    foreign = save_card(api, sandbox, other)
    assert tell_saved(api, plan, foreign)[0] == 404
    stray = sandbox.process.client().v1.setup_intents.create({})
    assert HANDLERS["setup_intent.succeeded"]({"data": {"object": {"id": stray.id}}}).endswith(
        "no es de esta tienda"
    )

    before = plan.card_reference
    plan.refresh_from_db()
    assert plan.card_reference == before


def test_an_order_can_be_deleted_with_its_attempts(sandbox, plan):
    charge_on(20)
    assert InstalmentAttempt.objects.exists()

    assert delete_orders(Order.objects.filter(pk=plan.pk)) == 1

    assert not InstalmentAttempt.objects.exists()


def test_staff_see_the_attempts_and_charge_again_what_is_due(client, admin_user, sandbox, plan):
    give_card(plan, sandbox, REFUSED_LATER)
    charge_on(20)
    second, third = plan.instalments.filter(number__gt=1).order_by("number")

    with time_machine.travel(day(21), tick=False):
        client.force_login(admin_user)
        page = client.get(reverse("admin:orders_instalment_change", args=[second.pk]))
        answer = client.post(
            reverse("admin:orders_instalment_changelist"),
            {"action": "charge_again", "_selected_action": [second.pk, third.pk]},
            follow=True,
        )

    assert "generic_decline" in page.content.decode()
    text = answer.content.decode()
    assert "Se cobrarán dentro de unos minutos: 1." in text
    assert "No se pueden cobrar: 1." in text
    assert charge_on(21).refused == 1
