"""Gifts meet refunds, disputes and plans, also in parallel and with a killed job."""

from datetime import timedelta
from unittest import mock

import pytest
import time_machine
from django.urls import reverse
from django.utils import timezone

from apps.classroom.models import Enrolment, Provisioning
from apps.core.models import Mail
from apps.orders.models import Gift, Order, OrderLine
from apps.orders.settlement import gift_delivery
from apps.orders.settlement.gift_delivery import deliver, deliver_due
from apps.payments.tests.test_recreated_orders import (  # noqa: F401  (`carla` is a fixture)
    carla,
    filled,
    lose_orders,
    page_of,
)
from tests.helpers.factories import make_subject
from tests.helpers.parallel import in_parallel
from tests.helpers.refunds import buy, make_clerk, refund

pytestmark = pytest.mark.django_db
LEO = "leo@example.com"
DAY = timezone.now() + timedelta(days=9)


def gift(**changes):
    return {"sender": "Bruno", "email": LEO, "deliver_on": f"{DAY:%Y-%m-%d}", **changes}


def test_refunded_gift_is_never_delivered(api, sandbox, work):
    order = buy(api, sandbox, gift=gift())
    refund(order, make_clerk())

    assert Gift.objects.get().status == "canceled"
    with time_machine.travel(DAY + timedelta(days=1)):
        assert deliver_due() == 0
    assert not Provisioning.objects.exists()
    assert not Mail.objects.filter(to=LEO).exists()


def test_only_what_a_refund_has_left_is_delivered(api, sandbox, work):
    kept, returned = make_subject("Cálculo"), make_subject("Física")
    order = buy(api, sandbox, kept, returned, total="349.80", gift=gift())
    line = OrderLine.objects.get(order=order, subject=returned)
    refund(order, make_clerk(), 100_00, line_ids=frozenset({line.pk}))

    with time_machine.travel(DAY + timedelta(days=1)):
        assert deliver_due() == 1
        work()

    assert [row.subject for row in Enrolment.objects.all()] == [kept]


def test_refund_after_the_delivery_takes_the_access_from_the_recipient(api, sandbox, work):
    order = buy(api, sandbox, gift=gift(deliver_on=None))
    work()
    assert Enrolment.objects.get().student.email == LEO

    refund(order, make_clerk())
    work()

    assert not Enrolment.objects.exists()


@pytest.mark.parametrize(
    ("held", "released"),
    [
        ({"status": "overdue"}, {"status": "paying"}),
        ({"disputed_at": timezone.now()}, {"disputed_at": None}),
    ],
)
def test_overdue_or_disputed_gift_waits_until_that_is_settled(api, sandbox, held, released):
    buy(api, sandbox, gift=gift())
    with time_machine.travel(DAY + timedelta(days=1)):
        Order.objects.update(**held)
        assert deliver_due() == 0
        Order.objects.update(**released)
        assert deliver_due() == 1


def test_killed_delivery_is_repeated_whole(api, sandbox, work):
    order = buy(api, sandbox, gift=gift())
    with time_machine.travel(DAY + timedelta(days=1)):
        with (
            mock.patch.object(gift_delivery, "note", side_effect=KeyboardInterrupt),
            pytest.raises(KeyboardInterrupt),
        ):
            deliver(order_id=order.pk)
        assert not Provisioning.objects.exists(), "nothing of the killed delivery is stored"
        assert deliver_due() == 1
        work()

    assert Mail.objects.filter(to=LEO).count() == 1


def test_gift_that_fails_does_not_keep_the_others_from_being_delivered(api, sandbox):
    failing, other = (buy(api, sandbox, make_subject(), gift=gift()) for _ in range(2))

    def note(order, **facts):
        if order == failing:
            raise RuntimeError
        return gift_delivery_note(order, **facts)

    gift_delivery_note = gift_delivery.note
    with (
        time_machine.travel(DAY + timedelta(days=1)),
        mock.patch.object(gift_delivery, "note", note),
        pytest.raises(gift_delivery.NotDelivered, match=f": {failing.pk}$"),
    ):
        deliver_due()

    assert [row.order_id for row in Provisioning.objects.all()] == [other.pk]
    assert Gift.objects.get(order=failing).status == "waiting"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_parallel_deliveries_give_the_access_once(api, sandbox, work):
    order = buy(api, sandbox, gift=gift())
    with time_machine.travel(DAY + timedelta(days=1)):
        results = in_parallel(lambda: deliver(order_id=order.pk), times=4)
        work()

    assert sorted(results) == [False, False, False, True]
    assert Provisioning.objects.count() == 1
    assert Mail.objects.filter(to=LEO).count() == 1
    assert order.events.filter(kind="gift_delivered").count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_refund_that_meets_the_delivery_leaves_no_access(api, sandbox, work):
    order, clerk = buy(api, sandbox, gift=gift()), make_clerk()
    calls = [lambda: refund(order, clerk), lambda: deliver(order_id=order.pk)]
    with time_machine.travel(DAY + timedelta(days=1)):
        results = in_parallel(lambda: calls.pop()(), times=2)
        deliver_due()
        work()

    assert not [result for result in results if isinstance(result, Exception)]
    assert Order.objects.get().status == "refunded"
    assert not Enrolment.objects.exists()
    assert Gift.objects.get().status in ("canceled", "delivered")


@pytest.mark.usefixtures("carla")
def test_recreated_gift_waits_until_staff_type_its_recipient(api, sandbox, client, work):
    buy(api, sandbox, gift=gift())
    [payment] = lose_orders()

    shown = client.get(page_of(payment))
    client.post(page_of(payment), {**filled(shown), "confirm": "1"})
    work()

    assert "Era un regalo" in shown.content.decode()
    row = Gift.objects.get()
    assert (row.recipient_email, row.status) == ("", "waiting")
    assert not Enrolment.objects.exists(), "the buyer gets no access to a gift"
    address = reverse("admin:orders_gift_change", args=[row.pk])
    form = client.get(address).context["adminform"].form
    data = {name: form[name].value() for name in form.fields}
    today = f"{timezone.localdate()}"
    client.post(address, {**data, "recipient_email": LEO, "deliver_on": today})
    deliver(order_id=row.order_id)
    work()
    assert Enrolment.objects.get().student.email == LEO
