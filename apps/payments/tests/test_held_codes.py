"""Unpaid carts of one network hold a few uses of a code whose uses are counted."""

from itertools import count

import pytest
from django.test import Client

from apps.orders.models import Order, PromoUse
from apps.payments.checkout.held_codes import FEWEST_HELD, HeldByNetwork
from tests.helpers.factories import (
    checkout_body,
    know_device,
    make_customer,
    make_promo,
    make_subject,
    whole,
)
from tests.helpers.parallel import in_parallel
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
