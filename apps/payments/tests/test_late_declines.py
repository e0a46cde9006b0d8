"""Payments that the bank declines after some time."""

import pytest

from apps.core.models import Mail
from apps.orders.models import Order
from apps.payments.events.reconcile import reconcile
from tests.helpers.factories import checkout_body, make_subject, whole
from tools.stripe_sandbox.testing import wait_until

pytestmark = pytest.mark.django_db
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
