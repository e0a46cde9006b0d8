"""Refunds and disputes reported by Stripe: by events in any order, or found by reconciliation."""

import itertools
import json
import time
from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from apps.classroom.models import Enrolment, Provisioning
from apps.core.models import Mail
from apps.orders.models import Dispute, Order, Payment, ReferralReward, Refund
from apps.orders.refunds.effects import RefundRequest
from apps.orders.refunds.preview import preview
from apps.orders.refunds.request import RefundRefused
from apps.payments.events.handlers import handle
from apps.payments.models import ProviderEvent
from apps.payments.refunds.reconcile import reconcile_returns
from tests.helpers.completion import deliver
from tests.helpers.factories import checkout_body, make_subject, whole
from tests.helpers.parallel import in_parallel
from tests.helpers.plans import buy_in_instalments, charge_on
from tests.helpers.refunds import buy, make_clerk, refund
from tests.helpers.shared_rows import undone

pytestmark = pytest.mark.django_db
MONEY_BACK = ("charge.refunded", "charge.refund", "refund.", "charge.dispute")


@pytest.fixture
def control(sandbox):
    return lambda path, content: sandbox.process.control("POST", path, content)


def mails_about_dispute(outcome=""):
    key = f"staff-attention:dispute-{Dispute.objects.get().pk}{outcome}"
    return Mail.objects.filter(key=key).count()


def in_dashboard(control, order, **what):
    return control("refunds", {"payment_intent": order.stripe_payment_intent_id, **what})["id"]


def events(sandbox):
    """Stripe's events about refunds and disputes, oldest first."""
    page = sandbox.process.client().v1.events.list({"limit": 100})
    return [one.to_dict() for one in page.data if one.type.startswith(MONEY_BACK)][::-1]


def hear(sent):
    """Store the events and process them as the worker does."""
    for event in sent:
        row, _ = ProviderEvent.objects.get_or_create(
            event_id=event["id"], defaults={"kind": event["type"], "payload": event}
        )
        handle(row)


def story(order):
    """The resulting state, which must not depend on the source or order of the reports."""
    order.refresh_from_db()
    return (
        order.status,
        bool(order.flag),
        order.disputed_at is not None,
        list(Refund.objects.values_list("amount", "status", "actor").order_by("reference")),
        list(Dispute.objects.values_list("amount", "status")),
        sorted(
            Mail.objects.filter(template__startswith="refund").values_list("template", flat=True)
        ),
        list(Enrolment.objects.values_list("state", flat=True)),
        order.events.exclude(to_status="").count(),
    )


def test_dashboard_refund_leads_to_the_same_state_as_one_in_the_shop(
    api, sandbox, order, control, work, mailoutbox
):
    in_dashboard(control, order)
    mailoutbox.clear()

    for event in events(sandbox):
        assert deliver(api, json.dumps({**event, "created": int(time.time())})).status_code == 200
    work()

    order.refresh_from_db()
    made = Refund.objects.get()
    assert order.status == "refunded"
    assert (made.actor, made.status, made.user) == ("Stripe", "succeeded", None)
    assert order.events.get(to_status="refunded").actor == "Stripe"
    assert Payment.objects.get().refunded == Payment.objects.get().amount
    assert Enrolment.objects.count() == 0
    assert len(mailoutbox) == 2
    assert ProviderEvent.objects.filter(processed_at=None).count() == 0


def test_partial_dashboard_refunds_are_recorded_once_in_any_order(sandbox, order, control):
    in_dashboard(control, order, amount=1000)
    in_dashboard(control, order, amount=17240)
    told = events(sandbox)
    assert len(told) == 4

    for sent in (told[::-1], told, told[1:3]):
        hear(sent)

    assert story(order)[0] == "refunded"
    assert sorted(row.amount_cents for row in Refund.objects.all()) == [1000, 17240]
    assert order.events.filter(to_status="refunded").count() == 1


def test_events_of_a_returned_refund_lead_to_one_state_in_any_order(sandbox, order, control):
    made = in_dashboard(control, order)
    control(f"refunds/{made}", {"status": "failed"})
    told = [
        event
        for event in events(sandbox)
        if event["type"] in ("charge.refunded", "refund.created", "refund.failed")
    ]
    assert len(told) == 3

    for turn in itertools.permutations(told):
        with undone():
            hear(turn)

            assert story(order)[:2] == ("refunded", True)
            assert Refund.objects.get().status == "failed"
            assert Payment.objects.get().refunded == 0
            attention = Mail.objects.filter(key__startswith="staff-attention:refund-failed")
            assert attention.count() == 1


def test_immediate_and_late_delivery_of_events_lead_to_the_same_state(sandbox, order, control):
    made = in_dashboard(control, order)
    hear(events(sandbox))
    control(f"refunds/{made}", {"status": "failed"})
    hear(events(sandbox))

    assert story(order)[:2] == ("refunded", True)
    assert Refund.objects.get().status == "failed"
    assert Mail.objects.filter(template="refund_made").count() == 1


def test_reconciliation_finds_a_dashboard_refund_without_an_event(sandbox, order, control):
    in_dashboard(control, order, amount=500)

    assert reconcile_returns().refunds == 1
    assert reconcile_returns().summary() == ""

    assert story(order)[0] == "partially_refunded"


def test_events_of_a_refund_made_in_the_shop_record_no_second_refund(sandbox, order):
    refund(order, make_clerk(), 1000)
    before = story(order)

    hear(events(sandbox))
    reconcile_returns()

    assert story(order) == before
    assert Refund.objects.get().actor == "carla"


def test_event_of_a_refund_is_processed_before_its_payment_is_recorded(api, sandbox, control):
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    sandbox.confirm(placed["client_secret"])
    order = Order.objects.get()
    assert order.status == "cart"
    in_dashboard(control, order)

    hear(events(sandbox))

    assert story(order)[0] == "refunded"
    assert order.events.filter(to_status="paid").count() == 1
    assert Mail.objects.filter(template="refund_made").count() == 1


@pytest.mark.parametrize("kind", ["refund.created", "charge.refunded"])
def test_event_with_nothing_but_an_id_is_enough(sandbox, order, control, kind):
    in_dashboard(control, order)
    [told] = [event for event in events(sandbox) if event["type"] == kind]
    told["data"]["object"] = {"id": told["data"]["object"]["id"]}

    hear([told])

    assert story(order)[0] == "refunded"


def test_refund_of_another_shop_s_payment_is_ignored(sandbox, control):
    other = sandbox.process.client().v1.payment_intents.create(
        {
            "amount": 5000,
            "currency": "eur",
            "payment_method": "pm_card_visa",
            "confirm": True,
            "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
        }
    )
    control("refunds", {"payment_intent": other.id})
    hear(events(sandbox))

    assert Refund.objects.count() == 0
    assert set(ProviderEvent.objects.values_list("outcome", flat=True)) == {
        f"{other.id}: no es de esta tienda"
    }
    assert reconcile_returns().summary() == ""


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_events_record_one_refund(api, sandbox, control):
    order = buy(api, sandbox)
    in_dashboard(control, order)
    told = events(sandbox)
    rows = [
        ProviderEvent.objects.create(event_id=one["id"], kind=one["type"], payload=one)
        for one in told
    ]

    results = in_parallel(lambda: handle(rows.pop()), len(rows))

    assert [one for one in results if isinstance(one, Exception)] == []
    assert Refund.objects.count() == 1
    order.refresh_from_db()
    assert order.status == "refunded"
    assert order.events.filter(to_status="refunded").count() == 1


def dispute(control, order, **what):
    return control("disputes", {"payment_intent": order.stripe_payment_intent_id, **what})["id"]


@pytest.fixture(params=["events", "asking"])
def learn(request, sandbox):
    """Runs the test with Stripe's events, then with reconciliation."""
    if request.param == "asking":
        return reconcile_returns
    return lambda: hear(events(sandbox))


def test_dispute_pauses_the_access_and_mails_staff_once(sandbox, order, control, learn):
    dispute(control, order)
    for _ in range(2):
        learn()

    order.refresh_from_db()
    assert (order.status, order.disputed_at is not None) == ("paid", True)
    assert Enrolment.objects.get().state == "paused"
    assert Provisioning.objects.get().paused_for == ["dispute"]
    assert mails_about_dispute() == 1
    found = Dispute.objects.get()
    assert (found.status, found.amount_cents) == ("open", 18240)
    assert found.reason == "fraude: no reconoce haber pagado"


def test_won_dispute_reopens_the_access(sandbox, order, control, learn):
    made = dispute(control, order)
    learn()
    control(f"disputes/{made}", {"status": "won"})
    learn()

    order.refresh_from_db()
    assert (order.status, order.disputed_at) == ("paid", None)
    assert Enrolment.objects.get().state == "open"
    assert Dispute.objects.get().status == "won"
    assert mails_about_dispute("-won") == 1


def test_lost_dispute_ends_the_access_and_stays_flagged(sandbox, order, control, learn):
    made = dispute(control, order)
    learn()
    control(f"disputes/{made}", {"status": "lost"})
    for _ in range(2):
        learn()

    order.refresh_from_db()
    assert (order.status, order.disputed_at is not None) == ("paid", True)
    assert order.flag.startswith("Disputa perdida")
    assert Enrolment.objects.count() == 0
    assert mails_about_dispute("-lost") == 1


@pytest.mark.parametrize("verdict", ["won", "lost"])
def test_dispute_first_reported_when_closed_has_only_its_final_effects(
    sandbox, order, control, verdict
):
    made = dispute(control, order)
    control(f"disputes/{made}", {"status": verdict})

    hear(events(sandbox)[::-1])

    order.refresh_from_db()
    assert (order.disputed_at is None) == (verdict == "won")
    assert list(Enrolment.objects.values_list("state", flat=True)) == (
        ["open"] if verdict == "won" else []
    )


def test_instalments_are_charged_only_after_the_dispute_is_won(api, sandbox, control):
    plan = buy_in_instalments(api, sandbox)
    made = dispute(control, plan)
    reconcile_returns()

    assert charge_on(20).summary() == ""
    control(f"disputes/{made}", {"status": "won"})
    reconcile_returns()
    assert charge_on(21).charged == 1


def test_lost_dispute_ends_the_plan(api, sandbox, control):
    plan = buy_in_instalments(api, sandbox)
    made = dispute(control, plan)
    control(f"disputes/{made}", {"status": "lost"})
    reconcile_returns()

    assert list(plan.instalments.values_list("status", flat=True)) == [
        "paid",
        "canceled",
        "canceled",
    ]
    assert charge_on(40).summary() == ""


def test_payment_with_the_dispute_test_card_is_disputed_after_it_succeeded(api, sandbox, work):
    order = buy(api, sandbox, number="4000000000000259")
    work()
    assert Enrolment.objects.get().state == "open"

    hear(events(sandbox))

    order.refresh_from_db()
    assert order.disputed_at is not None
    assert Enrolment.objects.get().state == "paused"
    assert ReferralReward.objects.count() == 0


def test_reconciliation_follows_an_old_open_dispute_to_its_end(sandbox, order, control):
    made = dispute(control, order)
    reconcile_returns()
    control(f"disputes/{made}", {"status": "won"})

    with time_machine.travel(timezone.now() + timedelta(days=60)):
        assert reconcile_returns().disputes == 1

    assert Dispute.objects.get().status == "won"


def test_admin_explains_that_a_disputed_payment_cannot_be_refunded(sandbox, order, control):
    dispute(control, order)
    reconcile_returns()

    with pytest.raises(RefundRefused, match="está en disputa"):
        preview(order, RefundRequest(100, "Error"))
