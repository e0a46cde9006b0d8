"""Whoever locks several orders does so in one order, so that no two wait for each other."""

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from apps.orders.by_staff.merge_students import CannotMerge, merge_students
from apps.orders.ledger.history import attend_flags
from apps.orders.ledger.locks import lock_orders
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Dispute, Order
from apps.orders.refunds import disputes
from apps.orders.settlement import mark_paid as payment
from apps.orders.settlement.mark_paid import mark_paid
from apps.orders.tests.test_staff_limits import make_order
from apps.students.models import Student
from apps.students.services import change_email
from tests.helpers.factories import make_subject
from tests.helpers.parallel import while_it_waits
from tests.security.test_giving_away import exchange_line_of

pytestmark = pytest.mark.django_db


def paid_order(owner, reference="pi_1", **more):
    order = make_order(owner, **more)
    mark_paid(order_id=order.pk, payment=ConfirmedPayment(reference, 182_40), actor="Stripe")
    return Order.objects.get(pk=order.pk)


def test_unpaid_orders_are_locked_first_and_paid_ones_as_they_were_paid():
    owner = User.objects.create_superuser("olga")
    names = ("Micro", "Macro", "Derecho", "Lengua")
    first, second, third, fourth = (
        make_order(owner, subject=make_subject(name)).pk for name in names
    )
    for number in (fourth, first):
        payment_of_it = ConfirmedPayment(f"pi_{number}", 182_40)
        mark_paid(order_id=number, payment=payment_of_it, actor="Stripe")
    with transaction.atomic():
        locked = lock_orders(Order.objects.all())
    assert [order.pk for order in locked] == [second, third, fourth, first]


def new_address(order):
    return lambda: change_email(student_id=order.student_id, email="nueva@example.com")


def merge(order):
    other = Student.objects.create(email="otra@example.com")
    return lambda: merge_students(merged_id=order.student_id, into_id=other.pk, actor="diego")


def attended(order):
    Order.objects.update(flag="Aviso")
    ids = list(Order.objects.values_list("pk", flat=True))
    return lambda: attend_flags(ids, actor="diego")


ACTS = pytest.mark.parametrize("act", [new_address, merge, attended])


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@ACTS
def test_payment_of_an_exchange_waits_for_no_act_that_waits_for_it(monkeypatch, act):
    owner = User.objects.create_superuser("olga")
    old = paid_order(owner)
    new = exchange_line_of(old, owner, make_subject("Cara", price="300.00"))
    end = while_it_waits(monkeypatch, payment, "locked_exchange", act(old))

    paid = ConfirmedPayment("pi_2", new.total_cents)
    mark_paid(order_id=new.pk, payment=paid, actor="Stripe")
    assert end() == []

    after = Order.objects.get(pk=new.pk)
    assert (after.status, after.by_staff.exchanged_at is None) == ("paid", False)
    if act is not attended:
        assert set(Order.objects.values_list("email", flat=True)) == {after.student.email}


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@ACTS
def test_dispute_of_exchanged_money_waits_for_no_act_that_waits_for_it(monkeypatch, act):
    owner = User.objects.create_superuser("olga")
    old = paid_order(owner)
    new = exchange_line_of(old, owner, make_subject("Otra"))
    assert Order.objects.get(pk=new.pk).status == "paid"
    end = while_it_waits(monkeypatch, disputes, "_paid_with_money_of", act(old))

    report = disputes.ReportedDispute(
        reference="dp_1", amount_cents=182_40, status=Dispute.Status.OPEN, reason="Fraude",
        opened_at=timezone.now(),
    )  # fmt: skip
    disputes.record_dispute(payment_id=old.payments.get().pk, report=report, provider="Stripe")
    # No student is merged while a dispute is open.
    assert [type(error) for error in end()] == ([CannotMerge] if act is merge else [])
    assert new.events.filter(kind="dispute_opened").exists()
