from dataclasses import replace

from django.conf import settings

from apps.core.clock import today
from apps.pricing.models import Campaign
from apps.pricing.rules import CampaignTerms, pricing_data


def campaign_today() -> CampaignTerms | None:
    """The campaign in force today.

    With REQUIRE_PRICE_HISTORY a campaign that prices already include stays out of the cart: all it
    does there is to show list prices that were never charged. Totals are the same without it.
    """
    campaign = Campaign.objects.in_force(today())
    if campaign and campaign.prices_include_it and settings.REQUIRE_PRICE_HISTORY:
        return replace(campaign, cart=False)
    return campaign


def current_pricing() -> dict[str, object]:
    """The numbers of today that the browser calculates with: GET /api/pricing (api.md)."""
    return pricing_data(campaign_today())
