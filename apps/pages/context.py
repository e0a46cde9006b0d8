from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from apps.payments.stripe.sample_cards import TEST_CARDS
from apps.pricing.reads import current_terms


def test_mode(request: HttpRequest) -> dict[str, object]:
    """The test cards for the "Modo de pruebas" badge in base.html, in sandbox mode only."""
    return {"test_cards": TEST_CARDS} if settings.STRIPE_SANDBOX else {}


def sale_terms(request: HttpRequest) -> dict[str, object]:
    """The terms of sale in force. They are read only by templates that use them."""
    return {"sale_terms": SimpleLazyObject(current_terms)}
