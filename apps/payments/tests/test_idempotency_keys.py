"""Idempotency keys: a repeated call to Stripe has one effect, whether or not it was answered."""

import pytest
from django.core.management.color import no_style
from django.db import connection

from apps.orders.models import Instalment, Order, Payment
from apps.orders.plan.attempts import charge_key
from apps.orders.privacy import delete_orders
from apps.payments.stripe.client import ProviderError, client
from apps.payments.stripe.intents import create_customer, create_payment
from apps.payments.stripe.keys import StoredKeys
from apps.payments.stripe.paid_contents import PaidContents
from apps.students.models import Student
from tests.helpers.factories import checkout_body, make_promo, make_subject, whole
from tests.helpers.plans import buy_in_instalments, charge_on, charges

pytestmark = pytest.mark.django_db


def start_numbers_again():
    """Delete all orders and reuse their numbers, as restoring an older database does."""
    delete_orders(Order.objects.all())
    tables = [
        {"table": model._meta.db_table, "column": "id"} for model in (Order, Instalment, Payment)
    ]
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_by_name_sql(no_style(), tables):
            cursor.execute(statement)


def make_order() -> Order:
    student = Student.objects.create(email="bruno@example.com", phone="+34600222222")
    return Order.objects.create(
        student=student, email=student.email, total_amount=10, payment_type="full_payment"
    )


@pytest.mark.usefixtures("audited")
@pytest.mark.parametrize("mode", ["embedded", "hosted"])
def test_reused_order_number_of_a_restored_database_has_a_new_idempotency_key(
    api, sandbox, settings, mode
):
    settings.STRIPE_CHECKOUT = mode
    make_promo()
    start_numbers_again()
    former = api.checkout(
        checkout_body(whole(make_subject()), total="164.16", promo_code="BIENVENIDA10")
    )
    start_numbers_again()

    placed = api.checkout(
        checkout_body(
            whole(make_subject("Física", "100.00")), total="85.50", promo_code="BIENVENIDA10"
        )
    )

    assert placed["order_id"] == former["order_id"]
    sandbox.pay(placed)
    name = "session_id" if mode == "hosted" else "payment_intent_id"
    assert api.post("complete-payment", {name: placed[name]})[1]["status"] == "paid"
    assert Payment.objects.get().amount == 85.50


def test_reused_instalment_number_of_a_restored_database_has_a_new_idempotency_key(api, sandbox):
    start_numbers_again()
    former = buy_in_instalments(api, sandbox)
    assert charge_on(20).charged == 1
    start_numbers_again()
    order = buy_in_instalments(api, sandbox, price="60.00", email="ana@example.com")

    assert charge_on(20).charged == 1

    assert order.pk == former.pk
    assert charges(sandbox, order) == [2000, 2000]


def test_order_of_a_restored_backup_gets_a_payment_although_its_key_was_used(api, sandbox):
    """The restored order has an older revision than the keys that Stripe has seen."""
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)
    known = {"recovery_order_id": first["order_id"], "token": first["token"]}
    other = {**body, "items": [whole(make_subject("Física", "100.00"))], "total_amount": 95}
    api.checkout({**other, **known})
    Payment.objects.all().delete()
    Order.objects.update(revision=1, content_hash="")

    third = {**body, "items": [whole(make_subject("Arte", "50.00"))], "total_amount": 47.5}
    placed = api.checkout({**third, **known})

    assert sandbox.payment(placed["payment_intent_id"])["amount"] == 4750
    customer = Order.objects.get().customer_reference
    payable = [one for one in sandbox.payments(customer) if one["status"] != "canceled"]
    assert [one["id"] for one in payable] == [placed["payment_intent_id"]]


def test_keys_of_two_orders_with_one_number_differ():
    order, other = Order(pk=7), Order(pk=7)

    assert charge_key(order, 2, 1) != charge_key(other, 2, 1)


def test_concurrent_calls_after_a_used_key_share_the_next_key():
    order = make_order()
    one = StoredKeys(order, "order-x-1")
    other = StoredKeys(Order.objects.get(), "order-x-1")
    assert (one.current, other.current) == ("order-x-1", "order-x-1")

    one.give_up()
    other.give_up()

    assert (one.current, other.current) == ("order-x-1-1", "order-x-1-1")
    assert StoredKeys(Order.objects.get(), "order-x-1").current == "order-x-1-1"


def test_payment_created_despite_a_stored_500_is_found_and_not_created_twice(sandbox):
    sandbox.process.fault(calls="POST /v1/payment_intents", do="error_500", work=True, nth=1)
    order = make_order()
    customer = create_customer(order_id=order.pk, email=order.email)

    def create():
        return create_payment(
            order_id=order.pk,
            revision=1,
            amount_cents=18240,
            customer=customer,
            email=order.email,
            keep_card=False,
            contents=PaidContents((), 18240),
            keys=StoredKeys(order, "order-x-1"),
        )

    with pytest.raises(ProviderError):
        create()
    found = create()

    assert [payment["id"] for payment in sandbox.payments(customer)] == [found.reference]


@pytest.mark.parametrize(
    ("mode", "call"),
    [
        ("embedded", "POST /v1/customers"),
        ("embedded", "POST /v1/payment_intents"),
        ("hosted", "POST /v1/coupons"),
        ("hosted", "POST /v1/checkout/sessions"),
    ],
)
def test_checkout_during_an_outage_makes_three_calls_and_works_right_after_it(
    api, sandbox, settings, mode, call
):
    settings.STRIPE_CHECKOUT = mode
    # Each of the failing checkouts calls Stripe.
    settings.STRIPE_BREAKER_FAILURES = 100
    client.cache_clear()
    make_promo()
    body = checkout_body(whole(make_subject()), total="164.16", promo_code="BIENVENIDA10")
    outage = sandbox.process.fault(calls=call, do="error_500")
    seen = 0
    for _ in range(8):
        status, answer = api.post("process-checkout", body)
        assert (status, answer["code"]) == (502, "provider_error")
        body |= {"recovery_order_id": answer["order_id"], "token": answer["token"]}
        faults = sandbox.process.control("GET", "faults")["faults"]
        assert 1 <= faults[0]["matched"] - seen <= 3
        seen = faults[0]["matched"]
    sandbox.process.control("DELETE", f"faults/{outage}")

    placed = api.checkout(body)

    sandbox.pay(placed)
    name = "session_id" if mode == "hosted" else "payment_intent_id"
    assert api.post("complete-payment", {name: placed[name]})[1]["status"] == "paid"
    assert Payment.objects.count() == 1
