from typing import Any

from apps.core.dates import today
from apps.core.web.context import academy_props
from apps.pricing.calculator import date_range_of
from apps.pricing.reads import calculator_campaign_today, current_terms, pricing_data


def calculator_props() -> dict[str, Any]:
    """The props of the calculator island, on the home page and on /precios."""
    return {
        "academy": academy_props(),
        "pricing": pricing_data(current_terms(), calculator_campaign_today()),
        "date_range": date_range_of(today()),
    }
