"""Template variables of every page, and the props of islands that sell or have a form."""

from functools import cache

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from apps.core.models import SiteSettings
from apps.core.rehearsal import NOTE


def site(request: HttpRequest) -> dict[str, object]:
    """Context processor. The settings row is read only by templates that use it."""
    current = cache(SiteSettings.current)
    return {
        "brand": settings.BRAND_NAME,
        "site_url": settings.SITE_URL,
        "sandbox": settings.STRIPE_SANDBOX,
        "rehearsal": rehearsal_notes(),
        "contact": SimpleLazyObject(current),
        # The props of the form islands, computed once for a page with several forms.
        "form_props": cache(lambda: {"academy": academy_props(current())}),
    }


def rehearsal_notes() -> list[str]:
    """The badge's text on every page of a rehearsal; empty in a real shop."""
    notes = [NOTE] if settings.REHEARSAL else []
    if settings.ALLOW_TEST_KEYS:
        notes.append("Claves de Stripe de prueba: no se cobra nada.")
    if settings.ALLOW_LOCAL_SITE:
        notes.append("Sitio local: los datos y los correos no salen de esta máquina.")
    return notes


def academy_props(contact: SiteSettings | None = None) -> dict[str, object]:
    """Island props: the academy's legal name, contact data and kind of checkout."""
    contact = contact or SiteSettings.current()
    return {
        "legal_name": contact.legal_name,
        "support_email": contact.support_email,
        "support_phone": contact.support_phone,
        "other_payments": contact.other_payments,
        "bizum": contact.bizum,
        "paypal": contact.paypal,
        "transfer": contact.takes_transfers,
        "hosted_checkout": settings.STRIPE_CHECKOUT == "hosted",
        # Stripe's own page has its wallets itself.
        "wallets": settings.STRIPE_WALLETS and settings.STRIPE_CHECKOUT == "embedded",
    }
