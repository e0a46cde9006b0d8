import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import strategies as st

from apps.core.money import (
    as_json,
    format_euros,
    format_whole_euros,
    grouped,
    half_up,
    to_cents,
    to_euros,
)
from tests.helpers.properties import given

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "pricing" / "golden_cases.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", GOLDEN["money"], ids=lambda case: str(case["cents"]))
def test_cents_are_formatted_as_spanish_text_and_as_a_json_number(case):
    assert format_euros(case["cents"]) == case["text"]
    assert json.dumps(as_json(case["cents"])) == json.dumps(float(case["json"]))


@pytest.mark.parametrize(("numerator", "denominator", "expected"), GOLDEN["half_up"])
def test_halves_are_rounded_up(numerator, denominator, expected):
    assert half_up(numerator, denominator) == expected


@pytest.mark.parametrize(("numerator", "denominator"), [(-1, 2), (1, 0), (1, -2)])
def test_half_up_refuses_negative_numerators_and_invalid_denominators(numerator, denominator):
    with pytest.raises(ValueError, match="half_up needs"):
        half_up(numerator, denominator)


@pytest.mark.parametrize(
    ("euros", "cents"),
    [
        ("0", 0),
        ("55", 5500),
        ("55.1", 5510),
        ("0.005", 1),
        ("0.0049", 0),
        ("1.005", 101),
        ("2.675", 268),
        ("999999.99", 99999999),
        ("-15.00", -1500),
    ],
)
def test_euros_are_converted_to_cents_half_up(euros, cents):
    assert to_cents(Decimal(euros)) == cents


@pytest.mark.parametrize(("cents", "text"), [(0, "0.00"), (5, "0.05"), (5510, "55.10")])
def test_cents_are_converted_to_euros_with_two_decimals(cents, text):
    assert str(to_euros(cents)) == text


@given(st.integers(min_value=-99_999_999, max_value=99_999_999))
def test_conversions_and_formats_lose_no_cent(cents):
    assert to_cents(to_euros(cents)) == cents
    assert to_cents(Decimal(json.dumps(as_json(cents)))) == cents
    digits = format_euros(cents).removesuffix("\N{NO-BREAK SPACE}€").replace(".", "")
    assert to_cents(Decimal(digits.replace(",", "."))) == cents


def test_numbers_in_a_sentence_are_grouped_from_five_digits():
    assert [grouped(number) for number in (0, 9999, 10_000, 200_000)] == [
        "0", "9999", "10.000", "200.000"
    ]  # fmt: skip


def test_whole_euros_in_a_sentence_have_no_decimals():
    assert format_whole_euros(30_00) == "30\xa0€"
    assert format_whole_euros(30_50) == format_euros(30_50)
