"""Placeholders in answers and price plans, such as `{{ degrees }}`, for what the shop knows."""

from django.core.exceptions import ValidationError

from apps.core.legal.placeholders import PLACEHOLDER
from apps.pricing.text_values import PLACEHOLDERS

# `Claims.fill` has their values.
NAMES = (
    "teachers", "degrees", "degrees_count", "open_universities", "coming_universities",
    "other_payments", "payment_methods", "payments_by_request", "support_email", *PLACEHOLDERS,
)  # fmt: skip


def check_placeholders(text: str) -> None:
    """Model validator: refuse a text with an unknown placeholder."""
    unknown = [name for name in PLACEHOLDER.findall(text) if name not in NAMES]
    if unknown:
        raise ValidationError(
            "No se conoce el hueco «{{ %(name)s }}». Los que hay: %(known)s.",
            params={"name": unknown[0], "known": ", ".join(NAMES)},
        )
