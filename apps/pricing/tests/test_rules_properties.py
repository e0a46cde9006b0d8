"""Properties that hold for every cart and every budget, tested with generated numbers."""

from dataclasses import replace
from datetime import date

from hypothesis import strategies as st

from apps.pricing.calculator import quote_calculator
from apps.pricing.instalments import InstalmentPlan, due_now_cents, instalments_refusal
from apps.pricing.rules import (
    CampaignTerms,
    Item,
    PromoTerms,
    promo_discount_cents,
    quote_cart,
)
from apps.pricing.sale_terms import SaleTerms
from tests.helpers.properties import given

cents = st.integers(min_value=0, max_value=999_999)
degrees = st.none() | st.integers(min_value=1, max_value=3)
items = st.lists(st.builds(Item, cents, st.booleans(), degree_id=degrees), max_size=12)
payment_types = st.sampled_from(["full_payment", "installment"])
campaigns = st.builds(
    CampaignTerms,
    name=st.just("Agosto"),
    percent=st.integers(min_value=1, max_value=99),
    calculator=st.booleans(),
    cart=st.booleans(),
    prices_include_it=st.booleans(),
    ends_on=st.just(date(2026, 8, 31)),
    degree_ids=st.none() | st.frozensets(st.integers(min_value=1, max_value=3), min_size=1),
)
percentages = st.builds(
    PromoTerms, st.just("PORCENTAJE"), st.integers(min_value=0, max_value=10_000), st.booleans()
)
fixed_amounts = st.builds(PromoTerms, st.just("FIJO"), cents, st.booleans())
promos = percentages | fixed_amounts
# Whole euros, as the calculator shows.
euros = st.integers(min_value=0, max_value=99).map(lambda number: number * 100)
steps = st.lists(
    st.tuples(st.integers(min_value=2, max_value=10), euros),
    max_size=5,
    unique_by=lambda row: row[0],
).map(lambda rows: tuple(zip(sorted(n for n, _ in rows), sorted(c for _, c in rows), strict=True)))
sale_terms = st.builds(
    SaleTerms,
    volume=steps,
    full_payment_percent=st.integers(min_value=0, max_value=50),
    unit_base_price_cents=cents,
    invited_cents=euros,
    invitee_cents=euros,
    invitee_max=st.integers(min_value=0, max_value=20),
    instalment_minimum_total_cents=cents,
)
conditions = st.fixed_dictionaries(
    {
        "terms": sale_terms,
        "payment_type": payment_types,
        "campaigns": st.lists(campaigns, max_size=3).map(
            lambda some: sorted(some, key=lambda one: -one.percent)
        ),
        "promo": st.none() | promos,
    }
)


@given(items, conditions)
def test_total_is_between_zero_and_the_sum_of_the_prices(items, conditions):
    quote = quote_cart(items, **conditions)
    assert 0 <= quote.total_cents <= quote.subtotal_cents


@given(items, conditions)
def test_listed_discounts_add_up_to_list_total_less_total(items, conditions):
    quote = quote_cart(items, **conditions)
    amounts = [discount.amount_cents for discount in quote.discounts]
    assert all(amount > 0 for amount in amounts)
    assert sum(amounts) == quote.list_total_cents - quote.total_cents
    assert quote.list_total_cents == sum(line.list_price_cents for line in quote.lines)


@given(st.data(), items, conditions)
def test_order_of_items_does_not_change_the_total(data, items, conditions):
    shuffled = data.draw(st.permutations(items))
    one, other = quote_cart(items, **conditions), quote_cart(shuffled, **conditions)
    assert one.discounts == other.discounts
    assert one.total_cents == other.total_cents
    assert [line.price_cents for line in other.lines] == [item.price_cents for item in shuffled]


@given(items, conditions, st.integers(min_value=0, max_value=10_000))
def test_larger_promo_code_never_raises_the_total(items, conditions, more):
    promo = conditions["promo"] or PromoTerms("FIJO", 0)
    value = promo.value + more
    larger = replace(promo, value=value if promo.kind == "FIJO" else min(value, 10_000))
    before = quote_cart(items, **conditions)
    after = quote_cart(items, **{**conditions, "promo": larger})
    assert after.total_cents <= before.total_cents


@given(items, conditions)
def test_no_discount_raises_the_total(items, conditions):
    """Full payment, a campaign or a promo code never make a cart dearer."""
    total_cents = quote_cart(items, **conditions).total_cents
    for without in ({"campaigns": ()}, {"promo": None}, {"payment_type": "installment"}):
        assert total_cents <= quote_cart(items, **{**conditions, **without}).total_cents


@given(items, conditions, campaigns, st.integers(min_value=0, max_value=98))
def test_larger_campaign_never_raises_the_total(items, conditions, campaign, more):
    larger = replace(campaign, percent=min(campaign.percent + more, 99))
    before = quote_cart(items, **{**conditions, "campaigns": [campaign]})
    after = quote_cart(items, **{**conditions, "campaigns": [larger]})
    assert after.total_cents <= before.total_cents


@given(items, conditions, st.data())
def test_complete_subject_never_costs_more_than_a_lesson_at_the_same_price(items, conditions, data):
    index = data.draw(st.integers(min_value=0, max_value=len(items)))
    price_cents = data.draw(cents)
    in_part = [*items[:index], Item(price_cents, complete=False), *items[index:]]
    complete = [*items[:index], Item(price_cents, complete=True), *items[index:]]
    before, after = quote_cart(in_part, **conditions), quote_cart(complete, **conditions)
    assert after.total_cents <= before.total_cents


@given(items, conditions)
def test_campaign_included_in_prices_does_not_change_the_total(items, conditions):
    """The campaign changes the list prices, not what the buyer pays."""
    included = CampaignTerms("Agosto", 20, True, True, True, date(2026, 8, 31))
    shown = quote_cart(items, **{**conditions, "campaigns": [included]})
    plain = quote_cart(items, **{**conditions, "campaigns": ()})
    assert shown.total_cents == plain.total_cents
    assert shown.promo_cents == plain.promo_cents
    assert all(line.list_price_cents >= line.price_cents for line in shown.lines)


@given(st.integers(min_value=0, max_value=99_999_999), st.integers(min_value=1, max_value=12))
def test_instalments_add_up_to_the_total(total_cents, count):
    payments = InstalmentPlan(count, every_days=20).split(total_cents)
    assert len(payments) == count
    assert sum(payments) == total_cents
    assert len(set(payments[1:])) <= 1
    assert 0 <= payments[0] - payments[-1] < count


@given(cents, st.integers(min_value=2, max_value=12))
def test_first_payment_is_the_total_or_the_first_instalment(total_cents, count):
    plan = InstalmentPlan(count, every_days=20)
    assert due_now_cents(plan, total_cents, "full_payment") == total_cents
    assert due_now_cents(plan, total_cents, "installment") == plan.split(total_cents)[0]


@given(cents, st.booleans(), cents)
def test_instalments_need_a_complete_subject_and_the_minimum_total(total, has_complete, minimum):
    refusal = instalments_refusal(total, has_complete_subject=has_complete, minimum_cents=minimum)
    assert (refusal is None) == (has_complete and total >= minimum)


@given(percentages, cents, cents)
def test_promo_code_on_a_smaller_amount_never_leaves_more_to_pay(promo, one, other):
    smaller, larger = sorted((one, other))
    left_of_smaller = smaller - promo_discount_cents(promo, smaller)
    left_of_larger = larger - promo_discount_cents(promo, larger)
    assert 0 <= left_of_smaller <= left_of_larger


@given(
    prices=st.lists(cents, max_size=6),
    unchosen=st.integers(min_value=1, max_value=6),
    full_payment=st.booleans(),
    has_friend_code=st.booleans(),
    friends=st.integers(min_value=0, max_value=8),
    campaign=st.none() | campaigns,
    terms=sale_terms,
)
def test_calculator_price_is_the_base_less_whole_euros_and_never_negative(
    prices, unchosen, full_payment, has_friend_code, friends, campaign, terms
):
    quote = quote_calculator(
        prices,
        terms=terms,
        number_of_subjects=len(prices) or unchosen,
        full_payment=full_payment,
        has_friend_code=has_friend_code,
        friends=friends,
        campaign=campaign,
    )
    amounts = [discount.amount_cents for discount in quote.discounts]
    assert all(amount > 0 and amount % 100 == 0 for amount in amounts)
    assert quote.final_cents == max(0, quote.base_cents - sum(amounts))
    assert quote.base_cents == (sum(prices) if prices else unchosen * terms.unit_base_price_cents)


@given(items, payment_types, st.booleans(), st.integers(min_value=0, max_value=500_00))
def test_subject_of_the_least_price_makes_no_cart_cheaper(items, payment_type, has_friend, more):
    terms = SaleTerms(volume=((2, 15_00), (3, 45_00), (4, 45_00), (6, 110_00)))
    added = Item(terms.least_subject_cents + more, complete=True)
    promo = PromoTerms("FIJO", terms.invited_cents, is_friend_code=True) if has_friend else None
    before, after = (
        quote_cart(cart, terms=terms, payment_type=payment_type, promo=promo).total_cents
        for cart in (items, [*items, added])
    )
    assert after >= before
