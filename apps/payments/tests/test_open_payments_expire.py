"""An open payment is valid for an hour, and only for the content that it was opened with."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from apps.catalogue.models import Lesson, Subject
from apps.core.models import Mail
from apps.core.web.throttle import Limit
from apps.orders.models import Order, Payment
from apps.payments.checkout import opening
from apps.payments.events.reconcile import reconcile
from apps.pricing.models import PromoCode
from tests.helpers.factories import checkout_body, make_promo, make_subject, whole
from tests.helpers.shop import Sandbox

pytestmark = pytest.mark.django_db


@pytest.fixture
def subject(db):
    return make_subject()


@pytest.fixture
def placed(api, sandbox, subject):
    return api.checkout(checkout_body(whole(subject), total="182.40"))


def own(placed: dict[str, Any]) -> dict[str, Any]:
    return {"recovery_order_id": placed["order_id"], "token": placed["token"]}


def status_at_stripe(sandbox: Sandbox, placed: dict[str, Any]) -> str:
    return str(sandbox.payment(placed["payment_intent_id"])["status"])


def double_price(subject: Subject) -> None:
    subject.final_price = Decimal("384.00")
    subject.save()


def test_reconciliation_cancels_a_payment_after_an_hour(sandbox, placed, audited):
    reconcile()
    assert status_at_stripe(sandbox, placed) == "requires_payment_method"

    with time_machine.travel(timezone.now() + timedelta(minutes=61), tick=True):
        reconcile()

    assert status_at_stripe(sandbox, placed) == "canceled"
    assert not Payment.objects.open().exists()
    assert Order.objects.get().status == "cart"


def test_buyer_who_comes_back_after_an_hour_gets_a_new_payment(api, sandbox, subject, placed):
    with time_machine.travel(timezone.now() + timedelta(minutes=61), tick=True):
        again = api.checkout(checkout_body(whole(subject), total="182.40", **own(placed)))

    assert again["payment_intent_id"] != placed["payment_intent_id"]
    assert status_at_stripe(sandbox, placed) == "canceled"
    assert status_at_stripe(sandbox, again) == "requires_payment_method"


def test_cart_that_changes_again_and_again_opens_few_payments(
    api, sandbox, subject, placed, monkeypatch
):
    """Stripe's list of them would grow, and with it the time of each request and each check."""
    monkeypatch.setattr(opening, "PAYMENTS_OF_ORDER", Limit("few", times=2, seconds=3600))
    body = checkout_body(whole(subject), total="182.40")
    answers = [
        api.post("process-checkout", {**body, **own(placed), "phone": f"+3460000000{number}"})
        for number in range(4)
    ]

    assert [status for status, _ in answers] == [200, 200, 404, 404]
    assert Payment.objects.count() == 3
    assert not Payment.objects.open().exists()
    # The page begins another order.
    assert api.post("process-checkout", body)[0] == 200


def test_price_change_cancels_the_open_payment_before_the_answer(api, sandbox, subject, placed):
    double_price(subject)
    body = checkout_body(whole(subject), total="182.40", **own(placed))

    status, answer = api.post("process-checkout", body)

    assert (status, answer["code"], answer["total_amount"]) == (409, "price_changed", 364.8)
    assert status_at_stripe(sandbox, placed) == "canceled"


def take_off_sale(subject: Subject) -> None:
    for lesson in subject.lessons.all():
        lesson.status = Lesson.Status.EXPIRED
        lesson.save()


@pytest.mark.parametrize("change", [double_price, take_off_sale])
def test_reconciliation_cancels_a_payment_whose_items_are_no_longer_on_sale(
    sandbox, subject, placed, change
):
    change(subject)
    reconcile()
    assert status_at_stripe(sandbox, placed) == "canceled"


def test_reconciliation_cancels_a_payment_whose_code_was_switched_off(api, sandbox, subject):
    make_promo()
    placed = api.checkout(checkout_body(whole(subject), total="164.16", promo_code="BIENVENIDA10"))
    reconcile()
    assert status_at_stripe(sandbox, placed) == "requires_payment_method"

    PromoCode.objects.update(active=False)
    reconcile()

    assert status_at_stripe(sandbox, placed) == "canceled"
    assert Order.objects.get().promo_uses.get().status == "released"


def test_payment_at_an_outdated_price_is_accepted_and_flagged(
    api, sandbox, subject, placed, work, audited
):
    double_price(subject)
    sandbox.confirm(placed["client_secret"])

    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    work()

    order = Order.objects.get()
    assert order.status == "paid"
    event = order.events.get(kind="offer_changed")
    assert "182,40 € en lugar de 364,80 €" in event.reason.replace("\N{NO-BREAK SPACE}", " ")
    assert "ha cambiado el precio de «Microeconomía»" in order.flag
    assert Mail.objects.filter(template="staff_attention").count() == 1


def test_payment_at_todays_price_is_not_flagged(api, sandbox, placed, audited):
    sandbox.confirm(placed["client_secret"])
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
    order = Order.objects.get()
    assert (order.status, order.flag) == ("paid", "")
