"""POST /api/complete-payment completes an order once it is paid; late declines and receipts."""

from datetime import timedelta
from decimal import Decimal

import pytest
import time_machine
from django.core.management import call_command
from django.utils import timezone

from apps.classroom.access import withdraw_access
from apps.classroom.models import Enrolment, Provisioning
from apps.core.models import Mail
from apps.core.web.throttle import Limit
from apps.orders import api as orders
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Instalment, Order, Payment
from apps.orders.settlement.mark_paid import mark_paid
from apps.orders.settlement.open_payments import keep_customer
from apps.payments import report
from apps.payments.events.reconcile import reconcile
from apps.pricing.payment_type import PaymentType
from tests.helpers.completion import assert_paid_once
from tests.helpers.factories import checkout_body, make_subject, set_terms, whole
from tests.helpers.plans import buy_in_instalments, charge_on
from tools.stripe_sandbox.testing import wait_until

pytestmark = pytest.mark.django_db


def test_browser_completes_the_order_of_a_confirmed_payment(api, sandbox, placed, work, mailoutbox):
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


def test_access_that_was_refunded_is_not_mailed_again(api, sandbox, placed, work, mailoutbox):
    sandbox.confirm(placed["client_secret"])
    body = {"payment_intent_id": placed["payment_intent_id"]}
    api.post("complete-payment", body)
    work()
    withdraw_access(order_id=placed["order_id"])
    mailoutbox.clear()

    status, answer = api.post("complete-payment", {**body, "resend_email": True})
    work()

    assert (status, answer["code"]) == (409, "access_not_ready")
    assert "ya no abre nada" in answer["error"]
    assert mailoutbox == []


def test_browser_sees_the_order_that_a_webhook_completed_meanwhile(
    api, sandbox, placed, monkeypatch
):
    sandbox.confirm(placed["client_secret"])
    find_order = report.order_of

    def find_order_before_it_is_paid(payment):
        order = find_order(payment)
        confirmed = ConfirmedPayment(payment.reference, payment.amount_cents)
        mark_paid(order_id=placed["order_id"], payment=confirmed, actor="Stripe")
        return order

    monkeypatch.setattr(report, "order_of", find_order_before_it_is_paid)
    status, answer = api.post(
        "complete-payment", {"payment_intent_id": placed["payment_intent_id"]}
    )

    assert (status, answer.get("status")) == (200, "paid")


@pytest.mark.parametrize("reference", ["pi_unknown", "x", "free_none", "pi_1/../customers", "cs_ñ"])
def test_unknown_payment_is_not_found(api, sandbox, reference):
    status, answer = api.post("complete-payment", {"payment_intent_id": reference})

    assert (status, answer["code"]) == (404, "not_found")


def test_payment_of_an_expired_cart_is_recorded_and_flagged(api, sandbox, placed):
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
def test_payment_of_an_unexpected_amount_is_kept_and_flagged_and_does_not_complete_the_order(
    placed, cents, currency
):
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
def test_completion_with_an_unexpected_amount_answers_not_confirmed(api, placed, status):
    Order.objects.update(status=status)
    wrong = ConfirmedPayment(placed["payment_intent_id"], amount_cents=1000)
    mark_paid(order_id=placed["order_id"], payment=wrong, actor="Stripe")

    code, answer = api.post("complete-payment", {"payment_intent_id": wrong.reference})

    assert (code, answer["code"]) == (409, "not_confirmed")
    assert answer["error"].startswith("Hemos recibido tu pago y lo estamos revisando.")


def test_second_payment_of_an_order_is_kept_and_flagged_and_grants_no_second_access(placed):
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


def test_order_keeps_the_instalment_plan_it_was_sold_with(api, sandbox):
    set_terms(instalment_count=2, instalment_every_days=30)
    placed = api.checkout(
        checkout_body(whole(make_subject(price="99.99")), total="99.99", payment_type="installment")
    )
    set_terms()
    assert sandbox.payment(placed["payment_intent_id"])["amount"] == 5_000
    sandbox.confirm(placed["client_secret"])

    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})

    order, today = Order.objects.get(), timezone.localdate()
    assert order.payment_type_label == "2 plazos"
    assert list(order.instalments.values_list("number", "amount", "due_on", "status")) == [
        (1, Decimal("50.00"), today, "paid"),
        (2, Decimal("49.99"), today + timedelta(days=30), "due"),
    ]


def test_checkout_with_a_corrected_address_creates_a_new_customer_and_payment(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    placed = api.checkout({**body, "email": "mal@example.com"})
    # Stripe created the customer, but the shop did not store its reference.
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


def test_create_auth_user_requires_the_reference_of_the_order_s_own_succeeded_payment(
    api, sandbox, placed
):
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


def test_keep_customer_returns_the_customer_that_was_stored_first(placed):
    first = Order.objects.get().customer_reference

    assert keep_customer(order_id=placed["order_id"], customer="cus_slower") == first
    assert Order.objects.get().customer_reference == first


def receipts(sandbox):
    return sandbox.process.control("GET", "receipts")["receipts"]


def test_stripe_sends_no_receipt_beside_the_shop_s_mail(api, sandbox, mode):
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    assert sandbox.pay(placed) == ""

    assert receipts(sandbox) == []


def test_automatic_charge_has_the_shop_s_mail_alone(api, sandbox):
    buy_in_instalments(api, sandbox)
    assert charge_on(20).charged == 1

    assert receipts(sandbox) == []
    assert Mail.objects.filter(template="instalment_paid").count() == 1


def test_stripe_mails_the_receipt_of_each_payment_where_the_setting_says_so(
    api, sandbox, settings, mode
):
    settings.STRIPE_RECEIPTS = True
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    sandbox.pay(placed)

    assert [receipt["to"] for receipt in receipts(sandbox)] == ["bruno@example.com"]


def test_stripe_mails_the_receipt_of_an_automatic_charge_instead_of_the_shop(
    api, sandbox, settings
):
    settings.STRIPE_RECEIPTS = True
    order = buy_in_instalments(api, sandbox)
    assert charge_on(20).charged == 1

    assert [receipt["to"] for receipt in receipts(sandbox)] == [order.email] * 2
    assert not Mail.objects.filter(template="instalment_paid").exists()


SLOW_DECLINE = "4000009990000013"


@pytest.fixture
def confirming(api, sandbox):
    """A checkout whose payment the bank is still processing."""
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    sandbox.confirm(placed["client_secret"], SLOW_DECLINE)
    reference = {"payment_intent_id": placed["payment_intent_id"]}
    assert api.post("complete-payment", reference)[1]["status"] == "processing"
    return placed


def wait_for_decline(sandbox, placed):
    reference = placed["payment_intent_id"]
    wait_until(lambda: sandbox.payment(reference)["status"] == "requires_payment_method")


def test_late_decline_mails_the_recovery_link_once(api, sandbox, confirming, work, audited):
    wait_for_decline(sandbox, confirming)
    reconcile()
    reconcile()
    status, answer = api.post(
        "complete-payment", {"payment_intent_id": confirming["payment_intent_id"]}
    )
    work()

    assert (status, answer["code"]) == (409, "not_confirmed")
    mail = Mail.objects.get(template="payment_declined")
    assert mail.status == "sent"
    order = Order.objects.get()
    assert order.status == "cart"
    assert order.events.filter(kind="payment_declined").count() == 1


def test_declined_order_can_be_recovered_and_paid_with_another_card(
    api, sandbox, confirming, audited
):
    own = {"order": confirming["order_id"], "token": confirming["token"]}
    assert api.get("orders/recover", **own)[1]["bank"] == "confirming"
    wait_for_decline(sandbox, confirming)
    reconcile()

    status, recovered = api.get("orders/recover", **own)
    assert (status, recovered["bank"]) == (200, "declined")
    again = api.checkout(
        checkout_body(
            whole(Order.objects.get().lines.get().subject),
            total="182.40",
            recovery_order_id=own["order"],
            token=own["token"],
        )
    )
    sandbox.confirm(again["client_secret"])
    api.post("complete-payment", {"payment_intent_id": again["payment_intent_id"]})
    assert Order.objects.get().status == "paid"


def test_mail_about_a_decline_is_dropped_when_the_order_is_paid_meanwhile(
    api, sandbox, confirming, work
):
    wait_for_decline(sandbox, confirming)
    reconcile()
    sandbox.confirm(confirming["client_secret"])
    api.post("complete-payment", {"payment_intent_id": confirming["payment_intent_id"]})
    work()

    assert Mail.objects.get(template="payment_declined").status != "sent"


def test_order_of_a_payment_is_asked_for_a_bounded_number_of_times(
    api, sandbox, placed, monkeypatch, settings
):
    """Whoever knows its id needs no session."""
    settings.RATE_LIMIT_SCALE = 1
    monkeypatch.setattr(orders, "PAID_ORDERS", Limit("few", times=1, seconds=600))
    body = checkout_body(whole(make_subject("Derecho")), total="182.40", email="ana@example.com")
    names = [each["payment_intent_id"] for each in (placed, api.checkout(body))]
    for order, name in zip(Order.objects.order_by("pk"), names, strict=True):
        mark_paid(order_id=order.pk, payment=ConfirmedPayment(name, 182_40), actor="Stripe")
    # Others behind the same address ask for orders of their own.
    asked = [names[0], names[0], names[1]]
    statuses = [api.get("orders/by-payment", payment_intent_id=name)[0] for name in asked]
    assert statuses == [200, 429, 200]
