"""Links to Stripe's dashboard, of the live or the test account."""

from urllib.parse import quote

from django.conf import settings

from apps.orders.models import Payment
from apps.orders.models.statuses import AT_PROVIDER

DASHBOARD = "https://dashboard.stripe.com"


def payment_page(payment: Payment) -> str:
    """The payment's page in Stripe's dashboard. Empty if Stripe does not know the payment."""
    reference = payment.intent_reference
    if not reference or payment.kind not in AT_PROVIDER:
        return ""
    is_live = settings.STRIPE_SECRET_KEY.startswith(("sk_live_", "rk_live_"))
    return f"{DASHBOARD}/{'' if is_live else 'test/'}payments/{quote(reference)}"
