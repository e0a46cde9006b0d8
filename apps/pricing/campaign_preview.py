"""What a campaign does to prices, shown on real subjects before it runs.

The price in the cart is that of an offer, which `apps.orders` makes and registers here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from apps.catalogue.models import Subject
from apps.core.money import format_euros, to_cents
from apps.pricing.calculator import quote_calculator
from apps.pricing.models import Campaign
from apps.pricing.reads import current_terms
from apps.pricing.rules import Campaigns, CampaignTerms, subject_card
from apps.pricing.sale_terms import SaleTerms

SHOWN = 3


# Returns the total in cents of a whole subject in the cart, paid in instalments.
CartPrice = Callable[[Subject, SaleTerms, Campaigns], int]
_cart_prices: list[CartPrice] = []


def price_carts_with(price: CartPrice) -> None:
    """Register how carts are priced. Called once when the program starts."""
    _cart_prices[:] = [price]


@dataclass(frozen=True)
class PricePreview:
    """The prices of a subject without and with the campaign, as (before, after) in cents."""

    subject: str
    card: tuple[int, int]
    calculator: tuple[int, int]
    cart: tuple[int, int]


def preview_campaign(campaign: Campaign, day: date) -> list[PricePreview]:
    """Return what the campaign does to the three subjects with the most students.

    The prices are those of one subject paid in instalments, so that no other discount counts.
    """
    shown, terms = campaign.terms(day), current_terms()
    subjects = Subject.objects.on_sale().most_enrolled_first()
    if shown.degree_ids is not None:
        subjects = subjects.filter(degree__in=shown.degree_ids)
    return [_preview(subject, shown, terms) for subject in subjects[:SHOWN]]


def _preview(subject: Subject, campaign: CampaignTerms, terms: SaleTerms) -> PricePreview:
    cents, (in_cart,) = to_cents(subject.final_price), _cart_prices
    return PricePreview(
        subject.name,
        card=(cents, subject_card(cents, 0, campaign=campaign).price_cents),
        calculator=(_calculated(cents, None, terms), _calculated(cents, campaign, terms)),
        cart=(in_cart(subject, terms, ()), in_cart(subject, terms, (campaign,))),
    )


def _calculated(cents: int, campaign: CampaignTerms | None, terms: SaleTerms) -> int:
    return quote_calculator(
        [cents],
        terms=terms,
        number_of_subjects=1,
        full_payment=False,
        has_friend_code=False,
        friends=0,
        campaign=campaign,
    ).final_cents


def shown_change(cents: tuple[int, int]) -> str:
    """Return "192,00 € → 153,60 €", or one price that stays."""
    before, after = map(format_euros, cents)
    return before if before == after else f"{before} → {after}"
