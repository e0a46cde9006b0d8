"""The shop handles any Stripe id of up to 255 characters, from checkout to refund."""

from datetime import timedelta
from urllib.parse import parse_qs, quote, urlsplit

import pytest
import time_machine
from django.core.management import call_command
from django.utils import timezone

from apps.core.models import Mail
from apps.orders.models import Instalment, Order, Payment, Refund
from apps.payments.refunds.reconcile import reconcile_returns
from apps.payments.stripe import intents
from apps.payments.stripe.client import PaymentNotFound
from tests.helpers.factories import checkout_body, make_promo, make_subject, whole
from tests.helpers.plans import buy_in_instalments, charge_on, give_card, link_of
from tests.helpers.refunds import buy
from tests.helpers.shop import DECLINED

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("audited")]

ODD_CHARACTERS = "-._~=:+/%&?#@"


@pytest.fixture(autouse=True)
def _opaque(sandbox):
    sandbox.process.control("POST", "ids", {"style": "opaque"})
    yield
    sandbox.process.control("POST", "ids", {"style": "plain"})


def assert_is_opaque(provider_id: str) -> None:
    assert len(provider_id) == 255
    assert set(ODD_CHARACTERS) <= set(provider_id)


def ids(placed):
    name = "session_id" if "session_id" in placed else "payment_intent_id"
    return {name: placed[name]}


@pytest.mark.usefixtures("mode")
def test_purchase_with_opaque_ids_is_completed_by_the_browser(api, sandbox, work):
    make_promo()
    body = checkout_body(
        whole(make_subject(price="200.00")), total="171", promo_code="BIENVENIDA10"
    )
    placed = api.checkout(body)
    assert sandbox.pay(placed, DECLINED) == "card_declined"
    sandbox.pay(placed)

    status, answer = api.post("complete-payment", ids(placed))
    work()

    assert (status, answer["status"]) == (200, "paid")
    order = Order.objects.get()
    assert_is_opaque(order.stripe_payment_intent_id)
    assert_is_opaque(order.customer_reference)
    assert api.get("orders/by-payment", **ids(placed))[0] == 200
    status, answer = api.post("create-auth-user", {"order_id": order.pk, **ids(placed)})
    assert (status, answer["account_status"]) == (200, "created")
    assert Payment.objects.get().status == "succeeded"


@pytest.mark.usefixtures("mode")
def test_second_checkout_with_opaque_ids_answers_with_the_same_payment(api):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)

    again = api.checkout({**body, "recovery_order_id": first["order_id"], "token": first["token"]})

    assert ids(again) == ids(first)


@pytest.mark.usefixtures("mode")
def test_checkout_after_an_unreported_payment_says_paid_and_opens_no_other(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    sandbox.pay(first)

    again = {**body, "recovery_order_id": first["order_id"], "token": first["token"]}
    status, answer = api.post("process-checkout", again)

    assert (status, answer["code"]) == (409, "already_paid")
    assert Order.objects.get().status == "paid"
    assert list(Payment.objects.values_list("status", flat=True)) == ["succeeded"]
    assert sandbox.process.control("GET", "state")["payment_intents"] == {"succeeded": 1}


@pytest.mark.usefixtures("mode")
def test_reconciliation_reads_opaque_ids(api, sandbox):
    sandbox.pay(api.checkout(checkout_body(whole(make_subject()), total="182.40")))

    call_command("reconcile_payments")

    assert Order.objects.get().status == "paid"


def test_plan_with_opaque_ids_is_charged_refused_paid_by_hand_and_given_another_card(api, sandbox):
    order = buy_in_instalments(api, sandbox)
    assert_is_opaque(order.card_reference)
    give_card(order, sandbox, "pm_card_chargeCustomerFail")
    assert charge_on(20).refused == 1
    with time_machine.travel(timezone.now() + timedelta(days=20)):
        _, paying = api.post("instalments/pay", {**link_of(order), "number": 2, "what": "next"})
        sandbox.confirm(paying["client_secret"])
        api.post("complete-payment", {"payment_intent_id": paying["payment_intent_id"]})
        _, changing = api.post("instalments/card", link_of(order))
        browser = sandbox.process.browser_client()
        browser.v1.setup_intents.confirm(
            changing["setup_intent_id"],
            {
                "client_secret": changing["client_secret"],
                "payment_method": sandbox.process.new_card("5555555555554444").id,
                "return_url": "http://127.0.0.1/plazos",
            },
        )
        setup = {"setup_intent_id": changing["setup_intent_id"]}
        status, saved = api.post("instalments/card-saved", {**link_of(order), **setup})

    assert (status, saved["card"]) == (200, "Mastercard terminada en 4444")
    assert charge_on(40).charged == 1
    assert set(order.instalments.values_list("status", flat=True)) == {Instalment.Status.PAID}


@pytest.mark.parametrize("outcome", ["won", "lost"])
def test_dispute_with_an_opaque_id_is_recorded(api, sandbox, outcome):
    order = buy(api, sandbox)
    control = sandbox.process.control
    disputed = {"payment_intent": order.stripe_payment_intent_id}
    dispute_id = control("POST", "disputes", disputed)["id"]
    assert_is_opaque(dispute_id)

    reconcile_returns()
    control("POST", f"disputes/{quote(dispute_id, safe='')}", {"status": outcome})
    reconcile_returns()

    assert order.payments.get().disputes.get().status == outcome
    assert Mail.objects.filter(template="staff_attention").count() == 2


def test_refund_in_the_dashboard_with_an_opaque_id_is_recorded(api, sandbox):
    order = buy(api, sandbox)
    sandbox.process.control("POST", "refunds", {"payment_intent": order.stripe_payment_intent_id})

    reconcile_returns()

    order.refresh_from_db()
    assert order.status == "refunded"
    assert_is_opaque(Refund.objects.get().reference)
    assert Mail.objects.filter(template__in=("refund_made", "refund_owner")).count() == 2


def test_success_page_address_carries_an_opaque_id(api, sandbox, settings):
    settings.STRIPE_CHECKOUT = "hosted"
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))

    target = sandbox.session(placed["session_id"])["success_url"].replace(
        "{CHECKOUT_SESSION_ID}", placed["session_id"]
    )

    assert "session_id" in parse_qs(urlsplit(target).query)


@pytest.mark.parametrize("provider_id", ["pi_1\x1f2", "pi_\x00", "x" * 256])
def test_malformed_id_is_refused_without_a_call_to_stripe(api, sandbox, provider_id):
    sandbox.process.fault(calls="*", caller="server", do="error_500")

    status, answer = api.post("complete-payment", {"payment_intent_id": provider_id})

    assert (status, answer["code"]) == (400, "invalid")


@pytest.mark.parametrize("provider_id", ["", ".", "..", "pi_\n1"])
def test_id_with_path_characters_is_never_put_into_a_url(sandbox, provider_id):
    with pytest.raises(PaymentNotFound):
        intents.retrieve_payment(intents.PaymentIds(provider_id))


def test_false_not_found_answer_opens_no_second_payment(api, sandbox, monkeypatch):
    """The shop lists the customer's payments before it opens another one."""
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    sandbox.pay(first)
    row = Payment.objects.get()
    Payment.objects.filter(pk=row.pk).update(reference="pi_somehow_wrong")

    again = {**body, "recovery_order_id": first["order_id"], "token": first["token"]}
    status, answer = api.post("process-checkout", again)

    assert (status, answer["code"]) == (409, "already_paid")
    assert Order.objects.get().status == "paid"
    assert sandbox.process.control("GET", "state")["payment_intents"] == {"succeeded": 1}
