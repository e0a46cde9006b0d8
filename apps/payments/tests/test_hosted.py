"""Stripe's own page (STRIPE_CHECKOUT=hosted): the same orders, payments and rules as the dialog."""

import sqlite3
import time
from contextlib import closing
from datetime import date, timedelta

import pytest
import stripe
import time_machine
from django.core.management import call_command
from django.utils import timezone

from apps.classroom.models import Enrolment
from apps.core.models import Mail
from apps.orders.models import Order, Payment, PromoUse
from apps.payments.plan_charges import charge_instalments
from apps.payments.stripe.client import client
from apps.payments.stripe.keys import StoredKeys
from apps.payments.stripe.sessions import HostedCart, HostedLine, create_session
from apps.payments.tests.test_misbehaviour import FAULTS
from apps.pricing.rules import CampaignTerms
from tests.helpers.completion import assert_paid_once, deliver, event_body
from tests.helpers.factories import checkout_body, make_promo, make_subject, single, whole
from tests.helpers.plans import charges
from tests.helpers.shop import DECLINED

pytestmark = pytest.mark.django_db
SLOW = "4000009990000005"


@pytest.fixture(autouse=True)
def hosted(settings):
    settings.STRIPE_CHECKOUT = "hosted"


@pytest.fixture(params=["embedded", "hosted"])
def mode(request, settings):
    settings.STRIPE_CHECKOUT = request.param
    return request.param


@pytest.fixture
def placed(api, sandbox):
    """Bruno's checkout of one subject at 192 €: 182.40 € to pay."""
    return api.checkout(checkout_body(whole(make_subject()), total="182.40"))


def again(placed, body, **changes):
    return {**body, "recovery_order_id": placed["order_id"], "token": placed["token"], **changes}


def reference_of(placed):
    """What the browser has in its hands when it comes back."""
    names = ("session_id", "payment_intent_id")
    return {name: placed[name] for name in names if name in placed}


def expire_at_provider(sandbox, session, at=1):
    """Its 31 minutes are over, there."""
    with closing(sqlite3.connect(sandbox.process.state, timeout=10)) as database, database:
        database.execute(
            "UPDATE objects SET body = json_set(body, '$.expires_at', ?) WHERE id = ?",
            (at, session),  # Long ago, also where a test has moved the clock.
        )


def open_sessions(sandbox):
    customer = Order.objects.get().customer_reference
    return [s["id"] for s in sandbox.sessions(customer) if s["status"] == "open"]


# ------------------------------------------------------------------ what the session says
def test_the_answer_leads_to_a_page_with_the_lines_and_the_discount(api, sandbox, settings):
    physics = make_subject("Física", "100.00", lesson_price="33.33")
    placed = api.checkout(
        checkout_body(whole(make_subject()), single(physics.lessons.first()), total="214.06")
    )

    assert {"url", "session_id"} <= placed.keys()
    assert not {"client_secret", "payment_intent_id"} & placed.keys()
    session = sandbox.session(placed["session_id"])
    order = Order.objects.get()
    assert session["url"] == placed["url"]
    assert session["amount_total"] == 21_406
    assert session["currency"] == "eur"
    assert session["customer"] == order.customer_reference
    assert session["metadata"] == {"order_id": str(order.pk), "revision": "1"}
    assert session["adaptive_pricing"] == {"enabled": False}
    assert session["locale"] == "es"
    lines = [(x["description"], x["amount_subtotal"]) for x in session["line_items"]["data"]]
    assert lines == [("Microeconomía", 19_200), ("Física: PEC 1", 3_333)]
    assert session["total_details"]["amount_discount"] == 1_127
    coupon = sandbox.process.client().v1.coupons.retrieve(session["discounts"][0]["coupon"])
    assert (coupon.name, coupon.amount_off, coupon.max_redemptions) == (
        "Pago completo (5 %)",
        1_127,
        1,
    )
    assert session["custom_text"]["submit"] is None
    assert session["success_url"] == (
        f"{settings.SITE_URL}/success?session_id={{CHECKOUT_SESSION_ID}}"
    )
    assert order.stripe_session_id == placed["session_id"]
    assert order.payments.get().reference == placed["session_id"]


def test_the_token_is_told_to_nobody_but_the_buyer(api, sandbox, placed):
    session = sandbox.session(placed["session_id"])

    assert session["cancel_url"].endswith(f"/cancel?order={placed['order_id']}")
    assert placed["token"] not in str(session)


def test_a_session_expires_after_31_minutes(sandbox, placed):
    session = sandbox.session(placed["session_id"])

    assert 30.5 * 60 < session["expires_at"] - session["created"] <= 31 * 60


def test_several_discounts_are_each_named_with_their_amount(api, sandbox):
    make_promo()
    subjects = [make_subject("Cálculo", "200.00"), make_subject("Física", "180.00")]
    placed = api.checkout(
        checkout_body(*map(whole, subjects), total="311.40", promo_code="BIENVENIDA10")
    )

    session = sandbox.session(placed["session_id"])
    assert session["amount_total"] == 31_140
    assert session["custom_text"]["submit"]["message"].replace("\N{NO-BREAK SPACE}", " ") == (
        "Descuentos aplicados: Descuento por volumen −15,00 €, Pago completo (5 %) −19,00 €, "
        "Código promocional −34,60 €."
    )
    coupon = sandbox.process.client().v1.coupons.retrieve(session["discounts"][0]["coupon"])
    assert coupon.name == "Tus descuentos"


def test_in_instalments_the_page_says_which_one_and_saves_the_card(api, sandbox, work):
    subjects = [make_subject("Cálculo", "200.00"), make_subject("Física", "180.00")]
    placed = api.checkout(
        checkout_body(*map(whole, subjects), total="365", payment_type="installment")
    )

    session = sandbox.session(placed["session_id"])
    assert session["amount_total"] == 12_168
    (line,) = session["line_items"]["data"]
    assert (line["description"], line["amount_total"]) == ("Plazo 1 de 3", 12_168)
    assert session["discounts"] == []
    assert session["custom_text"]["submit"]["message"].replace("\N{NO-BREAK SPACE}", " ") == (
        "Hoy pagas el plazo 1 de 3 de un total de 365,00 €, con estos descuentos: Descuento por "
        "volumen −15,00 €. Los plazos 2 y 3, de 121,66 € cada uno, se cobran con la misma tarjeta "
        "dentro de 20 y de 40 días, sin intereses."
    )

    sandbox.pay(placed)
    assert api.post("complete-payment", reference_of(placed))[1]["status"] == "paying"
    order = Order.objects.get()
    payment = order.payments.get()
    assert payment.payment_method.startswith("pm_")
    assert sandbox.payment(payment.reference)["setup_future_usage"] == "off_session"
    assert order.instalments.filter(status="paid").get().payments.get() == payment


@pytest.mark.parametrize(
    ("count", "later"),
    [
        (2, "El plazo 2, de 120,00 €, se cobra con la misma tarjeta dentro de 20 días"),
        (
            4,
            "Los plazos 2, 3 y 4, de 60,00 € cada uno, se cobran con la misma tarjeta dentro de "
            "20, de 40 y de 60 días",
        ),
    ],
)
def test_hosted_page_describes_the_later_instalments_of_any_plan(
    api, sandbox, settings, count, later
):
    settings.INSTALMENT_COUNT = count
    placed = api.checkout(
        checkout_body(whole(make_subject(price="240.00")), total="240", payment_type="installment")
    )

    message = sandbox.session(placed["session_id"])["custom_text"]["submit"]["message"]
    assert message.replace("\N{NO-BREAK SPACE}", " ") == (
        f"Hoy pagas el plazo 1 de {count} de un total de 240,00 €. {later}, sin intereses."
    )


def test_the_card_of_the_hosted_page_pays_the_instalments_to_come(api, sandbox):
    placed = api.checkout(
        checkout_body(whole(make_subject(price="100.00")), total="100", payment_type="installment")
    )
    sandbox.pay(placed)
    assert api.post("complete-payment", reference_of(placed))[0] == 200
    order = Order.objects.get()
    assert charges(sandbox, order) == [3334]

    for days in (20, 40):
        with time_machine.travel(timezone.now() + timedelta(days=days), tick=False):
            assert charge_instalments().charged == 1

    order.refresh_from_db()
    assert order.status == "paid"
    assert charges(sandbox, order) == [3334, 3333, 3333]
    assert set(order.payments.values_list("payment_method", flat=True)) == {order.card_reference}


def test_more_lines_than_the_provider_takes_are_summed_up(api, sandbox):
    items = [whole(make_subject(f"Asignatura {n}", "10.00", lessons=1)) for n in range(103)]
    placed = api.checkout(checkout_body(*items, total="868.50"))

    session = sandbox.session(placed["session_id"])
    assert session["amount_total"] == 86_850
    lines = sandbox.process.client().v1.checkout.sessions.line_items
    shown = list(lines.list(placed["session_id"], {"limit": 100}))
    assert len(shown) == 100
    assert (shown[-1].description, shown[-1].amount_subtotal) == ("4 artículos más", 4_000)


def test_lines_that_do_not_add_up_are_never_sent(sandbox):
    with pytest.raises(ValueError, match="lines of 1000, to pay 900"):
        create_session(
            order_id=1,
            revision=1,
            amount_cents=900,
            customer="cus_1",
            email="ana@example.com",
            keep_card=False,
            cart=HostedCart((HostedLine("Cálculo", 1000, ""),)),
            keys=StoredKeys(Order(), "order-1-1"),
        )


def test_nothing_to_pay_needs_no_session(api, sandbox):
    make_promo("GRATIS100", value="100")
    answer = api.checkout(checkout_body(whole(make_subject()), total="0", promo_code="GRATIS100"))

    assert answer["completed"] is True
    assert "url" not in answer


def test_in_august_the_page_shows_list_prices_and_what_is_taken_off(api, sandbox, monkeypatch):
    terms = CampaignTerms("Agosto", 20, True, True, True, date(2026, 8, 31))
    monkeypatch.setattr("apps.orders.checkout.place.campaign_today", lambda: terms)
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))

    session = sandbox.session(placed["session_id"])
    assert [line["amount_subtotal"] for line in session["line_items"]["data"]] == [24_000]
    assert session["amount_total"] == 18_240
    coupon = sandbox.process.client().v1.coupons.retrieve(session["discounts"][0]["coupon"])
    assert coupon.name == "Tus descuentos"
    message = session["custom_text"]["submit"]["message"]
    assert "Descuento de agosto (20 %) −48,00" in message


# ------------------------------------------------------------------ one order, one session
def test_a_second_press_leads_to_the_same_page(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    second = api.checkout(again(first, body))

    assert second["url"] == first["url"]
    assert Payment.objects.count() == 1


def test_a_changed_cart_expires_the_first_session(api, sandbox):
    subject, other = make_subject(), make_subject("Física", "100.00")
    first = api.checkout(checkout_body(whole(subject), total="182.40"))
    second = api.checkout(again(first, checkout_body(whole(other), total="95")))

    assert second["session_id"] != first["session_id"]
    assert sandbox.session(first["session_id"])["status"] == "expired"
    assert open_sessions(sandbox) == [second["session_id"]]
    assert Payment.objects.filter(status="open").get().reference == second["session_id"]
    assert sandbox.pay(first) == "checkout_session_inactive"


def test_a_changed_code_expires_the_first_session_and_keeps_one_reservation(api, sandbox):
    promo = make_promo(max_uses=1)
    body = checkout_body(whole(make_subject(price="200.00")), total="190")
    first = api.checkout(body)
    second = api.checkout(again(first, body, promo_code="BIENVENIDA10", total_amount=171))

    assert open_sessions(sandbox) == [second["session_id"]]
    promo.refresh_from_db()
    assert promo.uses_taken == 1


def test_a_change_after_the_payment_is_told_that_it_is_paid(api, sandbox, placed):
    other = make_subject("Física", "100.00")
    sandbox.pay(placed)

    status, answer = api.post(
        "process-checkout", again(placed, checkout_body(whole(other), total="95"))
    )

    assert (status, answer["code"]) == (409, "already_paid")
    assert answer["payment_intent_id"].startswith("pi_")
    assert_paid_once(placed["order_id"])


def test_an_expired_session_is_followed_by_a_new_one(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    expire_at_provider(sandbox, first["session_id"])
    second = api.checkout(again(first, body))

    assert second["session_id"] != first["session_id"]
    assert open_sessions(sandbox) == [second["session_id"]]
    assert Order.objects.get().payments.get(status="canceled").reference == first["session_id"]


def test_a_page_that_would_expire_under_the_buyer_gives_way_to_a_new_one(api, sandbox):
    make_promo(max_uses=1)
    body = checkout_body(whole(make_subject()), total="164.16", promo_code="BIENVENIDA10")
    first = api.checkout(body)

    expire_at_provider(sandbox, first["session_id"], at=int(time.time()) + 11 * 60)
    assert api.checkout(again(first, body))["session_id"] == first["session_id"]
    expire_at_provider(sandbox, first["session_id"], at=int(time.time()) + 9 * 60)
    second = api.checkout(again(first, body))

    assert second["order_id"] == first["order_id"]
    assert open_sessions(sandbox) == [second["session_id"]]
    assert PromoUse.objects.filter(status="reserved").count() == 1


def test_a_session_whose_answer_was_lost_is_adopted(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    Payment.objects.all().delete()
    second = api.checkout(again(first, body))

    assert second["session_id"] == first["session_id"]
    assert open_sessions(sandbox) == [first["session_id"]]


@pytest.mark.parametrize(("before", "after"), [("embedded", "hosted"), ("hosted", "embedded")])
@pytest.mark.parametrize("answer_was_lost", [False, True])
def test_after_a_change_of_the_setting_the_open_payment_gives_way(
    api, sandbox, settings, before, after, answer_was_lost
):
    settings.STRIPE_CHECKOUT = before
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    if answer_was_lost:
        Payment.objects.all().delete()
    settings.STRIPE_CHECKOUT = after

    second = api.checkout(again(first, body))

    assert ("url" in first, "url" in second) == (before == "hosted", after == "hosted")
    assert Payment.objects.filter(status="open").count() == 1
    sandbox.pay(second)
    api.post("complete-payment", reference_of(second))
    assert_paid_once(first["order_id"])
    if before == "hosted":
        assert sandbox.session(first["session_id"])["status"] == "expired"
    else:
        assert sandbox.payment(first["payment_intent_id"])["status"] == "canceled"


def test_a_provider_that_forgot_everything_is_survived(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    sandbox.forget_everything()
    second = api.checkout(again(first, body))

    assert second["session_id"] != first["session_id"]
    assert open_sessions(sandbox) == [second["session_id"]]


# ------------------------------------------------------------------ paid, in both modes
def test_the_browser_that_comes_back_completes_the_order(api, sandbox, mode, placed, work):
    sandbox.pay(placed)

    status, answer = api.post("complete-payment", reference_of(placed))
    assert (status, answer["status"], answer["account_status"]) == (200, "paid", "pending")
    assert api.post("complete-payment", reference_of(placed))[1]["status"] == "paid"
    work()

    assert_paid_once(placed["order_id"])
    assert Enrolment.objects.count() == 1
    payment = Payment.objects.get()
    assert payment.reference.startswith("pi_")
    for known_as in (reference_of(placed), {"payment_intent_id": payment.reference}):
        status, found = api.get("orders/by-payment", **known_as)
        assert (status, found["id"], found["amount_paid"]) == (200, placed["order_id"], 182.4)
        assert found["account_status"] == "created"
        assert found["reference"] == f"ORD-{next(iter(known_as.values()))[-8:]}"
        status, sent = api.post("complete-payment", {**known_as, "resend_email": True})
        assert status in (200, 429)
        assert "attempts_left" in sent
        status, _ = api.post("create-auth-user", {"order_id": placed["order_id"], **known_as})
        assert status == 200
    assert Enrolment.objects.count() == 1


def test_before_the_payment_nothing_is_complete(api, sandbox, mode, placed):
    status, answer = api.post("complete-payment", reference_of(placed))

    assert (status, answer["code"]) == (409, "not_confirmed")
    status, found = api.get("orders/by-payment", **reference_of(placed))
    assert (status, found["status"], found["amount_paid"]) == (200, "cart", 0)


def test_a_declined_card_is_followed_by_a_good_one(api, sandbox, mode, placed):
    assert sandbox.pay(placed, DECLINED) == "card_declined"
    assert api.post("complete-payment", reference_of(placed))[0] == 409

    sandbox.pay(placed)

    assert api.post("complete-payment", reference_of(placed))[0] == 200
    assert_paid_once(placed["order_id"])


def test_reconciliation_finds_the_payment_of_a_closed_tab(api, sandbox, mode, placed):
    sandbox.pay(placed)

    call_command("reconcile_payments")

    assert_paid_once(placed["order_id"])


def test_reconciliation_finds_a_payment_whose_answer_was_lost(api, sandbox, mode, placed):
    sandbox.pay(placed)
    Payment.objects.all().delete()

    call_command("reconcile_payments")

    assert_paid_once(placed["order_id"])


def test_the_code_is_used_once_it_is_paid(api, sandbox, mode):
    make_promo(max_uses=1)
    subject = make_subject(price="200.00")
    placed = api.checkout(checkout_body(whole(subject), total="171", promo_code="BIENVENIDA10"))
    sandbox.pay(placed)
    api.post("complete-payment", reference_of(placed))

    assert PromoUse.objects.get().status == "used"


def test_nothing_known_is_an_invalid_request(api):
    status, answer = api.post("complete-payment", {})

    assert (status, list(answer["fields"])) == (400, ["payment_intent_id"])


# ------------------------------------------------------------------ told by events
def intent_of(sandbox, placed):
    return sandbox.session(placed["session_id"])["payment_intent"]["id"]


@pytest.mark.parametrize(
    "order",
    [
        ("payment_intent.succeeded", "checkout.session.completed"),
        ("checkout.session.completed", "payment_intent.succeeded"),
        ("checkout.session.completed",),
        ("payment_intent.succeeded",),
        ("checkout.session.async_payment_succeeded",),
    ],
)
def test_events_in_any_order_pay_once(api, sandbox, placed, work, order):
    sandbox.pay(placed)
    for kind in order:
        of_intent = kind.startswith("payment_intent")
        reference = intent_of(sandbox, placed) if of_intent else placed["session_id"]
        deliver(api, event_body(kind, reference, event_id=kind))
        work()
    work()

    assert_paid_once(placed["order_id"])
    assert Mail.objects.filter(template="staff_attention").count() == 0
    assert Payment.objects.count() == 1
    order_row = Order.objects.get()
    assert order_row.flag == ""
    assert order_row.stripe_session_id == placed["session_id"]
    assert order_row.stripe_payment_intent_id == Payment.objects.get().reference


def test_an_event_that_lies_about_a_session_is_checked_there(api, sandbox, placed, work):
    deliver(
        api,
        event_body("checkout.session.completed", placed["session_id"], payment_status="paid"),
    )
    work()

    assert Order.objects.get().status == "cart"


def test_the_event_of_an_expired_session_releases_the_code(api, sandbox, work):
    promo = make_promo(max_uses=1)
    placed = api.checkout(
        checkout_body(whole(make_subject(price="200.00")), total="171", promo_code="BIENVENIDA10")
    )
    deliver(api, event_body("checkout.session.expired", placed["session_id"], event_id="early"))
    work()
    promo.refresh_from_db()
    assert promo.uses_taken == 1  # It lied: the session is open still.

    expire_at_provider(sandbox, placed["session_id"])
    deliver(api, event_body("checkout.session.expired", placed["session_id"], event_id="late"))
    work()

    promo.refresh_from_db()
    assert promo.uses_taken == 0
    assert Payment.objects.get().status == "canceled"
    assert Order.objects.get().status == "cart"


def test_a_bank_that_takes_its_time_is_waited_for(api, sandbox, placed, work):
    sandbox.pay(placed, SLOW)
    status, answer = api.post("complete-payment", reference_of(placed))
    assert (status, answer["status"]) == (200, "processing")
    assert Payment.objects.get().status == "processing"
    body = checkout_body(whole(make_subject("Física", "100.00")), total="95")
    status, answer = api.post("process-checkout", again(placed, body))
    assert (status, answer["code"]) == (409, "payment_in_progress")

    deadline = time.monotonic() + 10
    while sandbox.session(placed["session_id"])["payment_status"] != "paid":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    deliver(api, event_body("checkout.session.async_payment_succeeded", placed["session_id"]))
    work()

    assert_paid_once(placed["order_id"])


def test_eight_refused_cards_lock_the_order_and_close_its_page(api, sandbox, placed, work):
    for number in range(8):
        sandbox.pay(placed, DECLINED)
        body = event_body(
            "payment_intent.payment_failed",
            intent_of(sandbox, placed),
            event_id=f"evt_{number}",
            metadata={"order_id": str(placed["order_id"])},
        )
        deliver(api, body)
    work()

    assert Order.objects.get().locked_until is not None
    assert sandbox.session(placed["session_id"])["status"] == "expired"
    assert Payment.objects.get().status == "canceled"


def test_a_session_of_another_shop_is_stored_and_left_alone(api, sandbox, work):
    client = sandbox.process.client()
    line = {
        "quantity": 1,
        "price_data": {"currency": "eur", "unit_amount": 900, "product_data": {"name": "Taza"}},
    }
    session = client.v1.checkout.sessions.create(
        {"mode": "payment", "line_items": [line], "success_url": "http://127.0.0.1/"}
    )
    sandbox.pay_page(session.url)
    deliver(api, event_body("checkout.session.completed", session.id))
    work()

    stray = Payment.objects.get()
    assert (stray.order, stray.amount) == (None, 9)


# ------------------------------------------------------------------ a provider that misbehaves
@pytest.mark.parametrize("call", ["POST /v1/coupons", "POST /v1/checkout/sessions"])
@pytest.mark.parametrize(
    "name", ["timed out before the work", "timed out after the work", "500 after the work", "html"]
)
def test_what_fails_while_the_page_is_made_is_tried_again_and_done_once(
    api, sandbox, settings, monkeypatch, call, name
):
    settings.STRIPE_TIMEOUT = 1
    monkeypatch.setattr(stripe.HTTPClient, "INITIAL_DELAY", 0.01)
    client.cache_clear()
    sandbox.process.fault(calls=call, caller="server", **FAULTS[name])
    body = checkout_body(whole(make_subject()), total="182.40")

    status, refused = api.post("process-checkout", body)
    assert (status, refused["code"]) == (502, "provider_error")
    # An answer in HTML is not tried again by Stripe's library: the second press meets the other.
    tries = (api.post("process-checkout", again(refused, body)) for _ in range(2))
    placed = next(answer for status, answer in tries if status == 200)
    sandbox.pay(placed)
    api.post("complete-payment", reference_of(placed))

    assert_paid_once(refused["order_id"])
    assert Order.objects.count() == 1
    assert sandbox.process.control("GET", "state")["charges"] == {"succeeded": 1}
    assert open_sessions(sandbox) == []


# ------------------------------------------------------------------ reservations
def test_a_code_is_held_until_the_session_has_expired_at_the_provider(api, sandbox):
    promo = make_promo(max_uses=1)
    placed = api.checkout(
        checkout_body(whole(make_subject(price="200.00")), total="171", promo_code="BIENVENIDA10")
    )
    with time_machine.travel(timezone.now() + timedelta(minutes=40)):
        # Our clock alone is not enough: the page may still take a card.
        call_command("reconcile_payments")
        promo.refresh_from_db()
        assert promo.uses_taken == 1
        assert sandbox.session(placed["session_id"])["status"] == "open"

        expire_at_provider(sandbox, placed["session_id"])
        call_command("reconcile_payments")

    promo.refresh_from_db()
    assert promo.uses_taken == 0
    assert Order.objects.get().promo_uses.get().status == "released"


def test_an_old_cart_expires_once_its_session_has(api, sandbox, placed):
    with time_machine.travel(timezone.now() + timedelta(days=31)):
        call_command("reconcile_payments")

    assert sandbox.session(placed["session_id"])["status"] == "expired"
    assert Order.objects.get().status == "expired"
