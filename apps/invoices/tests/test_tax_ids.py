import pytest

from apps.invoices.tax_ids import is_tax_id, normalized


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
