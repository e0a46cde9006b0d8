"""Which campaign runs on a day, and which list prices REQUIRE_PRICE_HISTORY hides."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
import time_machine

from apps.catalogue.reads import catalogue_page
from apps.pricing.models import Campaign
from apps.pricing.payment_type import PaymentType
from apps.pricing.reads import (
    calculator_campaigns_today,
    campaigns_today,
    current_pricing,
    current_terms,
)
from apps.pricing.rules import Item, campaign_for, quote_cart
from tests.helpers.factories import make_subject

pytestmark = [pytest.mark.django_db, pytest.mark.dates]


def make_campaign(name="Agosto", percent=20, first=(8, 1), last=(8, 31), **fields):
    return Campaign.objects.create(
        name=name,
        percent=percent,
        first_month=first[0],
        first_day=first[1],
        last_month=last[0],
        last_day=last[1],
        **{"cart": True, "prices_include_it": True, **fields},
    )


def in_force(day, hour=12):
    return Campaign.objects.in_force(datetime(day.year, day.month, day.day, hour, tzinfo=UTC))


def campaign_today():
    return campaign_for(campaigns_today(), None)


@pytest.mark.parametrize(
    ("day", "runs"),
    [
        (date(2026, 7, 31), False),
        (date(2026, 8, 1), True),
        (date(2026, 8, 31), True),
        (date(2026, 9, 1), False),
        (date(2027, 8, 15), True),
    ],
)
def test_campaign_runs_every_year_between_its_two_days(day, runs):
    make_campaign()

    assert (in_force(day) is not None) == runs


def test_campaign_may_run_across_new_year():
    make_campaign("Navidad", first=(12, 20), last=(1, 6))

    assert in_force(date(2026, 12, 31)).ends_on == date(2027, 1, 6)
    assert in_force(date(2027, 1, 6)).ends_on == date(2027, 1, 6)
    assert in_force(date(2027, 1, 7)) is None


def test_last_day_beyond_the_month_means_the_end_of_the_month():
    make_campaign("Febrero", first=(2, 1), last=(2, 31))

    assert in_force(date(2027, 2, 28)).ends_on == date(2027, 2, 28)


def test_largest_active_campaign_is_in_force():
    make_campaign("Verano", 10)
    make_campaign("Agosto", 20)
    make_campaign("Apagada", 50, active=False)

    assert in_force(date(2026, 8, 1)).name == "Agosto"


@pytest.mark.parametrize("cart_has_calculator", [True, False])
def test_larger_campaign_of_the_calculator_leaves_that_of_the_cart_in_force(cart_has_calculator):
    always = {"first": (1, 1), "last": (12, 31), "prices_include_it": False}
    make_campaign("Tienda", 10, calculator=cart_has_calculator, **always)
    make_campaign("Presupuestos", 30, calculator=True, cart=False, **always)
    make_campaign("Aviso", 50, calculator=False, cart=False, banner=True, **always)

    in_cart, in_calculator = campaign_today(), campaign_for(calculator_campaigns_today(), None)

    assert (in_cart.name, in_cart.deducted_percent, in_cart.calculator) == ("Tienda", 10, False)
    assert (in_calculator.name, in_calculator.only_in_calculator) == ("Presupuestos", True)
    assert quoted_in_cart(200_00) == 180_00
    assert current_pricing()["campaign"]["name"] == "Tienda"


def quoted_in_cart(cents):
    return quote_cart(
        [Item(cents, complete=True)],
        terms=current_terms(),
        payment_type=PaymentType.INSTALMENTS,
        campaigns=campaigns_today(),
    ).total_cents


def test_one_campaign_for_cart_and_calculator_counts_in_both():
    always = {"first": (1, 1), "last": (12, 31), "prices_include_it": False}
    make_campaign("Todo", 30, calculator=True, **always)
    make_campaign("Tienda", 10, calculator=False, **always)

    assert campaigns_today() == calculator_campaigns_today()
    assert (campaign_today().name, campaign_today().calculator) == ("Todo", True)


def test_campaign_today_uses_the_date_in_madrid():
    make_campaign()

    # Still 31 July in UTC, already 1 August in Madrid.
    with time_machine.travel("2026-07-31T22:30:00Z", tick=False):
        assert campaign_today().name == "Agosto"


def test_current_pricing_has_the_campaign_of_today():
    make_campaign()

    with time_machine.travel("2026-08-10T12:00:00Z", tick=False):
        assert current_pricing()["campaign"] == {
            "name": "Agosto",
            "percent": 20,
            "calculator": True,
            "cart": True,
            "prices_include_it": True,
            "ends_on": "2026-08-31",
        }


def test_unproven_list_prices_are_hidden_if_price_history_is_required(settings):
    make_campaign(first=(1, 1), last=(12, 31))
    make_subject(price="180.00", total_discounts=10)

    assert catalogue_page()["results"][0]["total_discounts"] == 10
    settings.REQUIRE_PRICE_HISTORY = True
    assert catalogue_page()["results"][0]["total_discounts"] == 0
    assert campaign_today().cart is False


def shown(price="final_price"):
    return catalogue_page()["results"][0][price]


@pytest.mark.parametrize(
    ("raised_after", "lowest", "percent"),
    [(40, 240, 25), (25, 200, 10)],
    ids=["raised before the 30 days", "raised within the 30 days"],
)
def test_required_history_crosses_out_the_lowest_price_of_the_30_days_before_the_reduction(
    settings, raised_after, lowest, percent
):
    settings.REQUIRE_PRICE_HISTORY = True
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    with time_machine.travel(start, tick=False) as clock:
        subject = make_subject(price="200.00", total_discounts=50)
        for days, price in ((0, "200.00"), (80 - raised_after, "240.00"), (raised_after, "180.00")):
            clock.shift(timedelta(days=days))
            subject.final_price = Decimal(price)
            subject.save()

        # Raised to 240 € before or within the 30 days, and reduced to 180 € today.
        assert (shown("lowest_price"), shown("total_discounts")) == (lowest, percent)

        clock.shift(timedelta(days=31))
        assert (shown("lowest_price"), shown("total_discounts")) == (180, 0)


def test_price_that_was_never_charged_is_not_crossed_out_if_history_is_required(settings):
    make_subject(price="192.00", total_discounts=20)
    assert "lowest_price" not in catalogue_page()["results"][0]

    settings.REQUIRE_PRICE_HISTORY = True
    assert (shown("lowest_price"), shown("total_discounts")) == (192, 0)


@pytest.mark.parametrize(
    ("moment", "runs"),
    [
        ("2026-11-27T17:59", False),
        ("2026-11-27T18:00", True),
        ("2026-11-28T03:00", True),
        ("2026-11-29T20:59", True),
        ("2026-11-29T21:00", False),
    ],
)
def test_campaign_begins_and_ends_at_its_hours(moment, runs):
    hours = {"first_hour": 18, "last_hour": 21}
    days = {"first_on": date(2026, 11, 27), "last_on": date(2026, 11, 29)}
    once = Campaign.objects.create(name="Black Friday", percent=30, **hours, **days)
    every_year = make_campaign("Otra", first=(11, 27), last=(11, 29), **hours)

    assert once.runs_at(datetime.fromisoformat(moment)) == runs
    assert every_year.runs_at(datetime.fromisoformat(moment)) == runs


def test_campaign_of_a_degree_or_university_counts_for_its_subjects_alone():
    law, art, music, other = map(make_subject, ("Leyes", "Arte", "Música", "Química"))
    always = {"first": (1, 1), "last": (12, 31), "prices_include_it": False, "calculator": False}
    make_campaign("Todo", 10, **always)
    of_law = make_campaign("Derecho", 30, **always)
    of_law.degrees.add(law.degree)
    small = make_campaign("Poca", 5, **always)
    small.degrees.add(art.degree)
    of_other = make_campaign("Química", 40, **always)
    of_other.universities.add(other.degree.university)

    found = [campaign_for(campaigns_today(), one.degree_id).name for one in (law, art, other)]
    assert found == ["Derecho", "Todo", "Química"]
    assert campaign_for(campaigns_today(), music.degree_id).name == "Todo"
    # That of 5 % counts nowhere: it is not announced, and the browser does not get it.
    assert [one.name for one in campaigns_today()] == ["Química", "Derecho", "Todo"]
    assert [one["name"] for one in current_pricing()["degree_campaigns"]] == ["Química", "Derecho"]
    assert of_other.audience == other.degree.university.acronym


@pytest.mark.parametrize("kind", ["universities", "degrees"])
def test_campaign_is_switched_off_when_all_that_it_is_for_is_deleted(kind):
    subject = make_subject(lessons=0)
    degree = subject.degree
    campaign = make_campaign(first=(1, 1), last=(12, 31))
    getattr(campaign, kind).add(degree if kind == "degrees" else degree.university)
    everywhere = make_campaign("Todo", first=(1, 1), last=(12, 31))
    university = degree.university
    subject.delete()
    degree.delete()
    university.delete()

    campaign.refresh_from_db()
    everywhere.refresh_from_db()
    assert (campaign.active, everywhere.active) == (False, True)
