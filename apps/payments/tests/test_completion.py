"""One door marks an order paid, from the browser, the webhook or reconciliation, exactly once."""

import hashlib
import hmac
import json
import time
from datetime import timedelta
from decimal import Decimal

import pytest
import time_machine
from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from apps.classroom.models import Enrolment, Provisioning
from apps.core.models import Mail
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.ledger.refused_cards import count_refused_card
from apps.orders.models import Instalment, Order, Payment
from apps.orders.settlement.mark_paid import mark_paid
from apps.orders.settlement.open_payments import keep_customer
from apps.orders.settlement.unmatched import keep_unmatched_payment
from apps.payments import jobs, webhooks
from apps.payments.models import ProviderEvent
from apps.payments.report import report
from apps.payments.stripe.client import ProviderError
from apps.payments.stripe.intents import PaymentIds, retrieve_payment
from apps.pricing.payment_type import PaymentType
from tests.helpers.factories import checkout_body, make_promo, make_subject, whole
from tests.helpers.shop import DECLINED

pytestmark = pytest.mark.django_db


@pytest.fixture
def placed(api, sandbox):
    """Bruno's checkout of one subject at 192 €: 182.40 € to pay."""
    return api.checkout(checkout_body(whole(make_subject()), total="182.40"))


def event_body(kind, reference, *, event_id="evt_1", livemode=False, **sent):
    return json.dumps(
        {
            "id": event_id,
            "object": "event",
            "type": kind,
            "livemode": livemode,
            "created": int(time.time()),
            "data": {"object": {"id": reference, "object": "payment_intent", **sent}},
        }
    )


def deliver(api, body, *, secret=None):
    """Post an event as Stripe signs it."""
    moment = int(time.time())
    key = (secret or settings.STRIPE_WEBHOOK_SECRET).encode()
    signature = hmac.new(key, f"{moment}.{body}".encode(), hashlib.sha256).hexdigest()
    return api.client.post(
        "/api/stripe/webhook",
        body,
        content_type="application/json",
        headers={"Stripe-Signature": f"t={moment},v1={signature}"},
    )


def assert_paid_once(order_id):
    order = Order.objects.get(pk=order_id)
    assert order.status == "paid"
    assert order.payments.filter(status="succeeded").count() == 1
    assert Provisioning.objects.filter(order_id=order.pk).count() == 1
    assert Mail.objects.filter(template="order_confirmation").count() == 1
    assert order.events.filter(to_status="paid").count() == 1


def test_the_browser_completes_a_confirmed_payment(api, sandbox, placed, work, mailoutbox):
    sandbox.confirm(placed["client_secret"])

    status, answer = api.post(
        "complete-payment", {"payment_intent_id": placed["payment_intent_id"]}
    )
    assert (status, answer["status"], answer["account_status"]) == (200, "paid", "pending")
    work()

    status, answer = api.get("orders/by-payment", payment_intent_id=placed["payment_intent_id"])
    assert status == 200
    assert answer == {
        "id": placed["order_id"],
        "reference": f"ORD-{placed['payment_intent_id'][-8:]}",
        "status": "paid",
        "created_at": answer["created_at"],
        "total_amount": 182.4,
        "amount_paid": 182.4,
        "items_count": 1,
        "account_status": "created",
        "student": {"first_name": "", "email": "b•••@example.com"},
    }
    assert_paid_once(placed["order_id"])
    assert Enrolment.objects.count() == 1
    assert sorted(Mail.objects.values_list("template", flat=True)) == [
        "classroom_access",
        "order_confirmation",
        "referral_code",
    ]
    assert len(mailoutbox) == 3


def test_an_unconfirmed_payment_completes_nothing(api, placed):
    status, answer = api.post(
        "complete-payment", {"payment_intent_id": placed["payment_intent_id"]}
    )

    assert (status, answer["code"]) == (409, "not_confirmed")
    assert Order.objects.get().status == "cart"


@pytest.mark.parametrize("reference", ["pi_unknown", "x", "free_none", "pi_1/../customers", "cs_ñ"])
def test_an_unknown_payment_is_not_found(api, sandbox, reference):
    status, answer = api.post("complete-payment", {"payment_intent_id": reference})

    assert (status, answer["code"]) == (404, "not_found")


def test_a_declined_card_can_be_followed_by_a_good_one(api, sandbox, placed):
    assert sandbox.confirm(placed["client_secret"], DECLINED) == "card_declined"

    sandbox.confirm(placed["client_secret"])
    status, _ = api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})

    assert status == 200
    assert_paid_once(placed["order_id"])


def test_the_webhook_completes_the_order_of_a_closed_tab(api, sandbox, placed, work):
    sandbox.confirm(placed["client_secret"])

    answer = deliver(api, event_body("payment_intent.succeeded", placed["payment_intent_id"]))
    assert answer.status_code == 200
    assert Order.objects.get().status == "cart"
    work()

    assert_paid_once(placed["order_id"])
    assert ProviderEvent.objects.get().processed_at is not None


def test_a_repeated_event_is_stored_once_and_changes_nothing(api, sandbox, placed, work):
    sandbox.confirm(placed["client_secret"])
    body = event_body("payment_intent.succeeded", placed["payment_intent_id"])

    assert [deliver(api, body).status_code for _ in range(3)] == [200, 200, 200]
    work()

    assert ProviderEvent.objects.count() == 1
    assert_paid_once(placed["order_id"])


def test_browser_and_webhook_together_pay_once(api, sandbox, placed, work, mailoutbox):
    sandbox.confirm(placed["client_secret"])
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    deliver(api, event_body("payment_intent.succeeded", placed["payment_intent_id"]))
    work()
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    work()

    assert_paid_once(placed["order_id"])
    assert len(mailoutbox) == 3


def test_an_event_that_lies_is_checked_against_the_provider(api, placed, work):
    body = event_body(
        "payment_intent.succeeded", placed["payment_intent_id"], status="succeeded", amount=18240
    )

    deliver(api, body)
    work()

    assert Order.objects.get().status == "cart"


def test_events_in_the_wrong_order_end_in_the_same_state(api, sandbox, placed, work):
    sandbox.confirm(placed["client_secret"])
    deliver(api, event_body("payment_intent.succeeded", placed["payment_intent_id"], event_id="b"))
    work()
    for kind in ("payment_intent.processing", "payment_intent.canceled"):
        deliver(api, event_body(kind, placed["payment_intent_id"], event_id=kind))
    work()

    assert_paid_once(placed["order_id"])


def test_a_bad_signature_is_refused_and_nothing_is_stored(api, placed):
    body = event_body("payment_intent.succeeded", placed["payment_intent_id"])

    answer = deliver(api, body, secret="whsec_other")

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_signature")
    assert ProviderEvent.objects.count() == 0


def test_an_event_that_is_too_large_is_refused_in_the_documented_shape(api):
    answer = api.client.post(
        "/api/stripe/webhook", b"x" * (1024 * 1024 + 1), content_type="application/json"
    )

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert ProviderEvent.objects.count() == 0


def test_a_webhook_without_a_signature_or_body_is_refused(api):
    assert api.client.post("/api/stripe/webhook", b"", content_type="text/plain").status_code == 400


def test_kinds_that_are_not_used_are_stored_all_the_same(api, work):
    assert deliver(api, event_body("invoice.paid", "in_1")).status_code == 200
    work()

    assert ProviderEvent.objects.get().outcome == "Guardado; este tipo no se usa"


def test_an_event_of_the_other_mode_is_stored_and_never_acted_on(api, sandbox, placed, work):
    sandbox.confirm(placed["client_secret"])

    deliver(
        api,
        event_body("payment_intent.succeeded", placed["payment_intent_id"], livemode=True),
    )
    work()

    assert Order.objects.get().status == "cart"
    assert ProviderEvent.objects.get().outcome.startswith("No se trata")


def test_reconciliation_finds_what_no_event_told(api, sandbox, placed, work):
    sandbox.confirm(placed["client_secret"])

    call_command("reconcile_payments")
    work()

    assert_paid_once(placed["order_id"])


def test_every_five_minutes_only_the_last_day_s_carts_are_asked_about(sandbox, placed):
    sandbox.confirm(placed["client_secret"])
    two_days_ago = timezone.now() - timedelta(days=2)
    Order.objects.update(updated_at=two_days_ago)
    Payment.objects.update(created_at=two_days_ago)

    assert jobs.reconcile_payments() == ""
    assert Order.objects.get().status == "cart"

    assert jobs.reconcile_all_payments().startswith("Eventos tratados: 0. Pagos aclarados: 1.")
    assert Order.objects.get().status == "paid"


def test_reconciliation_acts_on_an_event_that_the_worker_lost(api, sandbox, placed, monkeypatch):
    sandbox.confirm(placed["client_secret"])
    deliver(api, event_body("payment_intent.succeeded", placed["payment_intent_id"]))
    Payment.objects.all().delete()  # As if the answer to process-checkout had never been kept.

    with time_machine.travel(timezone.now() + timedelta(minutes=3)):
        call_command("reconcile_payments")

    assert_paid_once(placed["order_id"])


def test_a_code_reserved_for_half_an_hour_is_released_after_the_payment_is_canceled(api, sandbox):
    promo = make_promo(max_uses=1)
    placed = api.checkout(
        checkout_body(
            whole(make_subject(price="200.00")), total="171.00", promo_code="BIENVENIDA10"
        )
    )

    with time_machine.travel(timezone.now() + timedelta(minutes=29)):
        call_command("reconcile_payments")
        promo.refresh_from_db()
        assert promo.uses_taken == 1
    with time_machine.travel(timezone.now() + timedelta(minutes=31)):
        call_command("reconcile_payments")

    promo.refresh_from_db()
    assert promo.uses_taken == 0
    assert sandbox.payment(placed["payment_intent_id"])["status"] == "canceled"
    assert Order.objects.get().status == "cart"


def test_a_payment_that_was_confirmed_meanwhile_keeps_its_code(api, sandbox):
    promo = make_promo(max_uses=1)
    placed = api.checkout(
        checkout_body(
            whole(make_subject(price="200.00")), total="171.00", promo_code="BIENVENIDA10"
        )
    )
    sandbox.confirm(placed["client_secret"])

    with time_machine.travel(timezone.now() + timedelta(minutes=31)):
        call_command("reconcile_payments")

    promo.refresh_from_db()
    assert promo.uses_taken == 1
    assert Order.objects.get().promo_uses.get().status == "used"
    assert_paid_once(placed["order_id"])


def test_when_the_answer_was_lost_the_payment_is_adopted_and_not_opened_twice(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    Payment.objects.all().delete()

    second = api.checkout({**body, "recovery_order_id": first["order_id"], "token": first["token"]})

    assert second["payment_intent_id"] == first["payment_intent_id"]
    customer = Order.objects.get().customer_reference
    assert len(sandbox.payments(customer)) == 1


def test_an_order_survives_a_provider_that_has_forgotten_it(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    again = {**body, "recovery_order_id": first["order_id"], "token": first["token"]}
    sandbox.forget_everything()

    second = api.checkout(again)

    assert second["payment_intent_id"] != first["payment_intent_id"]
    assert sandbox.payment(second["payment_intent_id"])["amount"] == 18240
    assert Order.objects.count() == 1
    assert Payment.objects.filter(status="open").count() == 1


def test_one_event_that_nobody_foresaw_does_not_end_reconciliation(api, sandbox, placed):
    sandbox.confirm(placed["client_secret"])
    deliver(
        api, json.dumps({**json.loads(event_body("payment_intent.succeeded", "x")), "data": {}})
    )

    with time_machine.travel(timezone.now() + timedelta(minutes=3)):
        call_command("reconcile_payments")

    assert_paid_once(placed["order_id"])


def test_the_same_refusal_is_counted_once(placed):
    for _ in range(2):
        count_refused_card(
            order_id=placed["order_id"], event_id="evt_1", reason="expired_card", actor="Stripe"
        )

    order = Order.objects.get()
    assert order.refused_cards == 1
    event = order.events.last()
    assert (event.kind, event.external_id) == ("card_refused", "evt_1")
    assert event.reason == "Tarjeta rechazada: expired_card"


def test_an_old_cart_expires_and_a_late_payment_still_counts_and_is_flagged(api, sandbox, placed):
    with time_machine.travel(timezone.now() + timedelta(days=31)):
        call_command("reconcile_payments")
        call_command("reconcile_payments")
    assert Order.objects.get().status == "expired"

    mark_paid(
        order_id=placed["order_id"], payment=ConfirmedPayment("pi_late", 18240), actor="Stripe"
    )

    order = Order.objects.get()
    assert order.status == "paid"
    assert order.flag == "Pago recibido después de caducar el pedido"
    assert Mail.objects.filter(template="staff_attention").count() == 1


@pytest.mark.parametrize(("cents", "currency"), [(18239, "eur"), (18240, "usd"), (1, "eur")])
def test_an_unexpected_amount_is_kept_flagged_and_shown_to_staff(placed, cents, currency):
    for _ in range(2):
        mark_paid(
            order_id=placed["order_id"],
            payment=ConfirmedPayment(placed["payment_intent_id"], cents, currency),
            actor="Stripe",
        )

    order = Order.objects.get()
    assert order.status == "cart"
    assert order.flag.startswith("Importe inesperado")
    assert Payment.objects.get().amount == Decimal(cents) / 100
    assert Mail.objects.get().template == "staff_attention"
    assert Provisioning.objects.count() == 0


@pytest.mark.parametrize("status", ["cart", "expired"])
def test_a_payment_that_misfits_is_not_called_a_paid_order(api, placed, status):
    Order.objects.update(status=status)
    wrong = ConfirmedPayment(placed["payment_intent_id"], amount_cents=1000)
    mark_paid(order_id=placed["order_id"], payment=wrong, actor="Stripe")

    code, answer = api.post("complete-payment", {"payment_intent_id": wrong.reference})

    assert (code, answer["code"]) == (409, "not_confirmed")
    assert answer["error"].startswith("Hemos recibido tu pago y lo estamos revisando.")


def test_a_second_payment_is_kept_and_flagged_and_grants_nothing_twice(placed):
    for reference in ("pi_one", "pi_two"):
        mark_paid(
            order_id=placed["order_id"], payment=ConfirmedPayment(reference, 18240), actor="Stripe"
        )

    order = Order.objects.get()
    assert order.status == "paid"
    assert order.flag == "Segundo pago de un pedido ya pagado (pi_two)"
    assert order.payments.filter(status="succeeded").count() == 2
    assert Provisioning.objects.count() == 1
    assert Mail.objects.filter(template="order_confirmation").count() == 1


def test_a_payment_of_another_shop_is_stored_and_left_alone(api, sandbox, work):
    from apps.payments.stripe.client import client

    client = client()
    foreign = client.v1.payment_intents.create({"amount": 500, "currency": "eur"})
    sandbox.confirm(foreign.client_secret)

    deliver(api, event_body("payment_intent.succeeded", foreign.id))
    work()

    row = Payment.objects.get()
    assert (row.order, row.reference, row.flag) == (
        None,
        foreign.id,
        "Pago que no es de esta tienda",
    )
    assert Mail.objects.count() == 0


def test_what_another_shop_writes_and_takes_is_stored_however_odd(sandbox):
    foreign = sandbox.process.client().v1.payment_intents.create(
        {"amount": 500, "currency": "eur", "metadata": {"order_id": "²", "revision": "1"}}
    )
    report(retrieve_payment(PaymentIds(foreign.id)), actor="Stripe")
    assert Payment.objects.count() == 0

    sandbox.confirm(foreign.client_secret)
    report(retrieve_payment(PaymentIds(foreign.id)), actor="Stripe")
    pesos = ConfirmedPayment("pi_in_colombia", amount_cents=400_000_000, currency="cop")
    keep_unmatched_payment(pesos, reason="Pago que no es de esta tienda")

    stray = Payment.objects.order_by("amount").values_list("amount", "currency", "order")
    assert list(stray) == [(5, "eur", None), (4_000_000, "cop", None)]


def test_first_payment_creates_3_instalments_every_20_days_and_sets_the_order_to_paying(
    api, sandbox
):
    placed = api.checkout(
        checkout_body(
            whole(make_subject(price="100.00")), total="100.00", payment_type="installment"
        )
    )
    sandbox.confirm(placed["client_secret"])

    status, answer = api.post(
        "complete-payment", {"payment_intent_id": placed["payment_intent_id"]}
    )

    assert (status, answer["status"]) == (200, "paying")
    order = Order.objects.get()
    assert order.payment_type == PaymentType.INSTALMENTS
    today = timezone.localdate()
    assert list(order.instalments.values_list("number", "amount", "due_on", "status")) == [
        (1, Decimal("33.34"), today, "paid"),
        (2, Decimal("33.33"), today + timedelta(days=20), "due"),
        (3, Decimal("33.33"), today + timedelta(days=40), "due"),
    ]
    payment = order.payments.get()
    assert payment.instalments.get() == Instalment.objects.get(number=1)
    assert payment.payment_method.startswith("pm_")
    assert answer["account_status"] == "pending"


def test_order_keeps_the_instalment_plan_it_was_sold_with(api, sandbox, settings):
    settings.INSTALMENT_COUNT, settings.INSTALMENT_EVERY_DAYS = 2, 30
    placed = api.checkout(
        checkout_body(whole(make_subject(price="99.99")), total="99.99", payment_type="installment")
    )
    settings.INSTALMENT_COUNT, settings.INSTALMENT_EVERY_DAYS = 3, 20
    assert sandbox.payment(placed["payment_intent_id"])["amount"] == 5_000
    sandbox.confirm(placed["client_secret"])

    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})

    order, today = Order.objects.get(), timezone.localdate()
    assert order.payment_type_label == "2 plazos"
    assert list(order.instalments.values_list("number", "amount", "due_on", "status")) == [
        (1, Decimal("50.00"), today, "paid"),
        (2, Decimal("49.99"), today + timedelta(days=30), "due"),
    ]


def test_eight_refused_cards_lock_the_order_for_an_hour(api, sandbox, placed, work):
    for number in range(8):
        sandbox.confirm(placed["client_secret"], DECLINED)
        deliver(
            api,
            event_body(
                "payment_intent.payment_failed",
                placed["payment_intent_id"],
                event_id=f"evt_{number}",
                metadata={"order_id": str(placed["order_id"])},
                last_payment_error={"decline_code": "generic_decline"},
            ),
        )
    work()

    assert sandbox.payment(placed["payment_intent_id"])["status"] == "canceled"
    body = checkout_body(whole(make_subject("Otra")), total="182.40")
    retry = {**body, "recovery_order_id": placed["order_id"], "token": placed["token"]}
    answer = api.client.post("/api/process-checkout", retry, content_type="application/json")
    assert answer.status_code == 429
    assert 3500 < int(answer["Retry-After"]) <= 3600
    with time_machine.travel(timezone.now() + timedelta(minutes=61)):
        status, _ = api.post("process-checkout", retry)
    assert status == 200


def test_an_address_corrected_after_a_lost_answer_still_gets_its_payment(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    placed = api.checkout({**body, "email": "mal@example.com"})
    # The customer was made, but its reference never arrived here.
    Order.objects.update(customer_reference="")

    answer = api.checkout(
        {**body, "recovery_order_id": placed["order_id"], "token": placed["token"]}
    )

    customer = sandbox.payment(answer["payment_intent_id"])["customer"]
    assert Order.objects.get().customer_reference == customer
    assert customer != sandbox.payment(placed["payment_intent_id"])["customer"]


def test_recovery_token_of_a_paid_order_opens_nothing(api, sandbox, placed):
    sandbox.confirm(placed["client_secret"])
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})

    status, answer = api.get("orders/recover", order=placed["order_id"], token=placed["token"])
    assert (status, answer["code"]) == (409, "already_paid")
    assert placed["payment_intent_id"] not in str(answer)
    status, answer = api.post(
        "process-checkout",
        checkout_body(
            whole(make_subject("Otra")),
            total="182.40",
            recovery_order_id=placed["order_id"],
            token=placed["token"],
        ),
    )
    assert (status, answer["code"]) == (409, "already_paid")


def test_an_event_waits_while_the_provider_is_away(api, placed, monkeypatch, work):
    def away(reference):
        raise ProviderError

    monkeypatch.setattr(webhooks, "retrieve_payment", away)
    deliver(api, event_body("payment_intent.succeeded", placed["payment_intent_id"]))
    work()

    event = ProviderEvent.objects.get()
    assert event.processed_at is None
    assert event.attempts == 1
    assert event.outcome.startswith("Pendiente")


def test_access_is_asked_for_with_a_matching_paid_reference_only(api, sandbox, placed):
    body = {"order_id": placed["order_id"], "payment_intent_id": placed["payment_intent_id"]}
    assert api.post("create-auth-user", body)[0] == 403
    sandbox.confirm(placed["client_secret"])
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})

    assert api.post("create-auth-user", {**body, "payment_intent_id": "pi_other"})[0] == 403
    assert api.post("create-auth-user", {**body, "email": "otra@example.com"})[0] == 403
    assert api.post("create-auth-user", {"order_id": placed["order_id"]})[0] == 403
    status, answer = api.post("create-auth-user", body)

    assert (status, answer) == (200, {"success": True, "account_status": "pending"})
    assert Provisioning.objects.count() == 1


def test_access_email_can_be_resent_3_times_with_a_cooldown_of_180_s(
    api, sandbox, placed, work, mailoutbox
):
    sandbox.confirm(placed["client_secret"])
    body = {"payment_intent_id": placed["payment_intent_id"], "resend_email": True}
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    work()
    mailoutbox.clear()

    now = timezone.now()
    for number in range(3):
        with time_machine.travel(now + timedelta(seconds=181 * number), tick=False):
            status, answer = api.post("complete-payment", body)
            assert (status, answer["seconds_left"], answer["attempts_left"]) == (
                200,
                180,
                2 - number,
            )
            status, answer = api.post("complete-payment", body)
            assert status == 429
            assert answer["attempts_left"] == 2 - number
    with time_machine.travel(now + timedelta(hours=2)):
        status, answer = api.post("complete-payment", body)
        assert (status, answer["attempts_left"]) == (429, 0)
        work()

    assert len(mailoutbox) == 3


@pytest.mark.parametrize("customer", ["cus_of_another_order", None])
def test_a_payment_with_the_number_of_an_order_but_of_another_customer_does_not_pay_it(
    api, sandbox, placed, work, customer
):
    """As after the restore of an old database, or of a second shop on the same Stripe account."""
    client = sandbox.process.client()
    params = {
        "amount": 18240,
        "currency": "eur",
        "metadata": {"order_id": str(placed["order_id"]), "revision": "1"},
    }
    if customer:
        params["customer"] = client.v1.customers.create({"email": "otra@example.com"}).id
    foreign = client.v1.payment_intents.create(params)
    sandbox.confirm(foreign.client_secret, DECLINED)
    sent = {"metadata": params["metadata"]}
    body = event_body("payment_intent.payment_failed", foreign.id, event_id="evt_0", **sent)
    deliver(api, body)
    sandbox.confirm(foreign.client_secret)
    deliver(api, event_body("payment_intent.succeeded", foreign.id))
    deliver(api, event_body("payment_intent.succeeded", foreign.id, event_id="evt_2"))
    work()

    order = Order.objects.get()
    assert (order.status, order.refused_cards, order.flag) == ("cart", 0, "")
    stray = Payment.objects.get(reference=foreign.id)
    assert (stray.order, stray.amount) == (None, Decimal("182.40"))
    assert stray.flag == f"Pago de otro cliente: no es del pedido {order.pk}"
    mail = Mail.objects.get()
    assert (mail.template, mail.key) == ("staff_attention", f"staff-attention:payment-{stray.pk}")
    assert api.post("complete-payment", {"payment_intent_id": foreign.id})[0] == 404
    assert api.get("orders/by-payment", payment_intent_id=foreign.id)[0] == 404
    # The order's own payment goes on as if nothing had been.
    sandbox.confirm(placed["client_secret"])
    paid = {"payment_intent_id": placed["payment_intent_id"]}
    assert api.post("complete-payment", paid)[1]["status"] == "paid"


def test_two_addresses_at_once_leave_the_order_one_customer(placed):
    first = Order.objects.get().customer_reference

    assert keep_customer(order_id=placed["order_id"], customer="cus_slower") == first
    assert Order.objects.get().customer_reference == first
