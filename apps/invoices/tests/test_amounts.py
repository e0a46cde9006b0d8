import pytest
from hypothesis import strategies as st

from apps.catalogue.vat import Vat
from apps.core.shares import spread
from apps.invoices.amounts import (
    breakdown,
    change_totals,
    difference,
    totals_by_rate,
)
from apps.invoices.tax_ids import is_tax_id, normalized
from tests.helpers.properties import given

CENTS = st.integers(min_value=0, max_value=2_000_000)


def test_discounts_are_spread_to_the_cent():
    assert spread(100, [1, 1, 1]) == [34, 33, 33]
    assert spread(17_700, [19_200, 5_500, 5_500]) == [11_253, 3_224, 3_223]


@given(total=CENTS, weights=st.lists(st.integers(1, 1_000_000), min_size=1, max_size=30))
def test_parts_add_up_to_their_total(total, weights):
    assert sum(spread(total, weights)) == total


def test_base_and_tax_come_from_the_total_of_each_rate():
    lines = breakdown({Vat.GENERAL: 18_240, Vat.EXEMPT: 5_000})
    assert [(line.vat, line.base, line.tax) for line in lines] == [
        ("general", 15_074, 3_166),
        ("exempt", 5_000, 0),
    ]


@given(
    cents=st.dictionaries(st.sampled_from(list(Vat)), CENTS, min_size=1),
    parts=st.lists(st.integers(1, 100), min_size=1, max_size=5),
)
def test_an_invoice_and_its_correctives_add_up_to_nothing_after_a_full_refund(cents, parts):
    totals = dict(cents)
    lines = breakdown(totals)
    refunds = spread(sum(totals.values()), parts)
    for refund in refunds:
        after = change_totals(totals, -refund)
        lines += difference(totals, after)
        totals = after
    for vat in Vat:
        assert sum(line.base for line in lines if line.vat == vat) == 0
        assert sum(line.tax for line in lines if line.vat == vat) == 0


def test_a_refund_of_some_lines_is_taken_from_their_rate_first():
    before = {Vat.GENERAL: 10_000, Vat.EXEMPT: 5_000}
    assert change_totals(before, -6_000, first=[Vat.EXEMPT]) == {
        Vat.GENERAL: 9_000,
        Vat.EXEMPT: 0,
    }
    assert change_totals(before, -3_000) == {Vat.GENERAL: 8_000, Vat.EXEMPT: 4_000}


def test_lines_of_one_rate_are_added_up():
    parts = [(Vat.EXEMPT, 1), (Vat.GENERAL, 2), (Vat.EXEMPT, 3)]
    assert totals_by_rate(parts) == {Vat.GENERAL: 2, Vat.EXEMPT: 4}


@pytest.mark.parametrize(
    ("country", "tax_id"),
    [
        ("ES", "12345678Z"),  # DNI
        ("ES", "X1234567L"),  # NIE
        ("ES", "ES12345678Z"),
        ("ES", "A58818501"),  # company with a digit
        ("ES", "Q2826000H"),  # public body with a letter
        ("DE", "DE123456789"),
        ("GR", "EL123456789"),
        ("NL", "NL123456789B01"),
    ],
)
def test_right_numbers_are_accepted(country, tax_id):
    assert is_tax_id(tax_id, country)


@pytest.mark.parametrize(
    ("country", "tax_id"),
    [
        ("ES", "12345678A"),
        ("ES", "X1234567T"),
        ("ES", "A58818502"),
        ("ES", "Q28260008"),
        ("ES", "1234567Z"),
        ("ES", "ES"),
        ("DE", "123456789"),
        ("DE", "DE12345678"),
        ("US", "US123456789"),
        ("ES", "١٢٣٤٥٦٧٨Z"),
    ],
)
def test_wrong_numbers_are_refused(country, tax_id):
    assert not is_tax_id(tax_id, country)


def test_spaces_dots_and_hyphens_are_left_out():
    assert normalized(" 12.345.678-z ") == "12345678Z"
