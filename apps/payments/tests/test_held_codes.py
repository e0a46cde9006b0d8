"""What unpaid carts hold of a code whose uses are counted, in all or for each student."""

from itertools import count

import pytest
from django.test import Client

from apps.orders.models import Order, Payment, PromoUse
from apps.orders.settlement.open_payments import open_payment
from apps.payments.checkout import opening, start
from apps.payments.checkout.held_codes import FEWEST_HELD, HeldByNetwork
from apps.payments.checkout.start import REFUSED_BUYERS
from apps.pricing.promo_checks import CodeAwaitsTransfer, CodeInUse
from tests.helpers.factories import (
    checkout_body,
    know_device,
    make_customer,
    make_promo,
    make_subject,
    whole,
)
from tests.helpers.parallel import in_parallel, in_the_same_instant
from tests.helpers.shop import Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def code(db):
    return make_promo("POCOS", kind="PORCENTAJE", value="10", max_uses=30)


@pytest.fixture
def buy(code):
    """Check out with the code from an address of the internet; returns status and answer."""
    subject, numbers = make_subject(), count()

    def check_out(network="192.0.2.1", *, known=False, **changes):
        body = checkout_body(
            whole(subject),
            total="164.16",
            **{"promo_code": code.code, "email": f"n{next(numbers)}@example.com", **changes},
        )
        api = Api()
        api.client = Client(REMOTE_ADDR=network)
        if known:
            know_device(api.client, body["email"])
        return api.post("process-checkout", body)

    return check_out


def test_unpaid_carts_of_one_network_hold_few_uses_of_a_counted_code(code, buy, sandbox):
    first, *_ = [buy() for _ in range(FEWEST_HELD)]
    for refused in (buy(), buy(known=True)):
        assert (refused[0], refused[1]["error"]) == (409, HeldByNetwork.message)
    assert PromoUse.objects.filter(status="reserved").count() == FEWEST_HELD
    assert Order.objects.count() == FEWEST_HELD

    # A cart that has its use goes on, and so do buyers elsewhere and customers.
    mine = {"recovery_order_id": first[1]["order_id"], "token": first[1]["token"]}
    assert buy(email="n0@example.com", **mine)[0] == 200
    assert buy("192.0.2.2")[0] == 200
    make_customer("eva@example.com")
    assert buy(email="eva@example.com", known=True)[0] == 200
    assert buy()[0] == 409
    # What is paid does not count.
    sandbox.confirm(first[1]["client_secret"])
    Api().post("complete-payment", {"payment_intent_id": first[1]["payment_intent_id"]})
    assert buy()[0] == 200
    assert buy()[0] == 409


def test_customer_holds_few_uses_of_a_counted_code_from_any_network(code, buy, sandbox):
    for email in ("eva@example.com", "ana@example.com"):
        make_customer(email)
    held = [
        buy(f"192.0.2.{number}", email="eva@example.com", known=True)[0]
        for number in range(FEWEST_HELD + 1)
    ]
    another = buy(email="ana@example.com", known=True)[0]

    assert (held, another) == ([200] * FEWEST_HELD + [409], 200)


def test_addresses_of_one_ipv6_network_hold_uses_together(code, buy, sandbox):
    held = [buy(f"2001:db8:1:{number}::1")[0] for number in range(FEWEST_HELD + 1)]
    assert held == [200] * FEWEST_HELD + [409]


def test_code_with_many_uses_is_held_by_more_carts(code, buy, sandbox):
    code.max_uses = 60
    code.save()
    assert [buy()[0] for _ in range(7)] == [200] * 6 + [409]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_carts_in_the_same_instant_hold_no_more(code, buy, sandbox):
    statuses = in_parallel(lambda: buy()[0], FEWEST_HELD + 3)
    assert sorted(statuses) == [200] * FEWEST_HELD + [409] * 3
    assert PromoUse.objects.filter(status="reserved").count() == FEWEST_HELD


USED = "Ya has usado este código."


@pytest.fixture
def once(db):
    return make_promo("UNAVEZ", kind="PORCENTAJE", value="10", max_uses_per_student=1)


@pytest.fixture
def once_body(once):
    return checkout_body(whole(make_subject()), total="164.16", promo_code=once.code)


@pytest.fixture
def owner(api, once_body):
    """A visitor who has shown that the address is theirs."""
    know_device(api.client, once_body["email"])
    return api


@pytest.fixture
def stranger():
    """A visitor elsewhere who types the owner's address."""
    api = Api()
    api.client = Client(REMOTE_ADDR="192.0.2.77")
    return api


def reserved_orders():
    return set(PromoUse.objects.filter(status="reserved").values_list("order_id", flat=True))


@pytest.mark.parametrize("in_all", [None, 1])
def test_cart_of_a_stranger_keeps_no_use_from_a_known_buyer(
    owner, stranger, once, once_body, sandbox, audited, in_all
):
    once.max_uses = in_all
    once.save()
    theirs = stranger.checkout({**once_body, "phone": "+34655000222"})
    asked = {"code": once.code, "email": once_body["email"], "cart_items": once_body["items"]}
    assert owner.post("validate-promo-code", asked)[1]["is_valid"] is True

    mine = owner.checkout(once_body)

    assert reserved_orders() == {mine["order_id"]}
    assert sandbox.payment(theirs["payment_intent_id"])["status"] == "canceled"
    again = {"recovery_order_id": theirs["order_id"], "token": theirs["token"]}
    assert stranger.post("process-checkout", {**once_body, **again})[0] == 409
    assert reserved_orders() == {mine["order_id"]}
    sandbox.confirm(mine["client_secret"])
    owner.post("complete-payment", {"payment_intent_id": mine["payment_intent_id"]})
    order = Order.objects.get(status="paid")
    assert (order.pk, order.flag) == (mine["order_id"], "")
    once.refresh_from_db()
    assert once.uses_taken == 1


def test_refusal_by_an_unpaid_cart_locks_no_network_out(api, stranger, once_body, sandbox):
    """It tells only that somebody has typed the address beside the code."""
    stranger.checkout({**once_body, "phone": "+34655000222"})
    for _ in range(REFUSED_BUYERS.times + 1):
        status, answer = api.post("process-checkout", once_body)
        assert (status, answer["code"], answer["error"]) == (
            409, "promo_refused", CodeInUse.message,
        )  # fmt: skip
    assert (answer["total_amount"], len(answer["lines"])) == (182.4, 1)


def test_known_buyer_takes_over_as_many_carts_as_needed(
    owner, stranger, once, once_body, sandbox, audited
):
    once.max_uses_per_student = 2
    once.save()
    first, second = stranger.checkout(once_body), stranger.checkout(once_body)

    mine = owner.checkout(once_body)

    assert reserved_orders() == {second["order_id"], mine["order_id"]}
    assert sandbox.payment(first["payment_intent_id"])["status"] == "canceled"


def test_transfer_of_a_known_buyer_keeps_its_use(owner, stranger, once_body, sandbox):
    waiting = owner.checkout({**once_body, "by_transfer": True})
    for way in (False, True) * REFUSED_BUYERS.times:
        status, answer = owner.post("process-checkout", {**once_body, "by_transfer": way})
        assert (status, answer["error"]) == (409, CodeAwaitsTransfer.message)
    # A stranger learns as little as of what was paid, and is counted.
    for _ in range(REFUSED_BUYERS.times):
        assert stranger.post("process-checkout", once_body)[1]["error"] == USED
    assert stranger.post("process-checkout", once_body)[0] == 429
    assert reserved_orders() == {waiting["order_id"]}


def test_use_is_not_taken_over_while_the_bank_confirms_the_payment(
    owner, stranger, once_body, sandbox
):
    theirs = stranger.checkout(once_body)
    sandbox.confirm(theirs["client_secret"], "4000009990000005")

    status, answer = owner.post("process-checkout", once_body)

    assert (status, answer["error"]) == (409, CodeInUse.message)
    assert reserved_orders() == {theirs["order_id"]}


def test_cart_loses_its_use_while_its_payment_is_being_opened(
    owner, stranger, once_body, sandbox, audited, monkeypatch
):
    create, mine = opening.create_payment, {}

    def check_out_as_owner(**params):
        monkeypatch.setattr(opening, "create_payment", create)
        mine.update(owner.checkout(once_body))
        return create(**params)

    monkeypatch.setattr(opening, "create_payment", check_out_as_owner)

    assert stranger.post("process-checkout", once_body)[0] == 409
    assert Payment.objects.open().get().order_id == mine["order_id"]
    assert reserved_orders() == {mine["order_id"]}


@pytest.fixture
def for_nothing(db):
    return make_promo("BECA", kind="PORCENTAJE", value="100", max_uses_per_student=1)


def test_code_that_makes_one_order_free_is_not_used_by_two_carts_of_one_moment(
    owner, once_body, for_nothing, sandbox, monkeypatch
):
    """The second cart takes the code over while the first one is placed and not completed yet."""
    complete = start.complete_free
    bodies = [
        once_body | {"items": [whole(make_subject(name))], "promo_code": "BECA", "total_amount": 0}
        for name in ("Álgebra", "Física")
    ]

    def check_out_in_another_tab(**order):
        monkeypatch.setattr(start, "complete_free", complete)
        assert owner.checkout(bodies[1])["completed"]
        return complete(**order)

    monkeypatch.setattr(start, "complete_free", check_out_in_another_tab)

    status, _ = owner.post("process-checkout", bodies[0])

    assert status == 409
    assert Order.objects.filter(status="paid").count() == 1
    assert PromoUse.objects.filter(status="used").count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_carts_that_a_code_makes_free_in_the_same_instant_use_it_once(
    once_body, for_nothing, sandbox
):
    names = iter(("Álgebra", "Física", "Química", "Óptica"))
    bodies = [
        once_body | {"items": [whole(make_subject(name))], "promo_code": "BECA", "total_amount": 0}
        for name in names
    ]
    left = iter(bodies)

    def check_out() -> int:
        api = Api()
        know_device(api.client, once_body["email"])
        return api.post("process-checkout", next(left))[0]

    statuses = in_parallel(check_out, 4)

    assert set(statuses) <= {200, 409}
    assert Order.objects.filter(status="paid").count() == 1
    assert PromoUse.objects.filter(status="used").count() == 1
    for_nothing.refresh_from_db()
    assert for_nothing.uses_taken == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_payment_that_is_stored_in_the_same_instant_is_canceled(
    owner, stranger, once_body, sandbox
):
    theirs = stranger.checkout(once_body)
    order = Order.objects.get(pk=theirs["order_id"])
    Payment.objects.all().delete()  # As if Stripe had only just answered.

    def store() -> bool:
        reference = theirs["payment_intent_id"]
        return open_payment(
            order_id=order.pk, revision=order.revision, reference=reference, amount_cents=164_16
        )

    stored, mine = in_the_same_instant(store, lambda: owner.checkout(once_body))

    assert stored
    assert sandbox.payment(theirs["payment_intent_id"])["status"] == "canceled"
    assert Payment.objects.open().get().order_id == mine["order_id"]
    assert reserved_orders() == {mine["order_id"]}


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_carts_of_buyer_and_strangers_in_the_same_instant_hold_one_use(once, once_body, sandbox):
    turns = iter([True, False, False, True])

    def check_out() -> int:
        api = Api()
        if next(turns):
            know_device(api.client, once_body["email"])
        return api.post("process-checkout", once_body)[0]

    statuses = in_parallel(check_out, 4)

    assert set(statuses) <= {200, 409}
    once.refresh_from_db()
    assert once.uses_taken == len(reserved_orders()) == 1
    assert set(Payment.objects.open().values_list("order_id", flat=True)) <= reserved_orders()
