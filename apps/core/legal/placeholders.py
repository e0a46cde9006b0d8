"""Placeholders in a legal text, such as `{{ legal_name }}`, for the owner's data."""

import re
from collections.abc import Mapping

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.html import escape
from django.utils.safestring import SafeString

from apps.core.staff_html import clean_html

PLACEHOLDER = re.compile(r"\{\{\s*(\w*)\s*\}\}")
# A placeholder, with the full stop that ends its sentence.
_ENDING = re.compile(PLACEHOLDER.pattern + r"(\.(?=[\s<]|$))?")
# Fields of `SiteSettings`, and values of the Django settings.
OWNER_FIELDS = (
    "legal_name", "tax_id", "legal_address", "support_email", "support_phone",
    "other_payments",
)  # fmt: skip
SITE_FIELDS = ("brand", "site_url")


def fill_placeholders(body: str, owner: Mapping[str, str]) -> SafeString:
    """Replace each placeholder in the body with the escaped value of `owner` or of the site.

    The body is HTML that staff wrote, and is cleaned. It is not a Django template.
    """
    values = {**owner, "brand": settings.BRAND_NAME, "site_url": settings.SITE_URL}

    def fill(match: re.Match[str]) -> str:
        name, full_stop = match[1], match[2] or ""
        if name not in values:
            return match[0]
        # "Academia Faro, S. L." ends with a full stop of its own.
        return escape(values[name]) + ("" if values[name].endswith(".") else full_stop)

    filled = _ENDING.sub(fill, body)
    return clean_html(filled)


def check_placeholders(body: str) -> None:
    """Model validator: refuse a body with an unknown placeholder."""
    known = {*OWNER_FIELDS, *SITE_FIELDS}
    unknown = [name for name in PLACEHOLDER.findall(body) if name not in known]
    if unknown:
        raise ValidationError(
            "No se conoce el hueco «{{ %(name)s }}». Los que hay: %(known)s.",
            params={"name": unknown[0], "known": ", ".join(sorted(known))},
        )
