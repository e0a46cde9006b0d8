"""Students pay instalments by hand at the personal link of their plan."""

from datetime import timedelta

import pytest
import requests
import time_machine
from django.utils import timezone

from apps.classroom.access import Cause
from apps.classroom.models import Provisioning
from apps.orders.models import Instalment, InstalmentAttempt, Order, Payment
from apps.orders.plan.plan_link import plan_url
from apps.payments.events.reconcile import reconcile
from apps.payments.plan.api import PAYMENTS_BY_ORDER
from apps.payments.refunds.reconcile import reconcile_returns
from tests.helpers.plans import (
    ASKS_ALWAYS,
    REFUSED_LATER,
    charge_on,
    charges,
    day,
    give_card,
    link_of,
    mails,
    pay_by_hand,
    states,
)
from tests.helpers.shop import DECLINED, Api

pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("audited")
def test_student_can_pay_all_remaining_instalments_at_once(api, sandbox, plan):
    assert pay_by_hand(api, plan, sandbox, "all", at=day(10)) == ""

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
def test_instalment_paid_early_is_not_charged_on_its_day(api, sandbox, plan):
    assert pay_by_hand(api, plan, sandbox, at=day(5)) == ""

    assert charge_on(20).charged == 0
    assert charge_on(40).charged == 1
    plan.refresh_from_db()
    assert plan.status == "paid"
    assert charges(sandbox, plan) == [3334, 3333, 3333]


def test_payment_of_an_instalment_that_was_charged_meanwhile_is_refused(api, sandbox, plan):
    charge_on(20)

    for what in ("next", "all"):
        status, answer = api.post("instalments/pay", {**link_of(plan), "number": 2, "what": what})
        assert (status, answer["code"]) == (409, "plan_changed")
    assert not plan.payments.open().exists()


def test_open_payment_is_reused_and_canceled_when_the_student_chooses_another_amount(
    api, sandbox, plan
):
    one, again, everything = (
        api.post("instalments/pay", {**link_of(plan), "number": 2, "what": what})[1]
        for what in ("next", "next", "all")
    )

    assert one["client_secret"] == again["client_secret"]
    assert one["saved_card"] == plan.card_reference
    assert everything["payment_intent_id"] != one["payment_intent_id"]
    assert (one["amount"], everything["amount"]) == (33.33, 66.66)
    assert sandbox.payment(one["payment_intent_id"])["status"] == "canceled"
    assert sandbox.payment(one["payment_intent_id"])["setup_future_usage"] == "off_session"
    assert sandbox.payment(everything["payment_intent_id"])["setup_future_usage"] is None
    assert plan.payments.open().count() == 1


@pytest.mark.usefixtures("audited")
def test_overdue_student_confirms_a_charge_to_the_saved_card_with_the_bank(api, sandbox, plan):
    card = give_card(plan, sandbox, ASKS_ALWAYS)
    for later in (20, 23, 25, 27):
        charge_on(later)

    with time_machine.travel(day(28), tick=False):
        _, shown = api.get("instalments", **link_of(plan))
        assert (shown["status"], shown["card_works"], shown["card_pays"]) == (
            "overdue", False, True,
        )  # fmt: skip
        _, started = api.post("instalments/pay", {**link_of(plan), "number": 2, "what": "next"})
        assert started["saved_card"] == card
        confirmed = sandbox.process.browser_client().v1.payment_intents.confirm(
            started["payment_intent_id"],
            {
                "client_secret": started["client_secret"],
                "payment_method": card,
                "use_stripe_sdk": True,
                "return_url": "http://127.0.0.1/success",
            },
        )
        challenge = confirmed.next_action.to_dict()["use_stripe_sdk"]["stripe_js"]
        requests.post(challenge, json={"accept": True}, timeout=60).raise_for_status()
        reference = {"payment_intent_id": started["payment_intent_id"]}
        assert api.post("complete-payment", reference)[0] == 200

    plan.refresh_from_db()
    assert (plan.status, states(plan)) == ("paying", ["paid", "paid", "due"])
    assert (plan.card_reference, plan.card_refusal) == (card, "")
    assert charges(sandbox, plan) == [3334, 3333]


def test_card_that_is_refused_for_good_is_not_offered_for_a_payment_by_hand(api, sandbox, plan):
    sandbox.process.control(
        "POST", f"payment_methods/{plan.card_reference}", {"refuse": "stolen_card"}
    )
    charge_on(20)

    with time_machine.travel(day(21), tick=False):
        _, shown = api.get("instalments", **link_of(plan))
        _, started = api.post("instalments/pay", {**link_of(plan), "number": 2, "what": "next"})

    assert (shown["card_works"], shown["card_pays"], started["saved_card"]) == (False, False, None)


def test_student_can_pay_with_another_card_after_a_decline(api, sandbox, plan):
    assert pay_by_hand(api, plan, sandbox, number=DECLINED, at=day(5)) == "card_declined"
    reconcile()
    assert states(plan) == ["paid", "due", "due"]

    assert pay_by_hand(api, plan, sandbox, at=day(5)) == ""

    assert states(plan) == ["paid", "paid", "due"]
    assert charges(sandbox, plan) == [3334, 3333]


def test_open_payment_delays_the_charge_and_is_canceled_after_an_hour(api, sandbox, plan):
    with time_machine.travel(day(20), tick=False):
        _, started = api.post("instalments/pay", {**link_of(plan), "number": 2, "what": "next"})
    assert charge_on(20, hours=0.25).charged == 0

    assert charge_on(20, hours=1).charged == 1

    assert sandbox.payment(started["payment_intent_id"])["status"] == "canceled"
    assert charges(sandbox, plan) == [3334, 3333]
    assert states(plan) == ["paid", "paid", "due"]


def open_form(api, plan, what, at):
    with time_machine.travel(at, tick=False):
        status, started = api.post("instalments/pay", {**link_of(plan), "number": 2, "what": what})
    assert status == 200, started
    return started


@pytest.mark.usefixtures("audited")
def test_form_that_is_opened_again_and_again_delays_the_charge_for_half_an_hour(api, sandbox, plan):
    midnight = day(20, hours=-10)
    # Each press opens another payment. The first is of the evening before.
    for minutes, what in ((-5, "next"), (20, "all"), (24, "next")):
        started = open_form(api, plan, what, midnight + timedelta(minutes=minutes))
        assert charge_on(20, hours=-10 + (minutes + 0.5) / 60).charged == 0

    assert charge_on(20, hours=-10 + 26 / 60).charged == 1

    # The last form was open: its payment was canceled before the card was charged.
    assert sandbox.payment(started["payment_intent_id"])["status"] == "canceled"
    assert charges(sandbox, plan) == [3334, 3333]


@pytest.mark.usefixtures("audited")
def test_payment_that_is_confirmed_in_a_later_form_is_not_charged_again(api, sandbox, plan):
    open_form(api, plan, "next", day(20))
    started = open_form(api, plan, "all", day(20, hours=0.4))
    assert sandbox.confirm(started["client_secret"]) == ""

    assert charge_on(20, hours=0.6).charged == 1

    assert charges(sandbox, plan) == [3334, 6666]
    assert states(plan) == ["paid", "paid", "paid"]


def test_plan_is_overdue_although_its_form_is_opened_each_day(api, sandbox, plan):
    give_card(plan, sandbox, REFUSED_LATER)
    for number in range(19, 28):
        for hours, what in ((-0.2, "next"), (0.1, "all"), (0.4, "next")):
            open_form(api, plan, what, day(number, hours=hours))
        charge_on(number, hours=0.6)

    plan.refresh_from_db()
    assert plan.status == "overdue"
    assert Provisioning.objects.get(order_id=plan.pk).paused_for == [Cause.OVERDUE]
    assert mails("instalment_unpaid").count() == 4
    assert charges(sandbox, plan) == [3334]


def test_form_waits_again_for_the_charge_of_another_day(api, sandbox, plan):
    open_form(api, plan, "next", day(20))
    give_card(plan, sandbox, REFUSED_LATER)
    assert charge_on(20, hours=1).refused == 1
    open_form(api, plan, "next", day(23))

    assert charge_on(23, hours=0.4).summary() == ""
    assert charge_on(23, hours=0.6).refused == 1


def test_form_of_a_plan_is_opened_60_times_a_day_from_all_networks(api, sandbox, plan, settings):
    settings.RATE_LIMIT_SCALE = 1
    with time_machine.travel(day(10), tick=False):
        PAYMENTS_BY_ORDER.add(str(plan.pk), by=59)
        body = {**link_of(plan), "number": 2, "what": "next"}
        answers = [
            api.post("instalments/pay", body, REMOTE_ADDR=f"203.0.113.{number}")[0]
            for number in (1, 2)
        ]
    assert answers == [200, 429]
    with time_machine.travel(day(11), tick=False):
        assert api.post("instalments/pay", body)[0] == 200


def test_unreported_payment_by_hand_is_adopted_and_not_charged_again(api, sandbox, plan):
    with time_machine.travel(day(20), tick=False):
        _, started = api.post("instalments/pay", {**link_of(plan), "number": 2, "what": "next"})
    sandbox.confirm(started["client_secret"])

    assert charge_on(20, hours=1).charged == 1

    assert charges(sandbox, plan) == [3334, 3333]
    assert states(plan) == ["paid", "paid", "due"]


def test_link_shows_the_plan_without_personal_data(api, sandbox, plan):
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


def test_payment_by_the_plans_link_tells_no_name(api, sandbox, plan):
    """The link may be passed on."""
    Order.objects.update(first_name="Bruno")
    other = Api()
    with time_machine.travel(day(3), tick=False):
        _, paying = other.post("instalments/pay", {**link_of(plan), "number": 2, "what": "next"})
        reference = paying["payment_intent_id"]
        sandbox.confirm(paying["client_secret"])
        other.post("complete-payment", {"payment_intent_id": reference})
        answers = [
            other.get("orders/by-payment", **asked)[1]
            for asked in (
                {"payment_intent_id": reference},
                {"session_id": reference},
                {"session_id": reference, "payment_intent_id": "x"},
            )
        ]

    assert [(one["id"], one["student"]["first_name"]) for one in answers] == [(plan.pk, "")] * 3
    assert "refunded" not in str(answers)


def test_disputed_plan_shows_no_charge_dates(api, plan):
    Order.objects.update(disputed_at=timezone.now())

    _, answer = api.get("instalments", **link_of(plan))

    assert (answer["paused"], answer["card_works"]) == (True, True)
    assert [row["charge_on"] for row in answer["instalments"]] == [None, None, None]


@pytest.mark.parametrize("change", ["token", "order", "recovery"])
def test_plan_with_a_wrong_token_is_not_found(api, plan, change):
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


def test_plan_page_is_not_cached_or_indexed_and_changes_nothing(client, plan):
    answer = client.get(plan_url(plan))

    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    assert answer["Referrer-Policy"] == "no-referrer"
    assert answer["X-Robots-Tag"] == "noindex"
    assert InstalmentAttempt.objects.count() == 0
    assert client.post(plan_url(plan)).status_code == 405


def test_locked_plan_refuses_payments(api, sandbox, plan):
    Order.objects.update(locked_until=day(1) + timedelta(hours=1))

    with time_machine.travel(day(1), tick=False):
        status, answer = api.post("instalments/pay", {**link_of(plan), "number": 2, "what": "next"})

    assert (status, answer["code"]) == (429, "too_many_requests")
    assert Instalment.objects.filter(status="due").count() == 2


@pytest.mark.parametrize("outcome", ["won", "lost"])
def test_lost_dispute_cancels_the_open_payment_by_hand(api, sandbox, plan, outcome):
    control = sandbox.process.control
    with time_machine.travel(day(20)):
        _, paying = api.post("instalments/pay", {**link_of(plan), "number": 2, "what": "next"})
        disputed = {"payment_intent": plan.payments.get(status="succeeded").reference}
        dispute_id = control("POST", "disputes", disputed)["id"]
        reconcile_returns()
        control("POST", f"disputes/{dispute_id}", {"status": outcome})
        reconcile_returns()

    is_open = sandbox.payment(paying["payment_intent_id"])["status"] == "requires_payment_method"
    assert is_open == plan.payments.open().exists() == (outcome == "won")
