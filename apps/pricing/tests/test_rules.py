"""The price rules against the golden cases that the browser's twin runs, too."""

import json
from datetime import date
from pathlib import Path

import pytest

from apps.pricing.rules import (
    CampaignTerms,
    CartLine,
    Discount,
    Item,
    OfferTerms,
    PromoTerms,
    SubjectCard,
    instalments_refusal,
    offer_mismatch,
    pricing_data,
    promo_discount_cents,
    quote_calculator,
    quote_cart,
    split_instalments,
    subject_card,
)

GOLDEN = json.loads((Path(__file__).parents[1] / "golden_cases.json").read_text(encoding="utf-8"))


def named(case):
    return case["name"]


def campaign_terms(name):
    if name is None:
        return None
    data = GOLDEN["campaigns"][name]
    return CampaignTerms(**{**data, "ends_on": date.fromisoformat(data["ends_on"])})


def items_of(case):
    subjects = [Item(price, complete=True) for price in case["subjects"]]
    return subjects + [Item(price, complete=False) for price in case["lessons"]]


def discounts_of(case):
    return tuple(Discount(name, amount) for name, amount in case["discounts"])


def test_there_are_at_least_sixty_golden_cases():
    assert len(GOLDEN["cart"]) + len(GOLDEN["calculator"]) >= 60


@pytest.mark.parametrize("case", GOLDEN["cart"], ids=named)
def test_a_cart_costs_what_was_worked_out(case):
    quote = quote_cart(
        items_of(case),
        payment_type=case["payment_type"],
        campaign=campaign_terms(case["campaign"]),
        promo=PromoTerms(**case["promo"]) if case["promo"] else None,
        binding_cents=case.get("binding"),
    )
    prices = case["subjects"] + case["lessons"]
    assert quote.lines == tuple(map(CartLine, case["list_prices"], prices))
    assert quote.discounts == discounts_of(case)
    assert quote.total_cents == case["total"]
    assert quote.due_now_cents(case["payment_type"]) == case["due_now"]
    assert quote.list_total_cents == sum(case["list_prices"])
    assert quote.subtotal_cents == sum(prices)
    assert quote.promo_cents == dict(case["discounts"]).get("Código promocional", 0)


@pytest.mark.parametrize("case", GOLDEN["offers"], ids=named)
def test_a_quote_binds_for_exactly_what_was_quoted(case):
    quoted = case["quoted"]
    terms = OfferTerms(frozenset(quoted["subjects"]), quoted["payment_type"], quoted["price"])
    chosen = [(subject_id, Item(cents, complete)) for subject_id, cents, complete in case["cart"]]

    assert offer_mismatch(terms, chosen, payment_type=case["payment_type"]) == case["mismatch"]


@pytest.mark.parametrize("cents", [-1, 19201])
def test_a_price_above_today_s_binds_nobody(cents):
    with pytest.raises(ValueError, match="binds nobody"):
        quote_cart([Item(19200, complete=True)], payment_type="installment", binding_cents=cents)


@pytest.mark.parametrize("case", GOLDEN["calculator"], ids=named)
def test_a_budget_costs_what_was_worked_out(case):
    quote = quote_calculator(
        case["subject_prices"],
        number_of_subjects=case["number_of_subjects"],
        full_payment=case["full_payment"],
        invited_with_code=case["invited_with_code"],
        invitees=case["invitees"],
        campaign=campaign_terms(case["campaign"]),
    )
    assert quote.base_cents == case["base"]
    assert quote.discounts == discounts_of(case)
    assert quote.final_cents == case["final"]


@pytest.mark.parametrize("case", GOLDEN["instalments"], ids=lambda case: str(case["total"]))
def test_instalments_put_the_remainder_on_the_first(case):
    assert split_instalments(case["total"]) == tuple(case["payments"])


@pytest.mark.parametrize("case", GOLDEN["instalment_refusals"], ids=named)
def test_instalments_need_a_complete_subject_and_thirty_euros(case):
    assert instalments_refusal(items_of(case), case["total"]) == case["refusal"]


@pytest.mark.parametrize("case", GOLDEN["subject_cards"])
def test_a_card_shows_the_list_price_and_the_discount_in_whole_euros(case):
    assert subject_card(case["final_price"], case["total_discounts"]) == SubjectCard(
        list_price_cents=case["list_price"], discount_euros=case["discount_euros"]
    )


def test_the_browser_gets_the_same_numbers():
    assert pricing_data(None) == GOLDEN["pricing"]


@pytest.mark.parametrize("name", GOLDEN["campaigns"])
def test_the_browser_gets_the_campaign_in_force(name):
    expected = {**GOLDEN["pricing"], "campaign": GOLDEN["campaigns"][name]}
    assert json.loads(json.dumps(pricing_data(campaign_terms(name)))) == expected


def test_a_partial_choice_of_subjects_is_refused():
    with pytest.raises(ValueError, match="1 prices for 2 subjects"):
        quote_calculator(
            [24000], number_of_subjects=2, full_payment=False, invited_with_code=False, invitees=0
        )


@pytest.mark.parametrize("percent", [-1, 0, 100, 101])
def test_a_campaign_of_nothing_or_everything_is_refused(percent):
    with pytest.raises(ValueError, match="1 to 99 percent"):
        CampaignTerms("Agosto", percent, True, True, True, date(2026, 8, 31))


@pytest.mark.parametrize(
    ("kind", "value"), [("PORCENTAJE", -1), ("PORCENTAJE", 10_001), ("FIJO", -1)]
)
def test_a_promo_code_that_adds_or_takes_more_than_everything_is_refused(kind, value):
    with pytest.raises(ValueError, match=f"{value} is no value for a {kind} code"):
        PromoTerms(kind, value)


def test_a_negative_price_is_refused():
    with pytest.raises(ValueError, match="never negative"):
        Item(-1, complete=True)


@pytest.mark.parametrize("percent", [-1, 100])
def test_a_card_without_a_list_price_is_refused(percent):
    with pytest.raises(ValueError, match="0 to 99 percent"):
        subject_card(19200, percent)


def test_a_code_on_a_bare_total_never_takes_more_than_it():
    assert promo_discount_cents(PromoTerms("FIJO", 5000), 3000) == 3000
    assert promo_discount_cents(PromoTerms("PORCENTAJE", 10_000), 3000) == 3000
    assert promo_discount_cents(PromoTerms("PORCENTAJE", 1050), 3000) == 315
