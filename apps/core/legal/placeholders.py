"""Placeholders in a legal text, such as `{{ legal_name }}`, for the owner's data."""

import re
from collections.abc import Mapping

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.html import escape
from django.utils.safestring import SafeString

from apps.core.staff_html import clean_html

PLACEHOLDER = re.compile(r"\{\{\s*(\w*)\s*\}\}")
# Fields of `SiteSettings`, and values of the Django settings.
OWNER_FIELDS = ("legal_name", "tax_id", "legal_address", "support_email", "support_phone")
SITE_FIELDS = ("brand", "site_url")


def fill_placeholders(body: str, owner: Mapping[str, str]) -> SafeString:
    """Replace each placeholder in the body with the escaped value of `owner` or of the site.

    The body is HTML that staff wrote, and is cleaned. It is not a Django template.
    """
    values = {**owner, "brand": settings.BRAND_NAME, "site_url": settings.SITE_URL}
    filled = PLACEHOLDER.sub(
        lambda match: escape(values[match[1]]) if match[1] in values else match[0], body
    )
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
