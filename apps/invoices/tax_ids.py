"""Tax numbers: the Spanish NIF and NIE with their control characters, EU VAT numbers by form.

Sources: Real Decreto 1065/2007, articles 18 to 28, Orden EHA/451/2008 (companies), and
https://ec.europa.eu/taxation_customs/vies/ (the form of each country's numbers).
"""

import re

_PERSON_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_COMPANY_LETTERS = "JABCDEFGHI"
_PERSON = re.compile(r"(?:\d{8}|[XYZ]\d{7}|[KLM]\d{7})[A-Z]", re.ASCII)
_COMPANY = re.compile(r"[ABCDEFGHJNPQRSUVW]\d{7}[0-9A-J]", re.ASCII)
# The control character of these companies is always a letter, of those always a digit.
_WITH_LETTER = "NPQRSW"
_WITH_DIGIT = "ABEH"

# The countries of the EU with the form of their VAT numbers after the prefix.
_EU_VAT = {
    "AT": r"U\d{8}",
    "BE": r"[01]\d{9}",
    "BG": r"\d{9,10}",
    "CY": r"\d{8}[A-Z]",
    "CZ": r"\d{8,10}",
    "DE": r"\d{9}",
    "DK": r"\d{8}",
    "EE": r"\d{9}",
    "FI": r"\d{8}",
    "FR": r"[A-HJ-NP-Z0-9]{2}\d{9}",
    "GR": r"\d{9}",
    "HR": r"\d{11}",
    "HU": r"\d{8}",
    "IE": r"\d[A-Z0-9+*]\d{5}[A-Z]{1,2}",
    "IT": r"\d{11}",
    "LT": r"(?:\d{9}|\d{12})",
    "LU": r"\d{8}",
    "LV": r"\d{11}",
    "MT": r"\d{8}",
    "NL": r"[A-Z0-9+*]{10}\d{2}",
    "PL": r"\d{10}",
    "PT": r"\d{9}",
    "RO": r"\d{2,10}",
    "SE": r"\d{12}",
    "SI": r"\d{8}",
    "SK": r"\d{10}",
}
# Greek VAT numbers have a prefix of their own.
_PREFIX = {"GR": "EL"}
COUNTRIES = {
    "ES": "España",
    "DE": "Alemania",
    "AT": "Austria",
    "BE": "Bélgica",
    "BG": "Bulgaria",
    "CZ": "Chequia",
    "CY": "Chipre",
    "HR": "Croacia",
    "DK": "Dinamarca",
    "SK": "Eslovaquia",
    "SI": "Eslovenia",
    "EE": "Estonia",
    "FI": "Finlandia",
    "FR": "Francia",
    "GR": "Grecia",
    "HU": "Hungría",
    "IE": "Irlanda",
    "IT": "Italia",
    "LV": "Letonia",
    "LT": "Lituania",
    "LU": "Luxemburgo",
    "MT": "Malta",
    "NL": "Países Bajos",
    "PL": "Polonia",
    "PT": "Portugal",
    "RO": "Rumanía",
    "SE": "Suecia",
}


def normalized(tax_id: str) -> str:
    """The number in capitals, without spaces, dots and hyphens."""
    return re.sub(r"[\s.\-/]", "", tax_id).upper()


def is_tax_id(tax_id: str, country: str) -> bool:
    """Whether a normalized number is one of this country. VAT numbers have their prefix."""
    if country == "ES":
        return is_spanish_tax_id(tax_id.removeprefix("ES"))
    form, prefix = _EU_VAT.get(country), _PREFIX.get(country, country)
    return (
        form is not None
        and tax_id.startswith(prefix)
        and re.fullmatch(form, tax_id.removeprefix(prefix), re.ASCII) is not None
    )


def is_spanish_tax_id(tax_id: str) -> bool:
    """Whether the number is a NIF or NIE with the right control character."""
    if _PERSON.fullmatch(tax_id):
        return _is_of_person(tax_id)
    return _COMPANY.fullmatch(tax_id) is not None and _is_of_company(tax_id)


def _is_of_person(tax_id: str) -> bool:
    first, rest = tax_id[0], tax_id[1:-1]
    # X, Y and Z stand for 0, 1 and 2. K, L and M are not counted.
    digits = {"X": "0", "Y": "1", "Z": "2", "K": "", "L": "", "M": ""}.get(first, first) + rest
    return _PERSON_LETTERS[int(digits) % 23] == tax_id[-1]


def _is_of_company(tax_id: str) -> bool:
    digits = [int(digit) for digit in tax_id[1:8]]
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[::2])
    control = -(doubled + sum(digits[1::2])) % 10
    letter, digit = _COMPANY_LETTERS[control], str(control)
    if tax_id[0] in _WITH_LETTER:
        return tax_id[-1] == letter
    if tax_id[0] in _WITH_DIGIT:
        return tax_id[-1] == digit
    return tax_id[-1] in (letter, digit)
