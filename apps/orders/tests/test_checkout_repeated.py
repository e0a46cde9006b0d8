"""Repeated checkouts of one cart lead to one order and one open payment."""

from uuid import uuid4

import pytest

from apps.orders.models import Order, Payment
from tests.helpers.factories import (
    checkout_body,
    make_promo,
    make_subject,
    whole,
)

pytestmark = pytest.mark.django_db


def test_retry_with_the_order_s_token_answers_with_the_same_order_and_payment(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)

    second = api.checkout({**body, "recovery_order_id": first["order_id"], "token": first["token"]})

    assert second["payment_intent_id"] == first["payment_intent_id"]
    assert second["client_secret"] == first["client_secret"]
    assert Order.objects.count() == 1
    assert Payment.objects.count() == 1


def test_checkout_of_a_changed_cart_cancels_the_open_payment_and_opens_a_new_one(api, sandbox):
    micro, derecho = make_subject(), make_subject("Derecho", "240.00")
    first = api.checkout(checkout_body(whole(micro), total="182.40"))

    second = api.checkout(
        checkout_body(
            whole(micro),
            whole(derecho),
            total="395.40",
            recovery_order_id=first["order_id"],
            token=first["token"],
        )
    )

    assert second["order_id"] == first["order_id"]
    assert sandbox.payment(first["payment_intent_id"])["status"] == "canceled"
    assert sandbox.payment(second["payment_intent_id"])["amount"] == 39540
    order = Order.objects.get()
    assert order.lines.count() == 2
    assert [p.status for p in order.payments.order_by("pk")] == ["canceled", "open"]


def test_retry_with_a_wrong_token_is_not_found(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout(body)

    status, answer = api.post(
        "process-checkout", {**body, "recovery_order_id": first["order_id"], "token": "x" * 43}
    )

    assert (status, answer["error"]) == (404, "Orden no encontrada o enlace inválido")


def test_repeated_order_key_answers_with_the_same_order_and_payment(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40", order_key=str(uuid4()))
    first = api.checkout(body)
    second = api.checkout(body)

    assert (second["order_id"], second["token"]) == (first["order_id"], first["token"])
    assert second["payment_intent_id"] == first["payment_intent_id"]
    assert (Order.objects.count(), Payment.objects.count()) == (1, 1)
    # The key leads to the same order after the cart has changed, too.
    other = make_subject("Física", "100.00")
    third = api.checkout({**body, "items": [whole(other)], "total_amount": 95})
    assert third["order_id"] == first["order_id"]
    assert Order.objects.get().lines.get().subject == other


def test_new_order_key_or_none_creates_a_new_order(api, sandbox):
    body = checkout_body(whole(make_subject()), total="182.40")
    keys = [str(uuid4()), str(uuid4()), None, None]

    assert len({api.checkout({**body, "order_key": key})["order_id"] for key in keys}) == 4


def test_order_key_of_a_paid_order_creates_no_second_order(api, sandbox):
    make_promo("GRATIS100", value="100")
    body = checkout_body(
        whole(make_subject()), total="0", promo_code="GRATIS100", order_key=str(uuid4())
    )
    paid = api.checkout(body)

    repeated = api.checkout(body)
    other_cart = {**body, "items": [whole(make_subject("Física"))]}
    status, answer = api.post("process-checkout", other_cart)

    assert repeated["payment_intent_id"] == paid["payment_intent_id"]
    assert (status, answer["code"]) == (409, "already_paid")
    assert paid["payment_intent_id"] not in str(answer)
    assert Order.objects.count() == 1
