"""The takings of days that are over are kept, and stay right to the cent."""

from datetime import date, datetime, timedelta
from threading import Event, Thread

import pytest
import time_machine
from django.db import connection, transaction
from django.utils import timezone

from apps.backoffice.jobs import check_takings, keep_takings
from apps.backoffice.models import DayTakings
from apps.backoffice.today import stored_takings
from apps.backoffice.today.stored_takings import (
    StoredTakingsDiffer,
    Sums,
    add_up,
    keep_days,
    takings_by_day,
)
from apps.backoffice.today.takings import first_day
from apps.core.models import Mail
from apps.orders.models import Payment, Refund
from tests.helpers.one_of_everything import make_one_of_everything

pytestmark = pytest.mark.django_db

NOON = "2026-11-18 12:00 +0100"
TODAY, YESTERDAY, MONDAY = (date(2026, 11, day) for day in (18, 17, 16))


@pytest.fixture
def order():
    with time_machine.travel(NOON, tick=False):
        order = make_one_of_everything()
        Refund.objects.all().delete()
        Payment.objects.update(succeeded_at=None)
        yield order


def pay(order, at, amount, **columns):
    return Payment.objects.create(
        order=order, reference=f"pi_{at}", amount=amount, status="succeeded",
        succeeded_at=datetime.fromisoformat(at), **columns,
    )  # fmt: skip


def refund(payment, at, amount):
    return Refund.objects.create(
        payment=payment, batch=at, amount=amount, reason="x", actor="carla", status="succeeded",
        created_at=datetime.fromisoformat(at),
    )  # fmt: skip


def shown():
    """The sums that "Hoy" shows, which are those of the payments."""
    sums = takings_by_day(first_day(), TODAY + timedelta(days=1))
    assert sums == add_up(sums.keys())
    return {day: some for day, some in sums.items() if some != Sums()}


def test_days_that_are_over_are_kept_and_today_is_added_up(order, django_assert_num_queries):
    first = pay(order, "2026-11-17T00:00:00+01:00", "192.35")
    pay(order, "2026-11-16T23:59:59.999999+01:00", "0.05")
    pay(order, "2026-11-17T12:00:00+01:00", "10.00", currency="mxn")
    refund(first, "2026-11-18T09:00:00+01:00", "12.30")

    assert keep_takings() == "Días sumados: 48"

    assert not DayTakings.objects.filter(day=TODAY).exists()
    # The kept days, the terms of sale and the payments of today.
    with django_assert_num_queries(3):
        takings_by_day(first_day(), TODAY + timedelta(days=1))
    assert shown() == {MONDAY: Sums(5), YESTERDAY: Sums(192_35), TODAY: Sums(0, 12_30)}
    assert keep_takings() == ""


def test_day_is_not_kept_before_its_last_payments_are_stored(order):
    for hour, is_kept in (("01:59", False), ("02:00", True)):
        with time_machine.travel(f"2026-11-18 {hour} +0100", tick=False):
            keep_takings()
        assert DayTakings.objects.filter(day=YESTERDAY).exists() is is_kept


@pytest.mark.parametrize("clock", ["2026-03-30 12:00 +0200", "2026-10-26 12:00 +0100"])
def test_day_of_the_clock_change_has_all_its_hours(clock):
    order = make_one_of_everything()
    Refund.objects.all().delete()
    Payment.objects.update(succeeded_at=None)
    with time_machine.travel(clock, tick=False):
        sunday = timezone.localdate() - timedelta(days=1)
        for hour in range(26):
            at = datetime.combine(sunday, datetime.min.time()).astimezone() + timedelta(hours=hour)
            pay(order, at.isoformat(), 1)
        keep_takings()
        days = takings_by_day(sunday, sunday + timedelta(days=1))
        assert days == add_up([sunday])
        assert days[sunday].paid_cents in (23_00, 25_00)


def test_change_of_an_older_day_is_shown_at_once_and_kept_again(order):
    payment = pay(order, "2026-11-17T12:00:00+01:00", 100)
    money_back = refund(payment, "2026-11-16T12:00:00+01:00", 30)
    keep_takings()

    money_back.status = "failed"
    money_back.save(update_fields=["status"])
    pay(order, "2026-11-17T13:00:00+01:00", 50)

    assert shown() == {YESTERDAY: Sums(150_00)}
    assert keep_takings() == "Días sumados: 2"
    assert shown() == {YESTERDAY: Sums(150_00)}
    money_back.delete()
    payment.delete()
    assert shown() == {YESTERDAY: Sums(50_00)}


def test_recovered_carts_of_a_day_are_kept_and_follow_their_order(order):
    at = datetime.fromisoformat("2026-11-17T12:00:00+01:00")
    order.paid_at = at
    order.total_amount = 80
    order.save()
    Mail.objects.create(
        key=f"cart-reminder:{order.pk}:24", template="cart_reminder", to=order.email,
        message_id="<r>", sent_at=at - timedelta(hours=1),
    )  # fmt: skip
    keep_takings()
    assert shown() == {YESTERDAY: Sums(0, 0, 80_00)}

    order.total_amount = 70
    order.save(update_fields=["total_amount"])

    assert shown() == {YESTERDAY: Sums(0, 0, 70_00)}
    assert keep_takings() == "Días sumados: 1"


def test_change_of_another_column_leaves_the_day_kept(order):
    payment = pay(order, "2026-11-17T12:00:00+01:00", 100)
    keep_takings()

    payment.flag = "Revisar"
    payment.save(update_fields=["flag"])

    assert keep_takings() == ""


def test_sums_of_a_day_that_changes_meanwhile_are_not_kept(order, monkeypatch):
    pay(order, "2026-11-17T12:00:00+01:00", 100)

    def add_up_and_pay(days):
        sums = add_up(days)
        pay(order, "2026-11-17T13:00:00+01:00", 50)
        return sums

    monkeypatch.setattr(stored_takings, "add_up", add_up_and_pay)
    keep_days(YESTERDAY)
    monkeypatch.undo()

    assert shown() == {YESTERDAY: Sums(150_00)}
    assert keep_days(YESTERDAY) == 1


def test_nightly_check_finds_wrong_sums_and_has_them_added_up_again(order):
    pay(order, "2026-11-17T12:00:00+01:00", 100)
    keep_takings()
    assert check_takings() == "Días comprobados: 48"
    DayTakings.objects.filter(day=YESTERDAY).update(paid_cents=99_99)

    with pytest.raises(StoredTakingsDiffer, match="2026-11-17"):
        check_takings()

    assert keep_takings() == "Días sumados: 1"
    assert shown() == {YESTERDAY: Sums(100_00)}
    assert check_takings() == "Días comprobados: 48"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_payment_that_commits_while_its_day_is_added_up_is_not_lost(order, monkeypatch):
    pay(order, "2026-11-17T12:00:00+01:00", 100)
    is_stored, is_added_up = Event(), Event()

    def pay_slowly():
        with transaction.atomic():
            pay(order, "2026-11-17T13:00:00+01:00", 50)
            is_stored.set()
            assert is_added_up.wait(20)
        connection.close()

    def add_up_without_it(days):
        is_stored.wait(20)
        sums = add_up(days)
        assert sums[YESTERDAY] == Sums(100_00)
        is_added_up.set()
        return sums

    monkeypatch.setattr(stored_takings, "add_up", add_up_without_it)
    paying = Thread(target=pay_slowly)
    paying.start()
    assert keep_days(YESTERDAY) == 0
    paying.join(20)
    monkeypatch.undo()

    assert shown() == {YESTERDAY: Sums(150_00)}
    assert keep_days(YESTERDAY) == 1
