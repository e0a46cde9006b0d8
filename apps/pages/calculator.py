"""What the calculator of home and prices starts from."""

from typing import Any

from apps.core.clock import today
from apps.core.context import academy_props
from apps.pricing.reads import current_pricing

_DATE_RANGES = {8: "august", 9: "september"}


def calculator_props() -> dict[str, Any]:
    """The props of the calculator island: the numbers of today, by the server's date."""
    return {
        "academy": academy_props(),
        "pricing": current_pricing(),
        "date_range": _DATE_RANGES.get(today().month, "other"),
    }
