from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from apps.payments.stripe.transport import stripe_time_limit


class StripeTimeMiddleware:
    """Limit the time of all calls to Stripe in one request to STRIPE_REQUEST_SECONDS together."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with stripe_time_limit(settings.STRIPE_REQUEST_SECONDS):
            return self.get_response(request)
