from apps.core.clock import today
from apps.pricing.models import Campaign
from apps.pricing.rules import CampaignTerms, pricing_data


def campaign_today() -> CampaignTerms | None:
    return Campaign.objects.in_force(today())


def current_pricing() -> dict[str, object]:
    """The numbers of today that the browser calculates with: GET /api/pricing (api.md)."""
    return pricing_data(campaign_today())
