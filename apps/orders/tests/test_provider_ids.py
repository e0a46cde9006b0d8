"""The provider's ids of an order: stored on its payments, offered by the order."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from apps.orders.models import Order, Payment
from apps.students.models import Student

pytestmark = pytest.mark.django_db


@pytest.fixture
def order():
    student = Student.objects.create(email="bruno@example.com", phone="+34600222222")
    return Order.objects.create(
        student=student,
        email=student.email,
        phone=student.phone,
        total_amount=Decimal("90.00"),
        payment_type="installment",
    )


def add_payment(order: Order, reference: str, status: str, *, days_ago: int = 0, **fields: str):
    payment = Payment.objects.create(
        order=order, reference=reference, amount=30, status=status, **fields
    )
    at = timezone.now() - timedelta(days=days_ago)
    rows = Payment.objects.filter(pk=payment.pk)
    rows.update(created_at=at, succeeded_at=at if status == "succeeded" else None)


def ids(order: Order) -> tuple[str, str]:
    return order.stripe_payment_intent_id, order.stripe_session_id


def test_order_without_payments_has_no_provider_ids(order):
    assert ids(order) == ("", "")


def test_order_offers_the_ids_of_its_latest_canceled_payment(order):
    add_payment(order, "pi_old", "canceled", days_ago=3)
    add_payment(order, "pi_new", "canceled", days_ago=1)

    assert ids(order) == ("pi_new", "")


def test_open_payment_goes_before_a_canceled_one(order):
    add_payment(order, "pi_open", "open", days_ago=3)
    add_payment(order, "pi_canceled", "canceled", days_ago=1)

    assert ids(order) == ("pi_open", "")


def test_hosted_page_has_no_payment_id_before_it_is_paid(order):
    add_payment(order, "cs_page", "open", session="cs_page")

    assert ids(order) == ("", "cs_page")


def test_first_succeeded_payment_goes_before_all_others(order):
    add_payment(order, "pi_misfit", "succeeded", days_ago=9, flag="Importe inesperado")
    add_payment(order, "pi_first", "succeeded", days_ago=8, session="cs_first")
    add_payment(order, "pi_second", "succeeded", days_ago=5)
    add_payment(order, "pi_open", "open")

    assert ids(order) == ("pi_first", "cs_first")


def test_provider_ids_of_many_orders_take_one_query_for_their_payments(
    order, django_assert_num_queries
):
    add_payment(order, "pi_open", "open")

    with django_assert_num_queries(2):
        read = [ids(row) for row in Order.objects.prefetch_related("payments")]

    assert read == [("pi_open", "")]


@pytest.mark.parametrize("term", ["cs_test_page", "pi_test_paid", "ORD-est_paid"])
def test_staff_find_an_order_by_either_provider_id(order, admin_client, term):
    add_payment(order, "pi_test_paid", "succeeded", session="cs_test_page")
    add_payment(order, "pi_test_other", "canceled", session="cs_test_page_other")

    answer = admin_client.get("/admin/orders/order/", {"q": term})

    assert list(answer.context["cl"].queryset) == [order]


def test_staff_see_both_provider_ids_of_an_order(order, admin_client):
    add_payment(order, "pi_paid", "succeeded", session="cs_page")

    page = admin_client.get(f"/admin/orders/order/{order.pk}/change/").content.decode()

    for label, value in (("Pago", "pi_paid"), ("Sesión de pago", "cs_page")):
        assert f"<label>{label}:</label>" in page
        assert f'<div class="readonly">{value}</div>' in page
