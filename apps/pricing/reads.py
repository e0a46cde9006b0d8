from dataclasses import asdict, replace

from django.conf import settings

from apps.core.dates import today
from apps.core.money import as_json
from apps.core.render_memory import remembered
from apps.pricing.instalment_plan import InstalmentPlan
from apps.pricing.models import Campaign
from apps.pricing.rules import PRICING, CampaignTerms


@remembered
def banner_today() -> CampaignTerms | None:
    """The campaign that the home page announces today."""
    return Campaign.objects.filter(banner=True).in_force(today())


@remembered
def calculator_campaigns() -> list[Campaign]:
    """The campaigns of the calculator that have not ended for good, for the table of discounts."""
    campaigns = Campaign.objects.filter(active=True, calculator=True)
    return list(campaigns.exclude(last_on__lt=today()))


@remembered
def campaign_today() -> CampaignTerms | None:
    """The campaign that runs today.

    A campaign that prices already include only adds list prices to the cart. With
    REQUIRE_PRICE_HISTORY it does not count in the cart, because those list prices were never
    charged. Totals are the same with and without it.
    """
    campaign = Campaign.objects.in_force(today())
    if campaign and campaign.prices_include_it and settings.REQUIRE_PRICE_HISTORY:
        return replace(campaign, cart=False)
    return campaign


def instalment_plan_on_sale() -> InstalmentPlan:
    """The plan of new orders. An order keeps the plan that it was sold with."""
    return InstalmentPlan(settings.INSTALMENT_COUNT, settings.INSTALMENT_EVERY_DAYS)


def current_pricing() -> dict[str, object]:
    """The answer of GET /api/pricing: today's numbers, which the browser calculates with."""
    return pricing_data(campaign_today(), instalment_plan_on_sale())


def pricing_data(campaign: CampaignTerms | None, plan: InstalmentPlan) -> dict[str, object]:
    """The constants, plan and campaign as GET /api/pricing has them. Amounts are in euros."""
    return {
        "currency": "EUR",
        "unit_base_price": as_json(PRICING.unit_base_price_cents),
        "volume": [[tier, as_json(cents)] for tier, cents in PRICING.volume],
        "full_payment_percent": PRICING.full_payment_percent,
        "invited_amount": as_json(PRICING.invited_cents),
        "invitee_amount": as_json(PRICING.invitee_cents),
        "invitee_max": PRICING.invitee_max,
        "installments": {
            "count": plan.count,
            "every_days": plan.every_days,
            "minimum_total": as_json(PRICING.instalment_minimum_total_cents),
        },
        "campaign": campaign and {**asdict(campaign), "ends_on": campaign.ends_on.isoformat()},
    }
