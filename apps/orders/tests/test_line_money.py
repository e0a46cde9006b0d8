"""What was paid for each line and what is left of it: refunds of lines, and of free amounts."""

from uuid import uuid4

import pytest
from django.db import transaction

from apps.core.errors import AcademyError
from apps.orders.checkout.place import place
from apps.orders.checkout.request import Checkout
from apps.orders.ledger.lines import order_money
from apps.orders.ledger.payments import ConfirmedPayment, record_payment
from apps.orders.models import Refund
from apps.orders.models.statuses import RefundStatus
from apps.orders.offer.cart import CheckoutItem
from apps.orders.refunds.available import refundable_cents
from apps.orders.refunds.effects import RefundRequest
from apps.orders.refunds.record import ReportedRefund, record_refunds
from apps.orders.refunds.request import OutOfDate, RefundRefused, reject_refund, request_refund
from apps.orders.settlement.mark_paid import mark_paid
from apps.pricing.payment_type import PaymentType
from tests.helpers.factories import make_subject
from tests.helpers.parallel import in_parallel
from tests.helpers.refunds import make_clerk

pytestmark = pytest.mark.django_db


@pytest.fixture
def clerk():
    return make_clerk()


@pytest.fixture
def order():
    """Three subjects of 192 € with all discounts at 502,20 €, paid."""
    subjects = [make_subject(name) for name in ("Micro", "Macro", "Derecho")]
    return paid(subjects, 50_220)


def paid(subjects, cents):
    order = place(
        Checkout(
            email="bruno@example.com",
            phone="+34600111222",
            payment_type=PaymentType.FULL,
            items=tuple(CheckoutItem(subject.pk) for subject in subjects),
            expected_total_cents=cents,
            accepted=frozenset({"terms", "privacy", "adult", "withdrawal"}),
        )
    ).order
    return mark_paid(order_id=order.pk, payment=ConfirmedPayment("pi_1", cents), actor="Stripe")


def ask(order, clerk, cents, *lines, seen=None):
    """Request a refund, as the refund page does before Stripe is called."""
    return request_refund(
        order_id=order.pk,
        request=RefundRequest(cents, "Error", line_ids=frozenset(line.pk for line in lines)),
        batch=uuid4().hex,
        user=clerk,
        seen_cents=refundable_cents(order) if seen is None else seen,
    )


def answer(refund_id, status=RefundStatus.SUCCEEDED):
    refund = Refund.objects.get(pk=refund_id)
    report = ReportedRefund(f"re_{refund_id}", refund.amount_cents, status, refund.key_id)
    record_refunds(payment_id=refund.payment_id, reports=[report], provider="Stripe")


def left(order):
    return [row.left for row in order_money(order).lines]


def test_lines_add_up_to_what_was_paid_and_to_what_is_left(order, clerk):
    money = order_money(order)
    assert [row.paid for row in money.lines] == [16_740] * 3
    assert sum(left(order)) == refundable_cents(order) == 50_220

    first, second, third = order.lines.all()
    ask(order, clerk, 100)
    assert left(order) == [16_706, 16_707, 16_707]
    ask(order, clerk, 16_706, first)
    assert left(order) == [0, 16_707, 16_707]
    ask(order, clerk, 1_000, second)
    assert left(order) == [0, 15_707, 16_707]
    assert [row.is_refunded for row in order_money(order).lines] == [True, True, False]
    assert sum(left(order)) == refundable_cents(order)
    ask(order, clerk, 16_707, third)
    assert left(order) == [0, 15_707, 0]
    ask(order, clerk, 15_707)
    assert left(order) == [0, 0, 0]


def test_line_is_refunded_once_and_again_after_a_rejection(order, clerk):
    first, second, _ = order.lines.all()
    (refund_id,) = ask(order, clerk, 16_740, first)

    with pytest.raises(RefundRefused, match="ya está devuelto"):
        ask(order, clerk, 100, first)
    with pytest.raises(RefundRefused, match="ya está devuelto"):
        ask(order, clerk, 16_740, first, second)
    reject_refund(refund_id=refund_id, problem="No", provider="Stripe", is_watched=True)

    assert left(order) == [16_740] * 3
    (refund_id,) = ask(order, clerk, 16_740, first)
    answer(refund_id)
    assert left(order) == [0, 16_740, 16_740]


def test_line_whose_refund_the_bank_sent_back_can_be_refunded_again(order, clerk):
    first, *_ = order.lines.all()
    (refund_id,) = ask(order, clerk, 16_740, first)
    answer(refund_id)
    answer(refund_id, RefundStatus.FAILED)

    assert left(order) == [16_740] * 3
    (again,) = ask(order, clerk, 16_740, first)
    assert list(Refund.objects.get(pk=again).lines.all()) == [first]


def test_no_more_than_was_paid_for_the_ticked_lines_is_refunded(order, clerk):
    first, second, _ = order.lines.all()

    with pytest.raises(RefundRefused, match="se pueden devolver 167,40"):
        ask(order, clerk, 16_741, first)
    with pytest.raises(RefundRefused, match="se pueden devolver 334,80"):
        ask(order, clerk, 33_481, first, second)
    assert not Refund.objects.exists()


def test_money_that_was_paid_twice_is_refunded_before_lines(order, clerk):
    with transaction.atomic():
        again = ConfirmedPayment("pi_2", 50_220)
        record_payment(order, None, again, flag_reason="Pagado dos veces")
    first, *_ = order.lines.all()
    assert order_money(order).excess_left == 50_220

    with pytest.raises(RefundRefused, match=r"502,20.€ de más"):
        ask(order, clerk, 16_740, first)
    ask(order, clerk, 50_220)

    assert left(order) == [16_740] * 3
    assert order_money(order).excess_left == 0
    ask(order, clerk, 16_740, first)
    assert left(order) == [0, 16_740, 16_740]


def test_all_that_was_paid_for_an_order_without_lines_is_excess(order):
    order.lines.all().delete()

    assert order_money(order).lines == []
    assert order_money(order).excess_left == 50_220


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_parallel_refunds_of_one_line_refund_it_once(order):
    """Two clerks who both saw the line as unrefunded; their order has money for both refunds."""
    first, *_ = order.lines.all()
    clerks = [make_clerk(name) for name in ("carla", "diego", "eva", "fran")]

    def refund():
        clerk = clerks.pop()
        try:
            return ask(order, clerk, 16_740, first, seen=50_220)
        except (OutOfDate, RefundRefused) as refusal:
            return refusal

    results = in_parallel(refund, 4)

    made = [result for result in results if isinstance(result, list)]
    assert len(made) == 1
    assert all(isinstance(result, list | AcademyError) for result in results)
    assert Refund.objects.count() == 1
    assert left(order) == [0, 16_740, 16_740]
