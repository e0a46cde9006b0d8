"""Paid orders without access are shown to staff, also if a part of the money was refunded."""

import pytest

from apps.classroom.models import Provisioning
from apps.orders.reads import paid_without_access
from tests.helpers.factories import make_subject
from tests.helpers.refunds import buy, make_clerk, refund

pytestmark = pytest.mark.django_db


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
