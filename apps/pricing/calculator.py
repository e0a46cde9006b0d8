"""The price of the budget calculator, as pure functions on integer cents.

`static_src/lib/pricing/calculator.ts` applies the same rules in the browser, and both are tested
with `golden_cases.json`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from apps.core.money import CENTS_PER_EURO, half_up
from apps.pricing.rules import (
    FULL_PAYMENT_NAME,
    PERCENT,
    VOLUME_NAME,
    CampaignTerms,
    Discount,
    DiscountKind,
)
from apps.pricing.sale_terms import SaleTerms

DateRange = Literal["august", "september", "other"]

# The most subjects of a budget.
MAX_SUBJECTS = 6
FRIEND_CODE_NAME = "Código de amigo"
FRIENDS_NAME = "Amigos invitados"
_DATE_RANGES: dict[int, DateRange] = {8: "august", 9: "september"}


@dataclass(frozen=True)
class CalculatorQuote:
    """The calculator's result: the final price is the base less all discounts, never below 0."""

    base_cents: int
    discounts: tuple[Discount, ...]
    final_cents: int


def date_range_of(day: date) -> DateRange:
    """Return the calculator's date range of a day: two months have a campaign of their own."""
    return _DATE_RANGES.get(day.month, "other")


def quote_calculator(
    subject_prices_cents: Sequence[int],
    *,
    terms: SaleTerms,
    number_of_subjects: int,
    full_payment: bool,
    has_friend_code: bool,
    friends: int,
    campaign: CampaignTerms | None = None,
) -> CalculatorQuote:
    """Return the price of a budget (docs/rules.md, "Calculator").

    If no subject is chosen, the base is the unit price times `number_of_subjects`. Percentages are
    taken of the base and rounded half up to whole euros. `has_friend_code` means that the visitor
    typed a friend code. `friends` is the number of friends whom the visitor will invite, of whom no
    more than the maximum count. Raises ValueError if the number of prices is neither 0 nor
    `number_of_subjects`.
    """
    if subject_prices_cents and len(subject_prices_cents) != number_of_subjects:
        raise ValueError(f"{len(subject_prices_cents)} prices for {number_of_subjects} subjects")
    base_cents = (
        sum(subject_prices_cents)
        if subject_prices_cents
        else number_of_subjects * terms.unit_base_price_cents
    )
    discounts = [_volume(number_of_subjects, terms)]
    if campaign is not None and campaign.calculator:
        discounts.append(_campaign(base_cents, campaign))
    if full_payment:
        discounts.append(_full_payment(base_cents, terms))
    if has_friend_code:
        discounts.append(Discount(DiscountKind.FRIEND_CODE, FRIEND_CODE_NAME, terms.invited_cents))
    discounts.append(_friends(friends, terms))

    listed = tuple(discount for discount in discounts if discount.amount_cents > 0)
    off_cents = sum(discount.amount_cents for discount in listed)
    return CalculatorQuote(base_cents, listed, max(0, base_cents - off_cents))


def _volume(subjects: int, terms: SaleTerms) -> Discount:
    return Discount(DiscountKind.VOLUME, VOLUME_NAME, terms.volume_discount_cents(subjects))


def _campaign(base_cents: int, campaign: CampaignTerms) -> Discount:
    cents = _whole_euros_of(base_cents, campaign.percent)
    return Discount(DiscountKind.CAMPAIGN, campaign.discount_name, cents)


def _full_payment(base_cents: int, terms: SaleTerms) -> Discount:
    percent = terms.full_payment_percent
    name = FULL_PAYMENT_NAME.format(percent=percent)
    return Discount(DiscountKind.FULL_PAYMENT, name, _whole_euros_of(base_cents, percent))


def _friends(friends: int, terms: SaleTerms) -> Discount:
    cents = min(friends, terms.invitee_max) * terms.invitee_cents
    return Discount(DiscountKind.FRIENDS, FRIENDS_NAME, cents)


def _whole_euros_of(cents: int, percent: int) -> int:
    return half_up(cents * percent, PERCENT * CENTS_PER_EURO) * CENTS_PER_EURO
