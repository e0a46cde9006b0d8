"""Promo codes at the checkout, and orders that they make free."""

import pytest

from apps.core.models import Mail
from apps.orders.models import Order, Payment, PromoUse
from apps.orders.settlement.mark_paid import complete_free
from tests.helpers.factories import (
    BRUNO,
    checkout_body,
    know_device,
    make_promo,
    make_subject,
    single,
    whole,
)
from tests.helpers.shop import Api

pytestmark = pytest.mark.django_db


def test_checkout_with_a_total_of_zero_is_completed_without_a_card(api, sandbox, work):
    make_promo("GRATIS100", value="100")
    body = checkout_body(whole(make_subject()), total="0", promo_code="gratis100")

    answer = api.checkout(body)

    assert answer["completed"] is True
    assert answer["payment_intent_id"].startswith("free_")
    assert len(answer["payment_intent_id"]) == len("free_") + 32
    assert answer["redirect"] == f"/success?payment_intent_id={answer['payment_intent_id']}"
    order = Order.objects.get()
    assert order.status == "paid"
    assert order.promo_uses.get().status == "used"
    status, again = api.post("complete-payment", {"payment_intent_id": answer["payment_intent_id"]})
    assert (status, again["status"]) == (200, "paid")


def test_repeated_completion_of_a_free_order_records_one_payment_and_no_flag(api, sandbox):
    make_promo("GRATIS100", value="100")
    body = checkout_body(whole(make_subject()), total="0", promo_code="gratis100")
    reference = api.checkout(body)["payment_intent_id"]
    order = Order.objects.get()

    again = complete_free(order_id=order.pk, revision=order.revision, actor="comprador")

    assert again == reference
    order.refresh_from_db()
    assert (order.status, order.flag) == ("paid", "")
    assert Payment.objects.get().reference == reference
    assert not Mail.objects.filter(template="staff_attention").exists()


def test_free_checkout_is_repeated_when_another_tab_has_changed_the_order(
    api, sandbox, monkeypatch
):
    make_promo("GRATIS100", value="100")
    subject = make_subject()
    placed = api.checkout(checkout_body(whole(subject), total="182.40", save_for_later=True))
    own = {"recovery_order_id": placed["order_id"], "token": placed["token"]}
    free = checkout_body(whole(subject), total="0", promo_code="GRATIS100", **own)
    dear = checkout_body(whole(subject), total="182.40", **own)

    def another_tab_is_faster(**arguments):
        monkeypatch.undo()
        api.checkout(dear)
        return complete_free(**arguments)

    monkeypatch.setattr("apps.payments.checkout.start.complete_free", another_tab_is_faster)
    answer = api.checkout(free)

    order = Order.objects.get()
    assert answer["completed"] is True
    assert (order.status, order.total_amount) == ("paid", 0)
    assert order.promo_uses.get(status="used").promo_code.code == "GRATIS100"
    assert set(order.payments.values_list("status", flat=True)) == {"canceled", "succeeded"}


def test_promo_code_use_is_reserved_at_checkout_and_released_when_the_code_is_removed(api, sandbox):
    promo = make_promo(max_uses=1)
    subject = make_subject(price="200.00")
    first = api.checkout(checkout_body(whole(subject), total="171.00", promo_code="bienvenida10"))
    assert first["discounts"][-1] == {"name": "Código promocional", "amount": 19.0}
    promo.refresh_from_db()
    assert promo.uses_taken == 1

    again = api.checkout(
        checkout_body(
            whole(subject),
            total="171.00",
            promo_code="BIENVENIDA10",
            recovery_order_id=first["order_id"],
            token=first["token"],
        )
    )
    assert again["payment_intent_id"] == first["payment_intent_id"]

    api.checkout(
        checkout_body(
            whole(subject),
            total="190.00",
            recovery_order_id=first["order_id"],
            token=first["token"],
        )
    )
    promo.refresh_from_db()
    assert promo.uses_taken == 0
    assert PromoUse.objects.get().status == "released"


def test_promo_code_whose_last_use_is_reserved_is_refused_to_other_buyers(api, sandbox):
    make_promo(max_uses=1)
    subject = make_subject(price="200.00")
    body = checkout_body(whole(subject), total="171.00", promo_code="BIENVENIDA10")
    api.checkout(body)

    status, answer = api.post("process-checkout", {**body, "email": "carla@example.com"})

    assert (status, answer["code"]) == (409, "promo_refused")
    assert answer["error"] == "Este código ya se ha usado el máximo de veces."
    assert Order.objects.count() == 1


def test_cart_with_a_buyers_phone_takes_no_use_of_the_buyer(api, sandbox):
    make_promo(max_uses_per_student=1)
    subject = make_subject(price="200.00")
    body = checkout_body(whole(subject), total="171.00", promo_code="BIENVENIDA10")
    api.checkout({**body, "email": "stranger@example.com"})

    assert api.post("process-checkout", body)[0] == 200


def test_promo_code_is_refused_to_a_student_who_has_no_use_left(api, sandbox):
    make_promo(max_uses_per_student=1)
    subject = make_subject(price="200.00")
    body = checkout_body(whole(subject), total="171.00", promo_code="BIENVENIDA10")
    placed = api.checkout(body)
    sandbox.confirm(placed["client_secret"])
    api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})

    status, answer = api.post("process-checkout", body)

    assert (status, answer["error"]) == (409, "Ya has usado este código.")


def test_free_order_with_a_buyers_phone_takes_no_use_of_theirs(api, sandbox):
    make_promo("UNAVEZ", kind="FIJO", value="55", max_uses_per_student=1)
    subject = make_subject()
    free = checkout_body(
        single(subject.lessons.first()), total="0.00", promo_code="UNAVEZ",
        email="nadie@example.com", phone=BRUNO["phone"],
    )  # fmt: skip
    assert api.checkout(free)["order_id"]

    buyer = Api()
    know_device(buyer.client, BRUNO["email"])
    placed = buyer.checkout(checkout_body(whole(subject), total="127.40", promo_code="UNAVEZ"))
    assert placed["amount"] == 127.4
