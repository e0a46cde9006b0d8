"""The price rules, tested with the golden cases of `static_src/lib/pricing/quote.test.ts`."""

import json
from datetime import date
from pathlib import Path

import pytest

from apps.pricing.calculator import quote_calculator
from apps.pricing.instalments import due_now_cents, instalments_refusal
from apps.pricing.reads import pricing_data
from apps.pricing.rules import (
    CampaignTerms,
    Item,
    PromoTerms,
    QuoteTerms,
    SubjectCard,
    campaign_for,
    promo_discount_cents,
    quote_cart,
    quote_mismatch,
    subject_card,
)
from apps.pricing.sale_terms import SaleTerms

GOLDEN = json.loads((Path(__file__).parents[1] / "golden_cases.json").read_text(encoding="utf-8"))
TERMS = SaleTerms()


def named(case):
    return case["name"]


def sale_terms(case):
    """The terms of sale of the case: `pricing` of the golden cases, or the terms that it names."""
    name = case.get("terms")
    data = GOLDEN["terms"][name] if name else GOLDEN["pricing"]
    plan = data["installments"]
    return SaleTerms(
        volume=tuple((tier, round(euros * 100)) for tier, euros in data["volume"]),
        full_payment_percent=data["full_payment_percent"],
        unit_base_price_cents=round(data["unit_base_price"] * 100),
        invited_cents=round(data["invited_amount"] * 100),
        invitee_cents=round(data["invitee_amount"] * 100),
        invitee_max=data["invitee_max"],
        instalment_count=plan["count"],
        instalment_every_days=plan["every_days"],
        instalment_minimum_total_cents=round(plan["minimum_total"] * 100),
    )


def campaign_terms(name):
    if name is None:
        return None
    data = GOLDEN["campaigns"][name]
    return CampaignTerms(**{**data, "ends_on": date.fromisoformat(data["ends_on"])})


def campaigns_of(case):
    """The campaigns of the case in the server's order."""
    for_all = campaign_terms(case.get("campaign"))
    own = [degree_campaign(name) for name in case.get("degree_campaigns", ())]
    found = [*own, for_all] if for_all else own
    return sorted(found, key=lambda one: -one.percent)


def degree_campaign(name):
    data = dict(GOLDEN["degree_campaigns"][name])
    degree_ids = frozenset(data.pop("degree_ids"))
    ends_on = date.fromisoformat(data.pop("ends_on"))
    return CampaignTerms(**data, ends_on=ends_on, degree_ids=degree_ids)


def items_of(case):
    prices = [*case["subjects"], *case["lessons"]]
    degrees = case.get("degrees", [None] * len(prices))
    paid = case.get("paid", []) + [0] * len(prices)
    return [
        Item(price, at < len(case["subjects"]), degree_id=degree, paid_cents=paid[at])
        for at, (price, degree) in enumerate(zip(prices, degrees, strict=True))
    ]


def listed(quote):
    return [[discount.name, discount.amount_cents] for discount in quote.discounts]


def test_there_are_at_least_sixty_golden_cases():
    assert len(GOLDEN["cart"]) + len(GOLDEN["calculator"]) >= 60


@pytest.mark.parametrize("case", GOLDEN["cart"], ids=named)
def test_cart_price_matches_the_golden_case(case):
    quote = quote_cart(
        items_of(case),
        terms=sale_terms(case),
        payment_type=case["payment_type"],
        campaigns=campaigns_of(case),
        promo=PromoTerms(**case["promo"]) if case["promo"] else None,
        binding_cents=case.get("binding"),
    )
    prices = case["subjects"] + case["lessons"]
    assert [(line.list_price_cents, line.price_cents) for line in quote.lines] == list(
        zip(case["list_prices"], prices, strict=True)
    )
    assert sum(line.credit_cents for line in quote.lines) == dict(case["discounts"]).get(
        "Ya pagado por tus lecciones", 0
    )
    assert listed(quote) == case["discounts"]
    assert quote.total_cents == case["total"]
    plan, how = sale_terms(case).plan, case["payment_type"]
    assert due_now_cents(plan, quote.total_cents, how) == case["due_now"]
    assert quote.list_total_cents == sum(case["list_prices"])
    assert quote.subtotal_cents == sum(prices)
    assert quote.promo_cents == dict(case["discounts"]).get("Código promocional", 0)


@pytest.mark.parametrize("case", GOLDEN["offers"], ids=named)
def test_quote_binds_only_for_its_subjects_and_payment_type(case):
    quoted = case["quoted"]
    binding = QuoteTerms(frozenset(quoted["subjects"]), quoted["payment_type"], quoted["price"])
    chosen = [Item(cents, complete, subject_id) for subject_id, cents, complete in case["cart"]]

    mismatch = quote_mismatch(
        binding,
        chosen,
        terms=sale_terms(case),
        payment_type=case["payment_type"],
        campaigns=campaigns_of(case),
    )
    assert mismatch == case["mismatch"]


@pytest.mark.parametrize("cents", [-1, 19201])
def test_binding_price_outside_zero_and_the_subtotal_is_refused(cents):
    with pytest.raises(ValueError, match="can't bind"):
        quote_cart(
            [Item(19200, complete=True)],
            terms=TERMS,
            payment_type="installment",
            binding_cents=cents,
        )


@pytest.mark.parametrize("case", GOLDEN["calculator"], ids=named)
def test_calculator_price_matches_the_golden_case(case):
    quote = quote_calculator(
        case["subject_prices"],
        terms=sale_terms(case),
        number_of_subjects=case["number_of_subjects"],
        full_payment=case["full_payment"],
        has_friend_code=case["has_friend_code"],
        friends=case["friends"],
        campaign=campaign_for(
            [one for one in campaigns_of(case) if one.calculator], case.get("degree")
        ),
    )
    assert quote.base_cents == case["base"]
    assert listed(quote) == case["discounts"]
    assert quote.final_cents == case["final"]


def test_campaigns_that_only_the_calculator_takes_off_match_the_golden_cases():
    only = [name for name in GOLDEN["campaigns"] if campaign_terms(name).only_in_calculator]
    assert only == GOLDEN["only_in_calculator"]


@pytest.mark.parametrize(
    "case", GOLDEN["instalments"], ids=lambda case: f"{case['total']}{case.get('terms', '')}"
)
def test_first_instalment_includes_the_remainder_of_the_division(case):
    assert sale_terms(case).plan.split(case["total"]) == tuple(case["payments"])


@pytest.mark.parametrize("case", GOLDEN["instalment_refusals"], ids=named)
def test_instalments_require_a_complete_subject_and_the_minimum(case):
    refusal = instalments_refusal(
        case["total"],
        has_complete_subject=bool(case["subjects"]),
        minimum_cents=sale_terms(case).instalment_minimum_total_cents,
    )
    assert refusal == case["refusal"]


@pytest.mark.parametrize("case", GOLDEN["subject_cards"])
def test_card_has_price_list_price_and_the_discount_in_whole_euros(case):
    card = subject_card(
        case["final_price"],
        case["total_discounts"],
        campaign=campaign_terms(case["campaign"]),
        lowest_cents=case["lowest"],
    )
    assert card == SubjectCard(case["list_price"], case["price"], case["discount_euros"])


def test_terms_of_a_new_shop_are_those_of_the_golden_cases():
    assert sale_terms({}) == TERMS
    assert pricing_data(TERMS, ()) == GOLDEN["pricing"]


@pytest.mark.parametrize("name", GOLDEN["terms"])
def test_pricing_data_has_the_terms_of_sale(name):
    assert pricing_data(sale_terms({"terms": name}), ()) == GOLDEN["terms"][name]


@pytest.mark.parametrize("name", GOLDEN["campaigns"])
def test_pricing_data_has_the_running_campaign(name):
    expected = {**GOLDEN["pricing"], "campaign": GOLDEN["campaigns"][name]}
    assert json.loads(json.dumps(pricing_data(TERMS, [campaign_terms(name)]))) == expected


@pytest.mark.parametrize("name", GOLDEN["degree_campaigns"])
def test_pricing_data_has_the_campaigns_of_degrees(name):
    expected = {**GOLDEN["pricing"], "degree_campaigns": [GOLDEN["degree_campaigns"][name]]}
    assert json.loads(json.dumps(pricing_data(TERMS, [degree_campaign(name)]))) == expected


def test_calculator_refuses_fewer_prices_than_subjects():
    with pytest.raises(ValueError, match="1 prices for 2 subjects"):
        quote_calculator(
            [24000],
            terms=TERMS,
            number_of_subjects=2,
            full_payment=False,
            has_friend_code=False,
            friends=0,
        )


@pytest.mark.parametrize("percent", [-1, 0, 100, 101])
def test_campaign_below_1_or_above_99_percent_is_refused(percent):
    with pytest.raises(ValueError, match="1 to 99 percent"):
        CampaignTerms("Agosto", percent, True, True, True, date(2026, 8, 31))


@pytest.mark.parametrize(
    ("kind", "value"), [("PORCENTAJE", -1), ("PORCENTAJE", 10_001), ("FIJO", -1)]
)
def test_promo_value_below_zero_or_above_100_percent_is_refused(kind, value):
    with pytest.raises(ValueError, match=f"{value} is no value for a {kind} code"):
        PromoTerms(kind, value)


def test_negative_price_is_refused():
    with pytest.raises(ValueError, match="never negative"):
        Item(-1, complete=True)


@pytest.mark.parametrize("percent", [-1, 100])
def test_card_discount_outside_0_to_99_percent_is_refused(percent):
    with pytest.raises(ValueError, match="0 to 99 percent"):
        subject_card(19200, percent)


def test_promo_discount_is_at_most_the_remaining_amount():
    assert promo_discount_cents(PromoTerms("FIJO", 5000), 3000) == 3000
    assert promo_discount_cents(PromoTerms("PORCENTAJE", 10_000), 3000) == 3000
    assert promo_discount_cents(PromoTerms("PORCENTAJE", 1050), 3000) == 315
