"""The connection to Stripe, and its errors in our own terms.

No call runs inside a database transaction: it may take seconds, or time out after it has worked.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import stripe
from django.conf import settings

from apps.core.errors import AcademyError, NotFound
from apps.payments.stripe.breaker import CallNotMade, CircuitBreaker
from apps.payments.stripe.transport import LimitedClient, WaitingPlaces

# Methods that answer days later. The shop offers those that confirm at once (decisions.md, "Card
# payments"); which of these the owner switches on in Stripe is theirs to say.
DELAYED_METHODS = [
    "acss_debit",
    "au_becs_debit",
    "bacs_debit",
    "boleto",
    "customer_balance",
    "konbini",
    "multibanco",
    "oxxo",
    "sepa_debit",
    "us_bank_account",
]


class ProviderError(AcademyError):
    """The provider refused, or is away. What happened there is in the log, not in the sentence."""

    status = 502
    code = "provider_error"
    message = "No se pudo preparar el pago. Inténtalo de nuevo."


class ProviderBusy(ProviderError):
    """Nothing was sent: too many calls wait already, or Stripe has not answered of late."""

    status = 503
    code = "provider_busy"
    message = (
        "El sistema de pago no responde ahora mismo. Espera unos segundos e inténtalo de nuevo."
    )

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after


class SpentKey(ProviderError):
    """An idempotency key is of no more use: look whether its work was done, then take another.

    Stripe keeps an internal error of its own for the key, for a day; or the key was used with other
    parameters, which happens after the shop's database was restored.
    """


class PaymentNotFound(NotFound):
    message = "Orden no encontrada. Verifica el enlace de pago."


@cache
def client() -> stripe.StripeClient:
    """Stripe's client of this process; its limits hold for all calls of the process."""
    base: Any = {"api": settings.STRIPE_API_BASE} if settings.STRIPE_API_BASE else None
    return stripe.StripeClient(
        settings.STRIPE_SECRET_KEY,
        base_addresses=base,
        max_network_retries=1,
        http_client=LimitedClient(
            attempt_seconds=settings.STRIPE_TIMEOUT,
            total_seconds=settings.STRIPE_REQUEST_SECONDS,
            places=WaitingPlaces(settings.STRIPE_MAX_WAITING),
            breaker=CircuitBreaker(
                failures=settings.STRIPE_BREAKER_FAILURES,
                open_seconds=settings.STRIPE_BREAKER_SECONDS,
            ),
        ),
    )


@contextmanager
def provider_errors() -> Iterator[None]:
    try:
        yield
    except CallNotMade as refused:
        raise ProviderBusy(refused.retry_after) from refused
    except stripe.IdempotencyError as error:
        raise SpentKey from error
    except stripe.InvalidRequestError as error:
        if error.code == "resource_missing":
            raise PaymentNotFound from error
        raise ProviderError from error
    except stripe.StripeError as error:
        headers = error.headers or {}
        if headers.get("Idempotent-Replayed") == "true" and (error.http_status or 0) >= 500:
            raise SpentKey from error
        raise ProviderError from error


def path_id(provider_id: str) -> str:
    """An id that goes into a path, where Stripe's library percent-encodes it.

    Ids are opaque: any text of up to 255 characters may be one. Raises PaymentNotFound for what
    would address something else than an object.
    """
    if provider_id in ("", ".", "..") or not provider_id.isprintable():
        raise PaymentNotFound
    return provider_id


def number_of(text: str | None) -> int | None:
    """A number as we write it into metadata; other shops on the account may write anything."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 18 else None


def id_of(reference: Any) -> str:
    """A reference that the API gives as an id, as an expanded object, or not at all."""
    if reference is None:
        return ""
    return reference if isinstance(reference, str) else str(reference.id)
