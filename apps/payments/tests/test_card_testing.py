"""Refused cards are counted across orders, before a payment is handed out."""

from contextlib import suppress
from datetime import timedelta
from uuid import uuid4

import pytest
import requests
import time_machine
from django.test import Client
from django.utils import timezone

from apps.core.models import Mail, RateCount
from apps.core.web.throttle import Limit
from apps.orders.mails import was_paid
from apps.orders.models import Order
from apps.payments import card_testing, webhooks
from apps.payments.card_testing import (
    BY_BUYER,
    BY_VISITOR,
    ORDERS_PER_CARD,
    WAIT_S,
    PaymentsPaused,
    Place,
    wait_in_pause,
)
from apps.payments.events.reconcile import reconcile
from apps.students.models import Student
from tests.helpers.completion import deliver, event_body
from tests.helpers.factories import checkout_body, know_device, make_promo, make_subject, whole
from tests.helpers.parallel import in_parallel
from tests.helpers.plans import REFUSED_LATER, charge_on, give_card, link_of
from tests.helpers.shop import DECLINED

pytestmark = pytest.mark.django_db

REFUSED = "payment_intent.payment_failed"


@pytest.fixture(autouse=True)
def one_hour(monkeypatch):
    """The first minute of this hour, in which all limits begin a window, as in the shop."""
    monkeypatch.setattr(Limit, "begins_at", 0)
    start = timezone.now().replace(minute=0, second=1)
    with time_machine.travel(start, tick=False) as clock:
        yield clock


@pytest.fixture
def buy(sandbox):
    """A function that asks for a payment; it answers (status, body)."""
    subject = make_subject()

    def checkout(number=1, **changes):
        email = f"buyer{number}@example.com"
        body = checkout_body(whole(subject), total="182.40", email=email, phone=phone(number))
        answer = Client(REMOTE_ADDR=f"10.0.{number}.1").post(
            "/api/process-checkout", {**body, **changes}, content_type="application/json"
        )
        return answer.status_code, answer.json()

    return checkout


def phone(number):
    return f"+346001{number:05}"


def tell_of_refusal(api, placed):
    """Stripe's event of a refused card. It says nothing but the payment's id."""
    body = event_body(REFUSED, placed["payment_intent_id"], event_id=f"evt_{uuid4()}")
    assert deliver(api, body).status_code == 200


@pytest.fixture
def refuse(api, sandbox):
    """A function that has cards refused at Stripe. No worker acts on their events."""

    def try_cards(placed, times=1):
        for _ in range(times):
            assert sandbox.confirm(placed["client_secret"], DECLINED) == "card_declined"
            tell_of_refusal(api, placed)

    return try_cards


def assert_refused(answer, code="too_many_requests"):
    status, body = answer
    assert (status, body["code"]) == (429, code)
    assert "client_secret" not in body
    # Nothing is lost: the next attempt takes this order up.
    assert Order.objects.get(pk=body["order_id"]).auth_token == body["token"]


def test_buyer_with_refused_cards_gets_no_payment_in_a_new_order(refuse, buy):
    _, placed = buy(email="ana.ruiz@gmail.com")
    refuse(placed, BY_BUYER.times)

    assert_refused(buy(2, email="AnaRuiz+2@googlemail.com"))
    assert buy(3)[0] == 200


def test_cards_refused_by_strangers_do_not_block_the_buyer_on_a_known_device(refuse, buy, work):
    _, placed = buy(email="ana@example.com")
    refuse(placed, BY_BUYER.times)
    assert_refused(buy(2, email="ana@example.com"))
    own = Client(REMOTE_ADDR="10.0.77.1")
    know_device(own, "Ana@example.com")
    body = checkout_body(whole(make_subject()), total="182.40", email="ana@example.com")

    bought = own.post("/api/process-checkout", body, content_type="application/json")
    assert bought.status_code == 200
    # A refused card of her own does not cancel her payment either.
    refuse(bought.json())
    work()
    order = Order.objects.get(pk=bought.json()["order_id"])
    assert (order.refused_cards, order.payments.open().count()) == (1, 1)


def test_known_device_of_one_buyer_does_not_open_payments_with_another_address(refuse, buy):
    _, placed = buy(email="ana@example.com")
    refuse(placed, BY_BUYER.times)
    stranger = Client(REMOTE_ADDR="10.0.77.1")
    know_device(stranger, "eva@example.com")
    body = checkout_body(whole(make_subject()), total="182.40", email="ana@example.com")

    answer = stranger.post("/api/process-checkout", body, content_type="application/json")

    assert_refused((answer.status_code, answer.json()))


def test_cards_refused_on_a_known_device_count_for_order_and_visitor(refuse):
    own = Client(REMOTE_ADDR="10.0.77.1")
    know_device(own, "ana@example.com")
    body = checkout_body(whole(make_subject()), total="182.40", email="ana@example.com")

    def ask(**changes):
        answer = own.post("/api/process-checkout", {**body, **changes}, "application/json")
        return answer.status_code, answer.json()

    _, first = ask()
    refuse(first, BY_BUYER.times)
    named = {"recovery_order_id": first["order_id"], "token": first["token"]}
    assert ask(**named)[0] == 429, "the order is locked"
    _, second = ask(phone=phone(2))
    refuse(second, BY_BUYER.times)
    refuse(ask(phone=phone(3))[1], BY_VISITOR.times - 2 * BY_BUYER.times)
    assert_refused(ask(phone=phone(4)))


def test_cards_refused_by_strangers_do_not_stop_the_card_change_of_a_plan(refuse, buy, plan):
    _, placed = buy(email=plan.email)
    refuse(placed, BY_BUYER.times)

    answer = Client().post("/api/instalments/card", link_of(plan), "application/json")

    assert answer.status_code == 200, answer.content


def test_buyer_may_pay_again_after_an_hour(refuse, buy, one_hour):
    _, placed = buy()
    refuse(placed, BY_BUYER.times)
    one_hour.shift(3600)

    assert buy()[0] == 200


def test_visitor_with_refused_cards_of_several_buyers_gets_no_payment(refuse, buy):
    tester = Client(REMOTE_ADDR="2001:db8::1")
    subject = whole(make_subject())
    for number in range(4):
        placed = tester.post(
            "/api/process-checkout",
            checkout_body(subject, total="182.40", email=f"t{number}@example.com"),
            content_type="application/json",
        ).json()
        refuse(placed, BY_VISITOR.times // 4)

    answer = Client(REMOTE_ADDR="2001:db8::ffff").post(
        "/api/process-checkout",
        checkout_body(subject, total="182.40", email="t9@example.com"),
        content_type="application/json",
    )

    assert_refused((answer.status_code, answer.json()))
    assert buy(9)[0] == 200


def test_card_that_is_refused_in_many_orders_blocks_its_users(refuse, buy):
    for number in range(ORDERS_PER_CARD):
        refuse(buy(number)[1])
    assert buy(0)[0] == 200
    placed = buy(50)[1]
    refuse(placed)

    assert_refused(buy(50))
    assert buy(51)[0] == 200
    # Nor does it keep the address out that was typed with it: its owner is elsewhere.
    assert buy(52, email=Order.objects.get(pk=placed["order_id"]).email)[0] == 200


def test_open_payment_of_a_blocked_buyer_is_canceled(refuse, sandbox, buy, work):
    _, first = buy()
    _, second = buy(1, phone=phone(7))
    refuse(first, BY_BUYER.times // 2)
    refuse(second, BY_BUYER.times // 2)
    work()

    statuses = {sandbox.payment(one["payment_intent_id"])["status"] for one in (first, second)}
    assert statuses == {"canceled"}


def refused_cards(placed):
    return Order.objects.get(pk=placed["order_id"]).refused_cards


def test_refusal_is_counted_once_by_repeated_events_worker_and_reconciliation(
    api, refuse, buy, work
):
    _, placed = buy()
    refuse(placed)
    tell_of_refusal(api, placed)
    work()
    reconcile()

    assert refused_cards(placed) == 1
    assert RateCount.objects.filter(slot__startswith=f"{BY_BUYER.name}:").get().times == 1


def test_event_without_a_refusal_at_stripe_counts_nothing(api, buy, work):
    _, placed = buy()
    claimed = {"last_payment_error": {"charge": "ch_1", "code": "card_declined"}}
    deliver(api, event_body(REFUSED, placed["payment_intent_id"], **claimed))
    work()

    assert refused_cards(placed) == 0


def test_worker_counts_what_stripe_does_not_answer_to_the_webhook(
    api, sandbox, fault, buy, work, monkeypatch
):
    monkeypatch.setattr(webhooks, "COUNTING_SECONDS", 0.2)
    _, placed = buy()
    for _ in range(2):
        sandbox.confirm(placed["client_secret"], DECLINED)
    fault(calls="GET /v1/charges", caller="server", do="slow", seconds=2)
    tell_of_refusal(api, placed)
    assert refused_cards(placed) == 0

    sandbox.process.control("DELETE", "faults")
    work()

    assert refused_cards(placed) == 2


def test_reconciliation_counts_refusals_without_events_and_stops_their_buyer(sandbox, buy):
    placed = [buy(1, phone=phone(number))[1] for number in range(2)]
    for one in placed:
        for _ in range(BY_BUYER.times // 2):
            sandbox.confirm(one["client_secret"], DECLINED)
    for _ in range(2):
        reconcile(recent_only=True)

    assert [refused_cards(one) for one in placed] == [4, 4]
    statuses = [sandbox.payment(one["payment_intent_id"])["status"] for one in placed]
    assert statuses == ["canceled", "canceled"]
    assert_refused(buy(1, phone=phone(3)))


def test_failed_3d_secure_is_counted_once(api, sandbox, buy, work):
    _, placed = buy()
    reference = placed["payment_intent_id"]
    sandbox.confirm(placed["client_secret"], "4000002760003184")
    challenge = sandbox.payment(reference)["next_action"]["redirect_to_url"]["url"]
    requests.post(challenge, json={"accept": False}, timeout=10).raise_for_status()
    for _ in range(2):
        api.post("complete-payment", {"payment_intent_id": reference})
        tell_of_refusal(api, placed)
    work()

    assert refused_cards(placed) == 1


def assert_waits(answer, seconds=WAIT_S):
    status, body = answer
    assert (status, body["code"], body["seconds_left"]) == (429, "payments_paused", seconds)
    assert "order_id" not in body


@pytest.fixture
def pause(refuse, buy, settings):
    """Refused cards of five networks pause the payments."""
    settings.REFUSED_CARDS_PER_MINUTE = 5
    for number in range(100, 105):
        refuse(buy(number)[1], 1)


def test_strangers_wait_during_a_pause_and_staff_are_mailed_once(pause, buy, one_hour):
    orders = Order.objects.count()
    assert_waits(buy(20))
    one_hour.shift(10)
    assert_waits(buy(20), WAIT_S - 10)
    assert Order.objects.count() == orders, "nothing is stored before the wait is over"
    assert Mail.objects.filter(template="card_testing").count() == 1

    one_hour.shift(WAIT_S - 10)
    assert buy(20)[0] == 200
    assert_waits(buy(21))
    one_hour.shift(121)
    assert buy(22)[0] == 200, "the pause is over"


HOME = "2001:db8:0:1::/64"


def strangers_let_through(count, *, home):
    """Let strangers of one /64 of a /48 ask for a payment. Returns how many need not wait."""
    networks = {home: 1, "2001:db8::/56": 4, "2001:db8::/48": 16}
    let_through = 0
    for number in range(count):
        with suppress(PaymentsPaused):
            wait_in_pause(email=f"t{number}@example.com", networks=networks)
            let_through += 1
    return let_through


def test_few_strangers_of_one_network_pay_during_a_pause(pause, one_hour):
    assert strangers_let_through(6, home=HOME) == 0
    one_hour.shift(WAIT_S)
    assert strangers_let_through(6, home=HOME) == 4
    other_home = "2001:db8:0:2::/64"
    assert strangers_let_through(6, home=other_home) == 0
    one_hour.shift(WAIT_S)
    assert strangers_let_through(6, home=other_home) == 2


def test_refused_checkout_leaves_its_place_to_others(pause, buy, one_hour, monkeypatch):
    monkeypatch.setattr(card_testing, "STRANGERS", Limit("paused-strangers", 1, 60))
    assert_waits(buy(20))
    assert_waits(buy(21))
    one_hour.shift(WAIT_S)

    assert buy(20, total_amount=1)[1]["code"] == "price_changed"
    assert buy(21)[0] == 200
    assert buy(20)[1]["code"] == "payments_paused"


def test_try_that_finds_no_place_takes_none_of_its_network(pause, one_hour):
    assert strangers_let_through(4, home=HOME) == 0
    one_hour.shift(WAIT_S)
    card_testing.STRANGERS.add("all", by=card_testing.STRANGERS.times)
    assert strangers_let_through(4, home=HOME) == 0, "strangers of other networks have all places"
    one_hour.shift(60 - WAIT_S)
    assert strangers_let_through(4, home=HOME) == 4


@pytest.mark.parametrize(
    ("paid_hours_ago", "waits"), [(25, False), (23, True), (None, True)]
)  # fmt: skip
def test_customer_on_a_known_device_pays_during_a_pause(pause, paid_hours_ago, waits):
    """A sign-in alone vouches for nobody: a stranger has as many mailboxes as they like."""
    body = checkout_body(whole(make_subject()), total="182.40", email="Ana@example.com")
    own = Client(REMOTE_ADDR="10.0.77.1")
    stranger = own.post("/api/process-checkout", body, content_type="application/json")
    assert stranger.json()["code"] == "payments_paused"

    know_device(own, "ana@example.com")
    student = Student.objects.create(email="ana@example.com", phone="+34600000000")
    if paid_hours_ago is not None:
        paid_at = timezone.now() - timedelta(hours=paid_hours_ago)
        Order.objects.filter(email="buyer100@example.com").update(
            student=student, status="paid", paid_at=paid_at
        )
    known = own.post("/api/process-checkout", body, content_type="application/json").json()

    assert ("code" in known, "client_secret" in known) == (waits, not waits)


@pytest.mark.parametrize(("total", "is_customer"), [("0.49", False), ("0.50", True)])
def test_order_that_was_completed_without_a_payment_makes_no_customer(total, is_customer):
    student = Student.objects.create(email="ana@example.com")
    paid_at = timezone.now() - timedelta(days=2)
    order = Order.objects.create(
        student=student, email=student.email, status="paid", total_amount=total, paid_at=paid_at
    )
    assert was_paid(order.pk) is is_customer
    assert Order.objects.has_customer(student.email) is is_customer


def test_free_order_and_saved_cart_need_no_place(pause, buy):
    make_promo("GRATIS100", value="100")
    assert buy(30, save_for_later=True)[0] == 200
    assert buy(31, promo_code="GRATIS100", total_amount=0)[1]["completed"]


def test_one_network_pauses_nobody_else(refuse, buy, settings):
    settings.REFUSED_CARDS_PER_MINUTE = 5
    for number in range(3):
        refuse(buy(9, email=f"t{number}@example.com", phone=phone(number))[1], 4)
    assert buy(10)[0] == 200


def test_wider_networks_are_counted_too(refuse, monkeypatch):
    monkeypatch.setattr(card_testing, "BY_VISITOR", Limit("refused-cards-visitor", 1, 3600))
    body = checkout_body(whole(make_subject()), total="182.40")

    def buy_from(address, number):
        answer = Client(REMOTE_ADDR=address).post(
            "/api/process-checkout",
            {**body, "email": f"t{number}@example.com", "phone": phone(number)},
            content_type="application/json",
        )
        return answer.status_code, answer.json()

    for number in range(4):
        refuse(buy_from(f"2001:db8:0:{number}::1", number)[1], 1)
    assert_refused(buy_from("2001:db8:0:99::1", 8))
    assert buy_from("2001:db8:0:999::1", 9)[0] == 200


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_strangers_at_the_same_moment_get_no_more_places_than_there_are(settings, one_hour):
    settings.REFUSED_CARDS_PER_MINUTE = 1
    networks = {"192.0.2.1": 1}
    Limit("refused-cards", times=1, seconds=60).add("all")
    for number in range(8):
        with suppress(PaymentsPaused):
            wait_in_pause(email=f"t{number}@example.com", networks=networks)
    one_hour.shift(WAIT_S)
    numbers = iter(range(8))

    answers = in_parallel(
        lambda: wait_in_pause(email=f"t{next(numbers)}@example.com", networks=networks), 8
    )

    assert [type(answer) for answer in answers].count(Place) == 4


def test_browser_that_reports_a_refusal_pauses_payments_and_mails_staff(
    api, sandbox, buy, settings
):
    settings.REFUSED_CARDS_PER_MINUTE = 1
    for placed in [buy(number)[1] for number in range(2)]:
        sandbox.confirm(placed["client_secret"], DECLINED)
        status, _ = api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
        assert status == 409

    assert_waits(buy(3))
    assert Mail.objects.filter(template="card_testing").count() == 1


def test_saved_cart_needs_no_payment(refuse, buy):
    _, placed = buy()
    refuse(placed, BY_BUYER.times)

    status, body = buy(save_for_later=True)

    assert (status, body["saved"]) == (200, True)


def test_rate_limit_scale_0_allows_payments_after_refusals(refuse, buy, settings):
    settings.RATE_LIMIT_SCALE = 0
    _, placed = buy()
    refuse(placed, 5)

    assert buy()[0] == 200


def test_declined_automatic_charge_counts_as_no_refused_card(api, sandbox, plan, work):
    """Nobody types a card for it."""
    give_card(plan, sandbox, REFUSED_LATER)
    assert charge_on(20).refused == 1
    declined = sandbox.payments(plan.customer_reference)[0]
    assert declined["last_payment_error"]["decline_code"] == "generic_decline"
    deliver(api, event_body(REFUSED, declined["id"]))
    work()
    reconcile()

    plan.refresh_from_db()
    assert plan.refused_cards == 0
