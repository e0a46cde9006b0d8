"""A friend's code takes its discount off one purchase of one person."""

from datetime import timedelta
from decimal import Decimal
from threading import Thread
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.utils import timezone

from apps.core.identity import email_identity, phone_identity
from apps.core.models import Mail
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order, Payment, PromoUse
from apps.orders.promo import uses
from apps.orders.promo.uses import FriendCodeInUse
from apps.orders.settlement.mark_paid import mark_paid
from apps.orders.settlement.open_payments import mark_canceled
from apps.payments.checkout import opening
from apps.payments.checkout.held_codes import TIME_TO_PAY_S
from apps.payments.checkout.start import REFUSED_BUYERS
from apps.payments.events.reconcile import reconcile
from apps.payments.report import report
from apps.payments.stripe.intents import PaymentIds, retrieve_payment
from apps.students.services import find_or_create_student
from tests.helpers.factories import checkout_body, know_device, make_promo, make_subject, whole
from tests.helpers.parallel import in_parallel
from tests.helpers.shop import Api
from tools.stripe_sandbox.testing import wait_until

PRICE = Decimal("182.40")  # 192 € less 5 % for one payment
WITH_CODE = PRICE - 15


@pytest.fixture
def friend_code(db):
    owner = find_or_create_student(email="ana@example.com", phone="+34600111111")
    return make_promo(
        "AMIGO-ANA22222", kind="FIJO", value="15", is_referral_code=True, student=owner
    )


def stranger() -> Api:
    """Another visitor than `api`."""
    api = Api()
    api.client = Client(REMOTE_ADDR="192.0.2.77")
    return api


def in_seconds(seconds: int) -> time_machine.travel:
    return time_machine.travel(timezone.now() + timedelta(seconds=seconds), tick=False)


def friend_body(**changes: Any) -> dict[str, Any]:
    return checkout_body(
        whole(make_subject()), total=WITH_CODE, promo_code="AMIGO-ANA22222", **changes
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ana.ruiz+1@googlemail.com", "AnaRuiz@gmail.com"),
        ("ana+tienda@example.com", "ana@example.com"),
    ],
)
def test_two_spellings_of_one_mailbox_have_one_identity(one, other):
    assert email_identity(one) == email_identity(other)


def test_dots_matter_outside_gmail():
    assert email_identity("ana.ruiz@example.com") != email_identity("anaruiz@example.com")


def test_zero_after_the_spanish_prefix_does_not_change_the_phone_identity():
    assert phone_identity("+340600123123") == phone_identity("+34 600 123 123") == "+34600123123"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "spelling",
    [{}, {"email": "bruno+2@example.com", "phone": "+34600999999"}],
    ids=["same address", "tagged address"],
)
def test_second_cart_takes_over_the_friend_code_of_the_first(
    api, sandbox, friend_code, audited, spelling
):
    first = api.checkout(friend_body())
    second = api.checkout(friend_body(**spelling))

    assert sandbox.payment(first["payment_intent_id"])["status"] == "canceled"
    assert PromoUse.objects.get(status="reserved").order_id == second["order_id"]
    friend_code.refresh_from_db()
    assert friend_code.uses_taken == 1
    assert list(Payment.objects.open().values_list("order_id", flat=True)) == [second["order_id"]]


@pytest.mark.django_db
def test_stranger_with_the_phone_of_a_buyer_takes_no_friend_code_over(
    api, sandbox, friend_code, audited
):
    first = api.checkout(friend_body())
    second = api.checkout(friend_body(email="otro@example.com"))

    reserved = PromoUse.objects.filter(status="reserved").values_list("order_id", flat=True)
    assert set(reserved) == {first["order_id"], second["order_id"]}
    assert sandbox.payment(first["payment_intent_id"])["status"] == "requires_payment_method"

    sandbox.confirm(first["client_secret"])
    api.post("complete-payment", {"payment_intent_id": first["payment_intent_id"]})

    assert Order.objects.get(status="paid").pk == first["order_id"]
    assert sandbox.payment(second["payment_intent_id"])["status"] == "canceled"
    friend_code.refresh_from_db()
    assert friend_code.uses_taken == 1


@pytest.mark.django_db
def test_stranger_with_the_address_of_a_buyer_does_not_end_the_buyers_payment(
    api, sandbox, friend_code
):
    first = api.checkout(friend_body())
    elsewhere = stranger()

    status, answer = elsewhere.post("process-checkout", friend_body())
    assert (status, answer["error"]) == (409, FriendCodeInUse.message)
    assert sandbox.payment(first["payment_intent_id"])["status"] == "requires_payment_method"
    assert PromoUse.objects.get(status="reserved").order_id == first["order_id"]

    # The buyer goes on with a known device elsewhere, and a payment that nobody makes ends.
    know_device(elsewhere.client, friend_body()["email"])
    second = elsewhere.checkout(friend_body())
    assert sandbox.payment(first["payment_intent_id"])["status"] == "canceled"
    with in_seconds(TIME_TO_PAY_S):
        api.checkout(friend_body())
    assert sandbox.payment(second["payment_intent_id"])["status"] == "canceled"


@pytest.mark.django_db
def test_carts_of_a_stranger_keep_a_friend_code_from_their_buyer_for_ten_minutes_in_all(
    api, sandbox, friend_code
):
    elsewhere = stranger()
    elsewhere.checkout(friend_body(phone="+34655000222"))
    for _ in range(REFUSED_BUYERS.times + 1):
        status, answer = api.post("process-checkout", friend_body())
        assert (status, answer["error"]) == (409, FriendCodeInUse.message)
    with in_seconds(TIME_TO_PAY_S - 60):
        again = elsewhere.checkout(friend_body(phone="+34655000223"))

    with in_seconds(TIME_TO_PAY_S):
        own = api.checkout(friend_body())
        assert sandbox.payment(again["payment_intent_id"])["status"] == "canceled"
        # The buyer has the same time.
        status, answer = elsewhere.post("process-checkout", friend_body(phone="+34655000224"))
        assert (status, answer["error"]) == (409, FriendCodeInUse.message)
    assert PromoUse.objects.get(status="reserved").order_id == own["order_id"]


@pytest.mark.django_db
def test_five_carts_with_one_friend_code_leave_one_open_payment(api, sandbox, friend_code, audited):
    carts = [api.checkout(friend_body()) for _ in range(5)]
    for cart in carts[:-1]:
        assert sandbox.payment(cart["payment_intent_id"])["status"] == "canceled"
    sandbox.confirm(carts[-1]["client_secret"])
    api.post("complete-payment", {"payment_intent_id": carts[-1]["payment_intent_id"]})

    assert Order.objects.get(status="paid").total_amount == WITH_CODE
    know_device(api.client, friend_body()["email"])
    own = {"recovery_order_id": carts[0]["order_id"], "token": carts[0]["token"]}
    status, answer = api.post("process-checkout", {**friend_body(), **own})
    assert (status, answer["code"]) == (409, "promo_refused")


@pytest.mark.django_db
def test_friend_code_is_refused_while_the_bank_confirms_another_cart(api, sandbox, friend_code):
    first = api.checkout(friend_body())
    sandbox.confirm(first["client_secret"], "4000009990000005")

    status, answer = api.post("process-checkout", friend_body())

    assert (status, answer["code"]) == (409, "promo_refused")
    assert answer["error"] == FriendCodeInUse.message
    assert "payment_intent_id" not in answer


@pytest.mark.django_db
def test_cart_loses_the_friend_code_while_its_payment_is_being_opened(
    api, sandbox, friend_code, audited, monkeypatch
):
    """The second cart takes the code over before Stripe has answered the first cart's call."""
    create, second = opening.create_payment, {}

    def check_out_again(**params):
        monkeypatch.setattr(opening, "create_payment", create)
        second.update(api.checkout(friend_body()))
        return create(**params)

    monkeypatch.setattr(opening, "create_payment", check_out_again)
    own = {"order_key": "6f5e0f5c-3c6b-4f0e-9a53-1d1c2f0c7a11"}
    status, answer = api.post("process-checkout", friend_body(**own))

    assert (status, answer["code"]) == (409, "promo_refused")
    assert answer["error"] == FriendCodeInUse.message
    assert Payment.objects.open().get().order_id == second["order_id"]
    customers = Order.objects.values_list("customer_reference", flat=True)
    states = [payment["status"] for customer in customers for payment in sandbox.payments(customer)]
    assert sorted(states) == ["canceled", "requires_payment_method"]

    again = api.checkout(friend_body(**own))
    assert Payment.objects.open().get().order_id == again["order_id"] != second["order_id"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_payment_that_takes_the_code_back_does_not_deadlock_with_a_cancellation(
    api, sandbox, friend_code, monkeypatch
):
    """The second cart's payment is canceled while the first cart's payment is recorded."""
    first, second = api.checkout(friend_body()), api.checkout(friend_body())
    take_back, errors = uses._take_reservation_back, []

    def cancel() -> None:
        try:
            reference = second["payment_intent_id"]
            mark_canceled(order_id=second["order_id"], reference=reference, actor="Stripe")
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    canceling = Thread(target=cancel)

    def take_back_meanwhile(*args: Any) -> None:
        canceling.start()
        wait_until(is_anybody_blocked)
        take_back(*args)

    monkeypatch.setattr(uses, "_take_reservation_back", take_back_meanwhile)
    payment = ConfirmedPayment(first["payment_intent_id"], 16740)

    order = mark_paid(order_id=first["order_id"], payment=payment, actor="Stripe")
    canceling.join(timeout=60)

    assert (order.status, order.flag, errors) == ("paid", "", [])
    friend_code.refresh_from_db()
    assert friend_code.uses_taken == 1
    assert dict(PromoUse.objects.values_list("status", "order_id"))["used"] == order.pk


def is_anybody_blocked() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_carts_paid_at_once_with_one_friend_code_flag_the_second(api, sandbox, friend_code):
    orders = []
    for _ in range(2):
        placed = api.checkout(friend_body())
        orders.append(Order.objects.get(pk=placed["order_id"]))
    # As if both payments succeeded before either cart took over the code.
    PromoUse.objects.filter(order=orders[0]).update(status="reserved")
    payments = iter(
        [(order.pk, ConfirmedPayment(f"pi_at_once_{order.pk}", 16740)) for order in orders]
    )

    def pay() -> Order:
        order_id, payment = next(payments)
        return mark_paid(order_id=order_id, payment=payment, actor="Stripe")

    results = in_parallel(pay, 2)

    assert all(isinstance(result, Order) for result in results), results
    flagged = Order.objects.filter(events__kind="friend_code_misused")
    assert flagged.count() == 1
    assert "no es su primera compra" in flagged.get().flag
    assert Mail.objects.filter(template="staff_attention").count() == 1


@pytest.fixture
def two_carts(api, sandbox, friend_code):
    """A cart that has lost its friend code to a second one, whose payment is open."""
    first = api.checkout(friend_body())
    second = api.checkout(friend_body())
    return Order.objects.get(pk=first["order_id"]), second


@pytest.mark.django_db
def test_payment_of_a_cart_whose_code_was_taken_back_is_canceled_at_once(
    sandbox, two_carts, audited
):
    first, second = two_carts
    # A payment of the first cart whose answer was lost.
    paid = sandbox.process.client().v1.payment_intents.create(
        {
            "amount": 16740,
            "currency": "eur",
            "customer": first.customer_reference,
            "metadata": {"order_id": str(first.pk), "revision": "1"},
        },
    )
    sandbox.confirm(paid.client_secret)

    order = report(retrieve_payment(PaymentIds(paid.id)), actor="Stripe")

    assert (order.status, order.flag) == ("paid", "")
    assert sandbox.payment(second["payment_intent_id"])["status"] == "canceled"
    assert not Payment.objects.open().exists()


@pytest.mark.django_db
def test_reconciliation_cancels_a_payment_whose_code_is_no_longer_held(sandbox, two_carts):
    _, second = two_carts
    uses.release_use(PromoUse.objects.get(order=second["order_id"], status="reserved"))

    reconcile()

    assert sandbox.payment(second["payment_intent_id"])["status"] == "canceled"
    assert not Payment.objects.open().exists()
