"""Reconciliation asks Stripe about open payments and repairs what was lost."""

import json
from datetime import timedelta
from time import monotonic

import pytest
import time_machine
from django.core.management import call_command
from django.utils import timezone

from apps.orders.models import Order, Payment
from apps.payments import jobs
from apps.payments.events import reconcile
from apps.payments.stripe import transport
from tests.helpers.completion import (
    again,
    assert_paid_once,
    deliver,
    event_body,
    open_at_provider,
    reference_of,
)
from tests.helpers.factories import checkout_body, make_promo, make_subject, whole

pytestmark = pytest.mark.django_db


def test_frequent_job_checks_payments_of_the_last_day_and_nightly_job_checks_all(sandbox, placed):
    sandbox.confirm(placed["client_secret"])
    two_days_ago = timezone.now() - timedelta(days=2)
    Order.objects.update(updated_at=two_days_ago)
    Payment.objects.update(created_at=two_days_ago)

    assert jobs.reconcile_payments() == ""
    assert Order.objects.get().status == "cart"

    assert jobs.reconcile_all_payments().startswith("Eventos tratados: 0. Pagos aclarados: 1.")
    assert Order.objects.get().status == "paid"


def test_reconciliation_processes_an_event_that_the_worker_did_not(
    api, sandbox, placed, monkeypatch
):
    sandbox.confirm(placed["client_secret"])
    deliver(api, event_body("payment_intent.succeeded", placed["payment_intent_id"]))
    Payment.objects.all().delete()  # As if the payment was never stored.

    with time_machine.travel(timezone.now() + timedelta(minutes=3)):
        call_command("reconcile_payments")

    assert_paid_once(placed["order_id"])


def test_reconciliation_cancels_the_payment_and_releases_its_promo_code_after_30_minutes(
    api, sandbox
):
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


def test_reconciliation_keeps_the_promo_code_of_a_confirmed_payment(api, sandbox):
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


def test_repeated_checkout_adopts_a_payment_that_was_not_stored(api, sandbox, mode):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    Payment.objects.all().delete()

    second = api.checkout(again(first, body))

    assert reference_of(second) == reference_of(first)
    assert open_at_provider(sandbox, mode) == list(reference_of(first).values())


def test_checkout_opens_a_new_payment_if_stripe_does_not_know_the_old_one(api, sandbox, mode):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    sandbox.forget_everything()

    second = api.checkout(again(first, body))

    assert reference_of(second) != reference_of(first)
    assert open_at_provider(sandbox, mode) == list(reference_of(second).values())
    assert Payment.objects.filter(status="open").count() == 1
    sandbox.pay(second)
    api.post("complete-payment", reference_of(second))
    assert_paid_once(first["order_id"])


def test_reconciliation_continues_after_a_malformed_event(api, sandbox, placed):
    sandbox.confirm(placed["client_secret"])
    deliver(
        api, json.dumps({**json.loads(event_body("payment_intent.succeeded", "x")), "data": {}})
    )

    with time_machine.travel(timezone.now() + timedelta(minutes=3)):
        call_command("reconcile_payments")

    assert_paid_once(placed["order_id"])


def test_refused_cards_take_a_share_of_the_time_of_a_run(monkeypatch, placed):
    order, left = Order.objects.get(pk=placed["order_id"]), []
    clock = [monotonic()]
    monkeypatch.setattr(reconcile, "monotonic", lambda: clock[0])
    monkeypatch.setattr(reconcile, "refusals_since", lambda since: [])
    monkeypatch.setattr(reconcile, "count_refused_cards", lambda *args, **kwargs: [order] * 3)

    def stop_slowly(order):
        left.append(transport._seconds_left())
        clock[0] += 15

    monkeypatch.setattr(reconcile, "stop_card_testing", stop_slowly)
    findings = reconcile.reconcile(seconds=100)

    assert (len(left), findings.postponed) == (2, 1)
    assert all(0 < seconds <= 20 for seconds in left)


def test_reconciliation_continues_after_an_unforeseen_error_with_one_payment(
    api, sandbox, placed, monkeypatch
):
    body = checkout_body(whole(make_subject("Física")), total="182.40", email="ana@example.com")
    other = api.checkout({**body, "phone": "+34600111111"})
    sandbox.confirm(other["client_secret"])
    retrieve = reconcile.retrieve_payment

    def retrieve_or_fail(row):
        if row.order_id == placed["order_id"]:
            raise RuntimeError("unforeseen")
        return retrieve(row)

    monkeypatch.setattr(reconcile, "retrieve_payment", retrieve_or_fail)
    findings = reconcile.reconcile()

    assert (findings.payments, findings.problems, findings.errors) == (1, 0, 1)
    assert Order.objects.get(pk=other["order_id"]).status == "paid"
