from django.conf import settings
from django.http import HttpRequest

from apps.payments.sample_cards import TEST_CARDS
from apps.pricing.reads import instalment_plan_on_sale


def test_mode(request: HttpRequest) -> dict[str, object]:
    """The test cards for the "Modo de pruebas" badge in base.html, in sandbox mode only."""
    return {"test_cards": TEST_CARDS} if settings.STRIPE_SANDBOX else {}


def instalment_plan(request: HttpRequest) -> dict[str, object]:
    """The instalment plan of new orders, as in `{{ instalment_plan.count }}`."""
    return {"instalment_plan": instalment_plan_on_sale()}
