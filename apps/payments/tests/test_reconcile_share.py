"""Reconciliation has a time limit, and the next run continues where the last one stopped."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.orders.models import CART_LIFE, Order, Payment
from apps.payments.events import reconcile as module
from apps.payments.events.reconcile import reconcile
from apps.payments.stripe.client import client
from tests.helpers.factories import checkout_body, make_subject, whole

pytestmark = pytest.mark.django_db


@pytest.fixture
def three_open_payments(api, sandbox):
    """The references of three orders' open payments, the oldest first."""
    subject = make_subject()
    return [
        api.checkout(
            checkout_body(
                whole(subject),
                total="182.40",
                email=f"alumno{number}@example.com",
                phone=f"+3460010000{number}",
            )
        )["payment_intent_id"]
        for number in range(3)
    ]


@pytest.fixture
def asked(monkeypatch):
    """The payments that Stripe is asked about, as if each answer took ten seconds."""
    asked: list[str] = []
    retrieve = module.retrieve_payment

    def slowly(payment: Payment) -> Any:
        asked.append(payment.reference)
        return retrieve(payment)

    monkeypatch.setattr(module, "monotonic", lambda: 10.0 * len(asked))
    monkeypatch.setattr(module, "retrieve_payment", slowly)
    return asked


def test_next_run_starts_with_the_payments_that_the_last_run_skipped(three_open_payments, asked):
    first, second, third = three_open_payments

    # Open payments have a third of the time, which is enough for two answers.
    found = reconcile(seconds=60)
    assert asked == [first, second]
    assert found.postponed == 1
    assert found.summary().endswith(" Sin tiempo, quedan para la próxima vez: 1.")

    asked.clear()
    reconcile(seconds=60)
    assert asked == [third, first]


def test_run_without_a_limit_checks_everything(three_open_payments, asked):
    before = list(Order.objects.values_list("updated_at", flat=True))

    assert reconcile().postponed == 0

    assert asked == three_open_payments
    assert not Payment.objects.filter(checked_at=None).exists()
    # A check does not change the order.
    assert list(Order.objects.values_list("updated_at", flat=True)) == before


def test_run_ends_when_the_circuit_breaker_is_open(three_open_payments, sandbox, settings):
    settings.STRIPE_BREAKER_FAILURES = 1
    client.cache_clear()
    sandbox.process.fault(calls="*", caller="server", do="error_500")

    found = reconcile()

    # The list of refused cards fails, which opens the breaker. It refuses the calls about the first
    # payment, the first order's customer and the list of charges.
    assert (found.problems, found.postponed) == (4, 2 + 2)


def test_cart_that_cannot_expire_does_not_keep_the_others(api, sandbox, monkeypatch, caplog):
    subject = make_subject()
    for email in ("ana@example.com", "bruno@example.com"):
        api.checkout(checkout_body(whole(subject), total="182.40", email=email))
    Payment.objects.update(status="canceled")
    Order.objects.update(created_at=timezone.now() - CART_LIFE - timedelta(minutes=1))
    broken, expire = Order.objects.earliest("pk").pk, module.expire

    def fails(*, order_id):
        if order_id == broken:
            raise ValueError
        return expire(order_id=order_id)

    monkeypatch.setattr(module, "expire", fails)
    found = reconcile(recent_only=True)

    assert (found.expired, found.errors) == (1, 1)
    assert f"order {broken} could not be changed" in caplog.text
