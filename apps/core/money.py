"""Money is integer cents in code, Decimal euros in the database and a JSON number in the API.

Rounding is half up everywhere (docs/rules.md, "Money and time"). `static_src/lib/pricing/money.ts`
is the same in the browser.
"""

import re
from decimal import ROUND_HALF_UP, Decimal

CENTS_PER_EURO = 100

# es-ES groups thousands only from five digits on: 1234,56 € but 12.345,67 €.
SMALLEST_GROUPED = 10_000
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_EUROS = re.compile(r"(?:\d+|\d{1,3}(?:\.\d{3})+(?=,))(?:[.,]\d{1,2})?", re.ASCII)


def half_up(numerator: int, denominator: int) -> int:
    """Return `numerator / denominator` rounded to the nearest whole number, halves up.

    Raises ValueError for a negative numerator, where "half up" is ambiguous, and for a denominator
    that is not positive.
    """
    if numerator < 0 or denominator <= 0:
        raise ValueError(f"half_up needs n >= 0 and d > 0, got {numerator}/{denominator}")
    return (2 * numerator + denominator) // (2 * denominator)


def list_price_cents(price_cents: int, percent: int) -> int:
    """Return the price before a discount of 0 to 99 percent that `price_cents` already includes."""
    return half_up(price_cents * 100, 100 - percent)


def to_cents(euros: Decimal) -> int:
    """Return euros as cents; fractions of a cent are rounded half up, away from zero."""
    return int((euros * CENTS_PER_EURO).quantize(Decimal(1), rounding=ROUND_HALF_UP))


def to_euros(cents: int) -> Decimal:
    """Return cents as euros with exactly two decimals, as the database keeps them."""
    return Decimal(cents).scaleb(-2)


def read_euros(text: str) -> Decimal:
    """Read "192", "192.5" or "1.234,50 €" as typed by staff.

    Raises ValueError for anything else, and for "1.234": it may mean a thousand or 1.234.
    """
    bare = text.strip().removesuffix("€").strip()
    if not _EUROS.fullmatch(bare):
        raise ValueError(f"{text!r} is no price")
    if "," in bare:
        bare = bare.replace(".", "").replace(",", ".")
    return Decimal(bare)


def as_json(cents: int) -> float:
    """Return cents as the API's number of euros, with at most two decimals.

    This is the only float for money, because JSON has no other number. Don't calculate with it.
    """
    return cents / CENTS_PER_EURO


def format_whole_euros(cents: int) -> str:
    """Return whole euros for a sentence, "30 €", and other amounts as `format_euros` does."""
    euros, rest = divmod(cents, CENTS_PER_EURO)
    return format_euros(cents) if rest else f"{euros}{NO_BREAK_SPACE}€"


def grouped(number: int) -> str:
    """A whole number as Spanish sentences write it: "9500" and "200.000"."""
    return f"{number:,}".replace(",", ".") if number >= SMALLEST_GROUPED else str(number)


def format_euros(cents: int) -> str:
    """Return cents as Spanish text, "12.345,67 €", exactly as the browser's Intl writes es-ES."""
    sign = "-" if cents < 0 else ""
    euros, rest = divmod(abs(cents), CENTS_PER_EURO)
    return f"{sign}{grouped(euros)},{rest:02}{NO_BREAK_SPACE}€"
