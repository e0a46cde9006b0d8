"""Places in a legal text for what the owner keeps in the site's settings: `{{ legal_name }}`."""

import re
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

if TYPE_CHECKING:
    from apps.core.models import SiteSettings

PLACEHOLDER = re.compile(r"\{\{\s*(\w*)\s*\}\}")
OF_THE_OWNER = ("legal_name", "tax_id", "legal_address", "support_email", "support_phone")
OF_THE_SITE = ("brand", "site_url")


def fill_placeholders(body: str, owner: "SiteSettings") -> SafeString:
    """The text with each placeholder replaced by the owner's data, escaped.

    Only words are replaced: the body is HTML that staff wrote, never a template that could run.
    """
    values = {name: str(getattr(owner, name)) for name in OF_THE_OWNER}
    values |= {"brand": settings.BRAND_NAME, "site_url": settings.SITE_URL}
    filled = PLACEHOLDER.sub(
        lambda found: escape(values[found[1]]) if found[1] in values else found[0], body
    )
    # Written by staff in the admin or shipped with the code; what was filled in is escaped.
    return mark_safe(filled)  # noqa: S308


def check_placeholders(body: str) -> None:
    """Refuse a text with a place that nothing would fill (model validator, for the admin)."""
    known = {*OF_THE_OWNER, *OF_THE_SITE}
    unknown = [name for name in PLACEHOLDER.findall(body) if name not in known]
    if unknown:
        raise ValidationError(
            "No se conoce el hueco «{{ %(name)s }}». Los que hay: %(known)s.",
            params={"name": unknown[0], "known": ", ".join(sorted(known))},
        )
