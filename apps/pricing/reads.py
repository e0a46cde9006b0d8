from dataclasses import asdict, replace
from datetime import datetime

from django.conf import settings

from apps.core.dates import today
from apps.core.money import as_json
from apps.core.render_memory import in_piece_of_work, read_once, remembered
from apps.pricing.models import Campaign, Terms, hours_of
from apps.pricing.rules import CampaignTerms
from apps.pricing.sale_terms import SaleTerms


@remembered
def banner_today() -> CampaignTerms | None:
    """The campaign that the home page announces today."""
    return _in_shop(Campaign.objects.filter(banner=True).in_force(today()))


@remembered
def calculator_campaigns() -> list[Campaign]:
    """The campaigns of the calculator that have not ended for good, for the table of discounts."""
    campaigns = Campaign.objects.filter(active=True, calculator=True)
    return list(campaigns.exclude(last_on__lt=today()))


def campaign_today() -> CampaignTerms | None:
    """The campaign that cart and cards have today; without one, that of the calculator."""
    in_cart, in_calculator = _campaigns_today()
    return in_cart or in_calculator


def calculator_campaign_today() -> CampaignTerms | None:
    """The campaign that the calculator has today."""
    return _campaigns_today()[1]


@remembered
def _campaigns_today() -> tuple[CampaignTerms | None, CampaignTerms | None]:
    """Today's campaigns of the cart and of the calculator: of each the largest percentage.

    Each says whether the other one has the same campaign.
    """
    day = today()
    running = Campaign.objects.running(day)
    in_cart = next((one for one in running if one.cart and not _adds_list_prices(one)), None)
    in_calculator = next((one for one in running if one.calculator), None)
    is_one = in_cart == in_calculator
    return (
        replace(in_cart.terms(day), calculator=is_one) if in_cart else None,
        replace(in_calculator.terms(day), cart=is_one) if in_calculator else None,
    )


def _adds_list_prices(campaign: Campaign | CampaignTerms) -> bool:
    """Whether the campaign only adds list prices to the cart that the shop may not cross out.

    With REQUIRE_PRICE_HISTORY such a campaign does not count there, because those list prices were
    never charged. Totals are the same with and without it.
    """
    return campaign.prices_include_it and settings.REQUIRE_PRICE_HISTORY


def _in_shop(campaign: CampaignTerms | None) -> CampaignTerms | None:
    """Return the campaign, without the cart if the shop may not cross out its list prices."""
    if campaign and _adds_list_prices(campaign):
        return replace(campaign, cart=False)
    return campaign


@read_once
def current_terms() -> SaleTerms:
    """The terms of sale in force, the same throughout a request, task or job."""
    row = Terms.objects.in_force()
    return SaleTerms() if row is None else row.values()


def terms_at(moment: datetime) -> SaleTerms:
    """The terms that were in force at that moment."""
    row = Terms.objects.in_force_at(moment)
    return SaleTerms() if row is None else row.values()


def terms_of_request() -> SaleTerms:
    """The terms in force in a request; elsewhere those of a new shop, without the database.

    For the API's description, which `check --deploy` makes where there is no database.
    """
    return current_terms() if in_piece_of_work() else SaleTerms()


def reminder_hours_ever() -> set[int]:
    """The hours of the terms in force and of all earlier ones."""
    texts = Terms.objects.values_list("reminder_hours", flat=True)
    return {*SaleTerms().reminder_hours, *(hour for text in texts for hour in hours_of(text))}


def current_pricing() -> dict[str, object]:
    """The answer of GET /api/pricing: today's numbers, which the browser calculates with."""
    return pricing_data(current_terms(), campaign_today())


def pricing_data(terms: SaleTerms, campaign: CampaignTerms | None) -> dict[str, object]:
    """The terms of sale and the campaign as GET /api/pricing has them. Amounts are in euros."""
    return {
        "currency": "EUR",
        "unit_base_price": as_json(terms.unit_base_price_cents),
        "volume": [[tier, as_json(cents)] for tier, cents in terms.volume],
        "full_payment_percent": terms.full_payment_percent,
        "invited_amount": as_json(terms.invited_cents),
        "invitee_amount": as_json(terms.invitee_cents),
        "invitee_max": terms.invitee_max,
        "installments": {
            "count": terms.instalment_count,
            "every_days": terms.instalment_every_days,
            "minimum_total": as_json(terms.instalment_minimum_total_cents),
        },
        "campaign": campaign and {**asdict(campaign), "ends_on": campaign.ends_on.isoformat()},
    }
