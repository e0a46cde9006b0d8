"""Allowed status transitions (docs/rules.md, "Orders and their states"), and missing access."""

import pytest
from django.db import transaction

from apps.classroom.models import Provisioning
from apps.orders.ledger.history import flag
from apps.orders.ledger.states import TRANSITIONS, ImpossibleTransition, change_status
from apps.orders.models import Order
from apps.orders.reads import paid_without_access
from apps.students.models import Student
from tests.helpers.factories import make_subject
from tests.helpers.refunds import buy, make_clerk, refund

pytestmark = pytest.mark.django_db

ALLOWED = {
    ("cart", "paid"), ("cart", "paying"), ("cart", "expired"),
    ("paying", "paid"), ("paying", "overdue"), ("overdue", "paying"), ("overdue", "paid"),
    ("paid", "partially_refunded"), ("paid", "refunded"),
    ("paying", "partially_refunded"), ("paying", "refunded"),
    ("overdue", "partially_refunded"), ("overdue", "refunded"),
    ("partially_refunded", "refunded"),
    ("expired", "paid"), ("expired", "paying"),
}  # fmt: skip


def order_in(status):
    student, _ = Student.objects.get_or_create(email="ana@example.com")
    return Order.objects.create(
        student=student, status=status, payment_type="full_payment", total_amount=10
    )


@pytest.mark.parametrize("before", Order.Status.values)
@pytest.mark.parametrize("after", Order.Status.values)
def test_status_change_is_recorded_with_its_reason_or_refused(before, after):
    order = order_in(before)
    if (before, after) not in ALLOWED:
        with pytest.raises(ImpossibleTransition), transaction.atomic():
            change_status(order, after, kind="paid", actor="Ana", reason="prueba")
        order.refresh_from_db()
        assert order.status == before
        assert order.events.count() == 0
        return

    with transaction.atomic():
        change_status(order, after, kind="paid", actor="Ana", reason="prueba")

    order.refresh_from_db()
    event = order.events.get()
    assert order.status == after
    assert (event.actor, event.from_status, event.to_status, event.reason) == (
        "Ana", before, after, "prueba",
    )  # fmt: skip


def test_every_order_status_has_its_allowed_transitions():
    assert set(TRANSITIONS) == set(Order.Status)


def test_first_flag_stays_and_later_flags_are_added_to_the_history():
    order = order_in("paid")

    with transaction.atomic():
        flag(order, kind="payment_misfit", actor="Stripe", reason="Segundo pago")
        flag(order, kind="payment_misfit", actor="Stripe", reason="Tercer pago")

    order.refresh_from_db()
    assert order.flag == "Segundo pago"
    assert [event.reason for event in order.events.all()] == ["Segundo pago", "Tercer pago"]


@pytest.fixture
def order(api, sandbox):
    order = buy(api, sandbox, make_subject("Álgebra"))
    Provisioning.objects.update(status=Provisioning.Status.FAILED)
    return order


def test_order_without_access_is_shown_after_a_partial_refund(order):
    refund(order, make_clerk(), 500)

    order.refresh_from_db()
    assert order.status == "partially_refunded"
    assert list(paid_without_access()) == [order]


def test_order_is_not_shown_if_the_refund_has_withdrawn_all_its_access(order):
    refund(order, make_clerk(), 500, line_ids=frozenset(order.lines.values_list("pk", flat=True)))

    order.refresh_from_db()
    assert order.status == "partially_refunded"
    assert not paid_without_access().exists()
