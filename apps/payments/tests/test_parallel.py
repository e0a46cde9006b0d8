"""Where two can meet: real threads on PostgreSQL."""

from collections import Counter
from itertools import count
from typing import Any

import pytest

from academy.tests.factories import checkout_body, make_promo, make_subject, whole
from academy.tests.parallel import in_parallel
from academy.tests.shop import Api
from apps.classroom.models import Enrolment, Provisioning
from apps.core.models import Mail
from apps.orders.cart import CheckoutItem
from apps.orders.models import Order, Payment, Redemption
from apps.orders.payments import ConfirmedPayment, mark_paid
from apps.orders.place import Checkout, place
from apps.pricing.models import PromoCode

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def test_fifty_checkouts_at_once_on_a_code_with_one_use_give_one_use(standin):
    promo = make_promo(max_uses=1)
    subject = make_subject(price="200.00")

    numbers = count()

    def buy() -> tuple[int, str]:
        number = next(numbers)
        status, answer = Api().post(
            "process-checkout",
            checkout_body(
                whole(subject),
                total="171.00",
                promo_code="BIENVENIDA10",
                email=f"alumno{number}@example.com",
                phone=f"+346001{number:05}",
            ),
            REMOTE_ADDR=f"10.0.0.{number}",
        )
        return status, answer.get("code", "")

    answers = Counter(in_parallel(buy, 50))

    assert answers == {(200, ""): 1, (409, "promo_refused"): 49}
    promo.refresh_from_db()
    assert promo.uses_taken == 1
    assert Redemption.objects.count() == 1
    assert Order.objects.count() == 1


def test_thirty_reports_of_one_payment_give_one_of_everything(api, standin, work):
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    standin.confirm(placed["client_secret"])
    payment = ConfirmedPayment(placed["payment_intent_id"], 18240)

    numbers = count()

    def report() -> int:
        number = next(numbers)
        if number % 2:
            return Api().post(
                "complete-payment",
                {"payment_intent_id": payment.reference},
                REMOTE_ADDR=f"10.0.0.{number}",
            )[0]
        mark_paid(order_id=placed["order_id"], payment=payment, actor="Stripe")
        return 200

    assert set(in_parallel(report, 30)) == {200}
    work()

    order = Order.objects.get()
    assert order.status == "paid"
    assert order.events.filter(to_status="paid").count() == 1
    assert Payment.objects.count() == 1
    assert Provisioning.objects.count() == 1
    assert Enrolment.objects.count() == 1
    assert Counter(Mail.objects.values_list("template", "status")) == {
        ("order_confirmation", "sent"): 1,
        ("classroom_access", "sent"): 1,
    }


def test_twenty_clicks_on_one_order_open_one_payment(api, standin):
    body = checkout_body(whole(make_subject()), total="182.40")
    first = api.checkout({**body, "save_for_later": True})
    again = {**body, "recovery_order_id": first["order_id"], "token": first["token"]}

    answers = in_parallel(lambda: Api().post("process-checkout", again), 20)

    assert {status for status, _ in answers} <= {200, 409}
    assert len({a["payment_intent_id"] for status, a in answers if status == 200}) == 1
    assert Payment.objects.filter(status="open").count() == 1
    open_there = [
        payment
        for payment in standin.payments(Order.objects.get().customer_reference)
        if payment["status"] != "canceled"
    ]
    assert len(open_there) == 1


def test_two_tabs_with_different_carts_leave_one_payable_payment(api, standin):
    subjects = [make_subject(f"Asignatura {number}") for number in range(6)]
    first = api.checkout(checkout_body(whole(subjects[0]), total="182.40", save_for_later=True))

    numbers = count()

    def tab() -> int:
        number = next(numbers)
        return Api().post(
            "process-checkout",
            checkout_body(
                whole(subjects[number]),
                total="182.40",
                recovery_order_id=first["order_id"],
                token=first["token"],
            ),
            REMOTE_ADDR=f"10.0.0.{number}",
        )[0]

    assert set(in_parallel(tab, 6)) <= {200, 409}

    payments = standin.payments(Order.objects.get().customer_reference)
    assert len([p for p in payments if p["status"] != "canceled"]) <= 1
    assert Order.objects.get().lines.count() == 1


def test_orders_that_swap_the_same_two_codes_do_not_deadlock():
    codes = ["BIENVENIDA10", "OTOÑO10"]
    for code in codes:
        make_promo(code)
    subject = make_subject(price="200.00")

    def checkout(code: str, **changes: Any) -> Checkout:
        return Checkout(
            email="bruno@example.com",
            phone="+34600222222",
            payment_type="full_payment",
            items=(CheckoutItem(subject.pk),),
            expected_total_cents=17100,
            accepted=frozenset({"terms", "privacy", "adult", "withdrawal"}),
            promo_code=code,
            **changes,
        )

    # Placed, but their payments never opened: the provider was away.
    orders = [place(checkout(code)).order for code in codes]
    turns = count()

    def swap() -> int:
        mine = next(turns) % 2
        for turn in range(1, 21):
            place(
                checkout(
                    codes[(mine + turn) % 2],
                    order_id=orders[mine].pk,
                    token=orders[mine].auth_token,
                )
            )
        return mine

    assert sorted(in_parallel(swap, 2)) == [0, 1]
    assert list(PromoCode.objects.order_by("code").values_list("uses_taken", flat=True)) == [1, 1]
