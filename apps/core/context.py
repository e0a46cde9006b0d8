from functools import cache

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from apps.core.models import SiteSettings


def site(request: HttpRequest) -> dict[str, object]:
    """What every template may say of the site. The owner's settings are read only where used."""
    current = cache(SiteSettings.current)
    return {
        "brand": settings.BRAND_NAME,
        "site_url": settings.SITE_URL,
        "sandbox": settings.STRIPE_SANDBOX,
        "contact": SimpleLazyObject(current),
        # The props of every form's island. A template calls it; several forms read it once.
        "form_props": cache(lambda: {"academy": academy_props(current())}),
    }


def academy_props(contact: SiteSettings | None = None) -> dict[str, object]:
    """What islands may say of the academy: who it is in law, how to reach it, where it is paid."""
    contact = contact or SiteSettings.current()
    return {
        "legal_name": contact.legal_name,
        "support_email": contact.support_email,
        "support_phone": contact.support_phone,
        "hosted_checkout": settings.STRIPE_CHECKOUT == "hosted",
    }
