"""Confirmed refunds that race charges of the same plan: real threads on PostgreSQL."""

from datetime import timedelta
from random import Random
from time import sleep
from uuid import uuid4

import pytest
import stripe
import time_machine
from django.utils import timezone

from apps.core.dates import today
from apps.core.errors import AcademyError
from apps.core.money import to_cents
from apps.orders.checkout.place import place
from apps.orders.checkout.request import Checkout
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order, Refund
from apps.orders.offer.cart import CheckoutItem
from apps.orders.refunds.available import refundable_cents
from apps.orders.refunds.effects import RefundRequest
from apps.orders.refunds.request import OutOfDate, RefundRefused
from apps.orders.settlement.mark_paid import mark_paid
from apps.orders.settlement.open_payments import keep_customer
from apps.payments.events.reconcile import reconcile
from apps.payments.plan.charge_due import charge_instalments
from apps.payments.plan.pay_by_hand import start_by_hand
from apps.payments.refunds.at_stripe import make_refund
from apps.payments.refunds.reconcile import reconcile_returns
from tests.helpers.factories import make_subject
from tests.helpers.parallel import in_parallel
from tests.helpers.plans import charges
from tests.helpers.refunds import make_clerk, refunded_at_provider

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("audited"),
]
RACES = 50


def sell_plan(sandbox, subject, number):
    """A plan of 33.34 € and twice 33.33 €, whose first instalment is paid; none is due yet."""
    order = place(
        Checkout(
            email=f"alumno{number}@example.com",
            phone=f"+346001{number:05}",
            payment_type="installment",
            items=(CheckoutItem(subject.pk),),
            expected_total_cents=10000,
            accepted=frozenset({"terms", "privacy", "adult", "withdrawal"}),
        )
    ).order
    provider = sandbox.process.client().v1
    customer = provider.customers.create({"email": order.email}).id
    keep_customer(order_id=order.pk, customer=customer)
    payment = provider.payment_intents.create(
        {
            "amount": 3334,
            "currency": "eur",
            "customer": customer,
            "payment_method": "pm_card_visa",
            "setup_future_usage": "off_session",
            "confirm": True,
            "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
            "metadata": {"order_id": str(order.pk), "revision": "1"},
        }
    )
    confirmed = ConfirmedPayment(payment.id, 3334, payment_method=str(payment.payment_method))
    return mark_paid(order_id=order.pk, payment=confirmed, actor="Stripe")


def confirm_refund(order, clerk, request):
    """Confirm a refund as a clerk does: preview again whenever the order has changed meanwhile."""
    while True:
        seen = refundable_cents(order)
        cents = request.get("amount_cents", seen)
        try:
            return make_refund(
                order_id=order.pk,
                request=RefundRequest(**{**request, "amount_cents": cents, "reason": "Error"}),
                batch=uuid4().hex,
                user=clerk,
                seen_cents=seen,
            )
        except (OutOfDate, RefundRefused):
            sleep(0.02)


def pay_by_hand(sandbox, order):
    try:
        payment = start_by_hand(
            order_id=order.pk, first=2, everything=order.pk % 2 == 0, networks={}
        )
    except AcademyError:
        return
    try:
        sandbox.confirm(payment.client_secret)
    except stripe.InvalidRequestError as error:
        # The refund has canceled the payment before the student confirmed it.
        if error.code != "payment_intent_unexpected_state":
            raise


def assert_over(sandbox, plan, *, is_whole):
    """No instalment of the plan is open, and payments after the refund were refunded too."""
    statuses = set(plan.instalments.values_list("status", flat=True))
    assert statuses <= {"paid", "canceled"}, plan.pk
    assert (plan.flag, plan.payments.open().exists()) == ("", False), plan.pk
    back = sum(refunded_at_provider(sandbox, plan))
    if is_whole:
        assert (plan.status, back) == ("refunded", sum(charges(sandbox, plan))), plan.pk
        return
    confirmed = Refund.objects.get(payment__order=plan, follows=None)
    late = plan.payments.filter(recorded_at__gt=confirmed.created_at)
    expected = 500 + sum(to_cents(payment.amount) for payment in late)
    assert (plan.status, back) == ("partially_refunded", expected), plan.pk


@pytest.mark.parametrize(
    "request_of", [{}, {"amount_cents": 500, "cancels_plan": True}], ids=["whole", "ends-plan"]
)
def test_confirmed_refund_wins_races_against_charges_and_payments(sandbox, settings, request_of):
    settings.REFUND_DAILY_LIMIT = 100_000
    clerk, subject, random = make_clerk(), make_subject(price="100.00"), Random(9)
    plans = [sell_plan(sandbox, subject, number) for number in range(RACES // 2)]
    slow = {"calls": "POST /v1/refunds", "caller": "server"}
    sandbox.process.fault(**slow, do="slow", seconds=0.1, probability=0.5, seed=1)
    sandbox.process.fault(**slow, do="timeout_after", seconds=0, probability=0.3, seed=2)
    sandbox.process.fault(**slow, do="timeout_before", seconds=0, probability=0.3, seed=3)

    for number, plan in enumerate(plans):
        plan.instalments.filter(number=2).update(charge_on=today(), due_on=today())
        rivals = [
            charge_instalments,
            lambda plan=plan: pay_by_hand(sandbox, plan),
        ]
        turns = [
            lambda plan=plan: confirm_refund(plan, clerk, request_of),
            *(rivals if number % 3 == 2 else rivals[number % 3 :][:1]),
        ]
        # On a busy machine one side may win all races: two plans have each side first.
        if number in (0, 3):
            for turn in reversed(turns) if number else turns:
                turn()
            continue
        delays = [random.uniform(0, 0.08) for _ in turns]
        starts = list(zip(turns, delays, strict=True))

        def run(starts=starts):
            turn, delay = starts.pop()
            sleep(delay)
            turn()

        results = in_parallel(run, len(turns))
        assert [result for result in results if result is not None] == []

    sandbox.process.control("DELETE", "faults")
    for minutes in (3, 6):
        with time_machine.travel(timezone.now() + timedelta(minutes=minutes)):
            reconcile()
            reconcile_returns()
    outcomes = {len(charges(sandbox, plan)) for plan in plans}
    for plan in Order.objects.all():
        assert_over(sandbox, plan, is_whole=not request_of)
    assert outcomes == {1, 2}, "refunds came first, and charges"
    with time_machine.travel(timezone.now() + timedelta(days=1)):
        assert charge_instalments().charged == 0
