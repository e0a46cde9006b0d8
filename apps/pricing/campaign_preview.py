"""What a campaign does to prices, shown on real subjects before it runs."""

from dataclasses import dataclass
from datetime import date

from apps.catalogue.models import Subject
from apps.core.money import format_euros, to_cents
from apps.pricing.calculator import quote_calculator
from apps.pricing.models import Campaign
from apps.pricing.payment_type import PaymentType
from apps.pricing.rules import CampaignTerms, Item, quote_cart, subject_card

SHOWN = 3


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
    terms = campaign.terms(day)
    subjects = Subject.objects.on_sale().most_enrolled_first()[:SHOWN]
    return [
        _preview(name, to_cents(price), terms)
        for name, price in subjects.values_list("name", "final_price")
    ]


def _preview(name: str, cents: int, terms: CampaignTerms) -> PricePreview:
    return PricePreview(
        name,
        card=(cents, subject_card(cents, 0, campaign=terms).price_cents),
        calculator=(_calculated(cents, None), _calculated(cents, terms)),
        cart=(_in_cart(cents, None), _in_cart(cents, terms)),
    )


def _calculated(cents: int, terms: CampaignTerms | None) -> int:
    return quote_calculator(
        [cents],
        number_of_subjects=1,
        full_payment=False,
        invited_with_code=False,
        invitees=0,
        campaign=terms,
    ).final_cents


def _in_cart(cents: int, terms: CampaignTerms | None) -> int:
    items = [Item(cents, complete=True)]
    return quote_cart(items, payment_type=PaymentType.INSTALMENTS, campaign=terms).total_cents


def shown_change(cents: tuple[int, int]) -> str:
    """Return "192,00 € → 153,60 €", or one price that stays."""
    before, after = map(format_euros, cents)
    return before if before == after else f"{before} → {after}"
