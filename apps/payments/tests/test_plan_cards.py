"""Students replace the card to which their instalments are charged."""

from types import SimpleNamespace

import pytest
import requests
import stripe
import time_machine

from apps.classroom.models import Enrolment
from apps.orders.models import Payment
from apps.payments.events.handlers import HANDLERS
from apps.payments.plan.api import CARD_NAMES
from apps.payments.stripe import cards
from apps.payments.stripe.client import PaymentNotFound
from tests.helpers.plans import (
    REFUSED_LATER,
    buy_in_instalments,
    charge_on,
    charges,
    day,
    give_card,
    link_of,
    pay_by_hand,
    states,
)
from tests.helpers.shop import DECLINED, SUCCESS

pytestmark = pytest.mark.django_db


def refused_setup(sandbox, reference, secret):
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
    return tell_of_refusal(reference)


def tell_of_refusal(reference):
    return HANDLERS["setup_intent.setup_failed"]({"data": {"object": {"id": reference}}})


def test_eighth_declined_card_cancels_the_setup_and_locks_the_plan(api, sandbox, plan):
    _, started = api.post("instalments/card", link_of(plan))
    tried = started["setup_intent_id"], started["client_secret"]

    for _ in range(7):
        assert refused_setup(sandbox, *tried) == f"{tried[0]}: tarjeta rechazada"
    tell_of_refusal(tried[0])
    plan.refresh_from_db()
    assert (plan.refused_cards, plan.locked_until) == (7, None)
    refused_setup(sandbox, *tried)

    plan.refresh_from_db()
    assert plan.refused_cards == 8
    assert sandbox.process.client().v1.setup_intents.retrieve(tried[0]).status == "canceled"
    status, answer = api.post("instalments/card", link_of(plan))
    assert (status, answer["code"]) == (429, "too_many_requests")
    assert charges(sandbox, plan) == [3334]


@pytest.mark.parametrize("number", ["²", "9" * 30, "A-17"])
def test_setup_of_another_shop_with_an_odd_order_number_is_left_alone(sandbox, plan, number):
    stray = sandbox.process.client().v1.setup_intents.create({"metadata": {"order_id": number}})

    outcome = HANDLERS["setup_intent.succeeded"]({"data": {"object": {"id": stray.id}}})

    assert outcome == f"{stray.id}: no es de esta tienda"


def test_declined_setup_of_another_shop_is_not_counted(sandbox, plan):
    stray = sandbox.process.client().v1.setup_intents.create({"metadata": {"order_id": plan.pk}})
    event = {"id": "evt_1", "data": {"object": {"id": stray.id}}}

    assert HANDLERS["setup_intent.setup_failed"](event).endswith("no es de esta tienda")

    plan.refresh_from_db()
    assert plan.refused_cards == 0


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
            requests.post(address, json={"accept": True}, timeout=60).raise_for_status()
    return reference


def tell_saved(api, order, reference, at=None):
    with time_machine.travel(at or day(0), tick=False):
        return api.post("instalments/card-saved", {**link_of(order), "setup_intent_id": reference})


def test_setup_excludes_payment_methods_that_confirm_days_later(api, sandbox, plan):
    _, started = api.post("instalments/card", link_of(plan))

    setup = sandbox.process.client().v1.setup_intents.retrieve(started["setup_intent_id"])
    assert "sepa_debit" in setup.excluded_payment_method_types
    assert "card" not in setup.excluded_payment_method_types


def test_later_instalments_are_charged_to_the_new_card(api, sandbox, plan):
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


def test_card_saved_with_3d_secure_is_charged_later_without_it(api, sandbox, plan):
    reference = save_card(api, sandbox, plan, "4000002500003155", at=day(5))
    assert tell_saved(api, plan, reference)[0] == 200

    assert charge_on(20).charged == 1
    assert charge_on(40).charged == 1


def test_declined_instalment_is_charged_to_the_new_card_on_the_same_day(
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


def test_access_stays_paused_until_both_overdue_instalments_are_paid(api, sandbox, plan, work_on):
    work_on(0)
    give_card(plan, sandbox, REFUSED_LATER)
    for at in (20, 23, 25, 27, 40, 43, 45, 47):
        charge_on(at)
    assert states(plan) == ["paid", "failed", "failed"]
    tell_saved(api, plan, save_card(api, sandbox, plan, at=day(48)), at=day(48))

    pay_by_hand(api, plan, sandbox, at=day(48))

    assert plan.status == "overdue"
    assert Enrolment.objects.get().state == "paused"
    assert charge_on(48).charged == 1
    plan.refresh_from_db()
    assert plan.status == "paid"
    assert Enrolment.objects.get().state == "open"


def test_webhook_replaces_the_card_and_an_older_setup_changes_nothing(api, sandbox, plan):
    old = save_card(api, sandbox, plan, at=day(5))
    new = save_card(api, sandbox, plan, "5555555555554444", at=day(6))
    event = {"data": {"object": {"id": old}}}

    assert HANDLERS["setup_intent.succeeded"](event).endswith("tarjeta cambiada")
    assert tell_saved(api, plan, new)[1]["card"] == "Mastercard terminada en 4444"
    assert HANDLERS["setup_intent.succeeded"](event).endswith("ya conocida")

    plan.refresh_from_db()
    assert plan.card_label == "Mastercard terminada en 4444"


def test_unfinished_or_foreign_setup_does_not_change_the_card(api, sandbox, plan):
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


@pytest.mark.parametrize(("answer", "label"), [("link", "Link"), ("missing", None)])
def test_plan_asks_stripe_a_few_times_for_the_name_of_what_is_no_card(
    api, plan, monkeypatch, answer, label
):
    asked = []

    def retrieve(name):
        asked.append(name)
        if answer == "missing":
            raise PaymentNotFound
        return SimpleNamespace(card=None, type=answer)

    methods = SimpleNamespace(payment_methods=SimpleNamespace(retrieve=retrieve))
    monkeypatch.setattr(cards, "client", lambda: SimpleNamespace(v1=methods))
    answers = [api.get("instalments", **link_of(plan)) for _ in range(20)]

    assert {(status, body["card"]) for status, body in answers} == {(200, label)}
    assert len(asked) == (1 if label else CARD_NAMES.times)
