"""Concurrent and killed runs of `charge_instalments` charge each instalment once.

On PostgreSQL, with real processes and kill -9, against the sandbox made slow.
"""

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from itertools import count

import pytest
import stripe
import time_machine
from django.db import transaction
from django.utils import timezone

from apps.core.models import Mail
from apps.orders.models import Instalment, InstalmentAttempt, Order, Payment
from apps.payments.plan.charge_due import charge_instalments
from tests.helpers.commands import manage, shoot, somebody_waits_for_a_lock
from tests.helpers.factories import checkout_body, make_subject, whole
from tests.helpers.parallel import in_parallel
from tests.helpers.plans import charges, link_of
from tests.helpers.shop import Api
from tools.stripe_sandbox.testing import wait_until

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("audited"),
]
CREATE = "POST /v1/payment_intents"
LIST = "GET /v1/payment_intents"
CANCEL = "POST /v1/payment_intents/*/cancel"


@pytest.fixture
def plan(api, sandbox):
    """A plan whose second instalment is due today, by the real clock that processes have."""
    return due_plan(api, sandbox)


def due_plan(api: Api, sandbox, **changes: object) -> Order:
    body = checkout_body(
        whole(make_subject(price="100.00")), total="100.00", payment_type="installment", **changes
    )
    placed = api.checkout(body)
    assert sandbox.confirm(placed["client_secret"]) == ""
    assert api.post(
        "complete-payment", {"payment_intent_id": placed["payment_intent_id"]}
    )[0] == 200  # fmt: skip
    order = Order.objects.get(pk=placed["order_id"])
    order.instalments.filter(number=2).update(
        due_on=timezone.localdate(), charge_on=timezone.localdate()
    )
    return order


@pytest.fixture
def fault(sandbox):
    yield sandbox.process.fault
    sandbox.process.control("DELETE", "faults")
    wait_until(lambda: calls_under_way(sandbox) == 0, seconds=60)


def test_instalments_are_charged_while_the_listing_of_sessions_fails(plan, sandbox, fault):
    fault(calls="GET /v1/checkout/sessions", do="error_500")

    assert charge_instalments().charged == 1
    assert charges(sandbox, plan) == [3334, 3333]


def a_runner(sandbox):
    """`manage.py charge_instalments` as a process of its own, killed at the end."""
    return manage(
        "charge_instalments",
        env={
            "STRIPE_API_BASE": sandbox.process.url,
            "STRIPE_SECRET_KEY": sandbox.process.secret_key,
            "STRIPE_PUBLISHABLE_KEY": sandbox.process.publishable_key,
            "STRIPE_WEBHOOK_SECRET": "whsec_not_used_by_this_command",
            "STRIPE_TIMEOUT": "60",
        },
    )


def calls_under_way(sandbox) -> int:
    return int(sandbox.process.control("GET", "state")["calls"])


def struck(sandbox) -> int:
    faults = sandbox.process.control("GET", "faults")
    rows = faults["faults"] if isinstance(faults, dict) else faults
    return sum(row["struck"] for row in rows)


def run_after_the_lease() -> None:
    """Two more runs, after the lease of the killed runner has expired."""
    for minutes in (6, 12):
        with time_machine.travel(timezone.now() + timedelta(minutes=minutes), tick=False):
            charge_instalments()


def assert_charged_once(sandbox, order: Order) -> None:
    assert charges(sandbox, order) == [3334, 3333]
    assert list(order.instalments.order_by("number").values_list("status", flat=True)) == [
        "paid", "paid", "due",
    ]  # fmt: skip
    assert Payment.objects.filter(order=order, status="succeeded").count() == 2
    assert not Payment.objects.exclude(flag="").exists()
    assert Mail.objects.filter(template="instalment_paid").count() == 1


@pytest.mark.parametrize(
    "trouble",
    [
        {"calls": LIST, "do": "slow", "seconds": 5},
        {"calls": CREATE, "do": "timeout_before", "seconds": 5},
        {"calls": CREATE, "do": "timeout_after", "seconds": 5},
    ],
    ids=["while it looks", "before the charge", "after the charge"],
)
def test_charge_is_made_once_when_the_runner_is_killed_while_waiting_for_stripe(
    sandbox, plan, fault, trouble
):
    fault(**trouble, nth=1)
    with a_runner(sandbox) as process:
        wait_until(lambda: struck(sandbox) == 1, seconds=60)
        shoot(process)
    assert Instalment.objects.get(order=plan, number=2).leased_until is not None
    # The lease of the killed runner has not expired, so no other runner takes the instalment.
    charge_instalments()
    assert Payment.objects.filter(status="succeeded").count() == 1

    run_after_the_lease()

    assert_charged_once(sandbox, plan)


def test_charge_is_made_once_when_it_reaches_stripe_after_its_runner_was_killed(
    sandbox, plan, fault
):
    fault(calls=CREATE, do="slow", seconds=4, nth=1)
    with a_runner(sandbox) as process:
        wait_until(lambda: struck(sandbox) == 1, seconds=60)
        shoot(process)

    # The next run starts while the first call is still in progress.
    run_after_the_lease()
    # The killed runner's call ends too, under the same idempotency key.
    wait_until(lambda: calls_under_way(sandbox) == 0, seconds=60)

    assert_charged_once(sandbox, plan)


def test_charge_is_made_once_when_the_runner_is_killed_before_recording_it(sandbox, plan, fault):
    fault(calls=CREATE, do="slow", seconds=1.5, nth=1)
    with a_runner(sandbox) as process:
        wait_until(lambda: struck(sandbox) == 1, seconds=60)
        with transaction.atomic():
            # The order is locked when the answer comes, so the runner cannot record the charge.
            Order.objects.select_for_update().get(pk=plan.pk)
            wait_until(lambda: len(charges(sandbox, plan)) == 2, seconds=60)
            wait_until(somebody_waits_for_a_lock, seconds=60)
            shoot(process)
    assert InstalmentAttempt.objects.get().outcome == "started"

    run_after_the_lease()

    assert_charged_once(sandbox, plan)


def test_charge_is_made_once_when_the_runner_is_killed_while_canceling_a_declined_one(
    sandbox, plan, fault
):
    control = sandbox.process.control
    control("POST", f"payment_methods/{plan.card_reference}", {"refuse": "insufficient_funds"})
    fault(calls=CANCEL, do="timeout_before", seconds=5, nth=1)
    with a_runner(sandbox) as process:
        wait_until(lambda: struck(sandbox) == 1, seconds=60)
        shoot(process)
    control("POST", f"payment_methods/{plan.card_reference}", {"refuse": None})

    run_after_the_lease()
    assert charges(sandbox, plan) == [3334]
    with time_machine.travel(timezone.now() + timedelta(days=3), tick=False):
        charge_instalments()

    outcomes = InstalmentAttempt.objects.order_by("number").values_list("outcome", flat=True)
    assert list(outcomes) == ["refused", "succeeded"]
    assert Mail.objects.filter(template="instalment_unpaid").count() == 1
    assert_charged_once(sandbox, plan)
    statuses = Counter(payment["status"] for payment in sandbox.payments(plan.customer_reference))
    assert statuses == {"succeeded": 2, "canceled": 1}


def test_two_concurrent_runners_charge_once(sandbox, plan, fault):
    fault(calls=CREATE, do="slow", seconds=1)
    with a_runner(sandbox) as one, a_runner(sandbox) as other:
        assert {one.wait(timeout=90), other.wait(timeout=90)} == {0}

    assert_charged_once(sandbox, plan)


def test_eight_concurrent_runners_charge_each_of_three_plans_once(api, sandbox):
    orders = [
        due_plan(api, sandbox, email=f"alumna{number}@example.com", phone=f"+34600000{number:03}")
        for number in range(3)
    ]

    in_parallel(charge_instalments, 8)
    run_after_the_lease()

    for order in orders:
        assert charges(sandbox, order) == [3334, 3333]
    assert Payment.objects.filter(status="succeeded").count() == 6
    assert not Payment.objects.exclude(flag="").exists()
    assert InstalmentAttempt.objects.count() == 3


def test_concurrent_runners_and_payment_by_hand_charge_once(sandbox, plan):
    turns = count()

    def act() -> str:
        if next(turns) % 2:
            charge_instalments()
            return ""
        status, answer = Api().post(
            "instalments/pay", {**link_of(plan), "number": 2, "what": "next"}
        )
        assert status in (200, 409), answer
        return str(answer.get("client_secret", "")) if status == 200 else ""

    secrets = {secret for secret in in_parallel(act, 8) if secret}

    assert all(isinstance(secret, str) for secret in secrets), secrets
    for secret in secrets:
        # A payment that a runner has canceled cannot be confirmed.
        with suppress(stripe.InvalidRequestError):
            sandbox.confirm(secret)
    with time_machine.travel(timezone.now() + timedelta(hours=2), tick=False):
        charge_instalments()
    run_after_the_lease()
    assert_charged_once(sandbox, plan)
