"""The connection to Stripe, and its errors as the shop's own exceptions.

No call runs inside a database transaction: it may take seconds, or time out after it has succeeded
(docs/decisions/0003-provider-calls-outside-transactions.md).
"""

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import stripe
from django.conf import settings

from apps.core.errors import AcademyError, NotFound
from apps.payments.stripe.breaker import CallNotMade, CircuitBreaker
from apps.payments.stripe.transport import LimitedClient, NotInRehearsal, WaitingPlaces

logger = logging.getLogger(__name__)

# Payment methods that confirm days later. They are excluded (docs/rules.md, "Card payments"). Which
# of the other methods are offered is set in Stripe's dashboard.
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
# Methods that the owner switches on and off ("Ajustes del sitio"). They pay an order at once: they
# are never saved for instalments.
OPTIONAL_METHODS = ("bizum", "paypal")


def excluded_methods(offered: Collection[str] = (), *, keep_card: bool = False) -> list[str]:
    """The payment methods that a payment leaves out. `offered` are of OPTIONAL_METHODS."""
    left_out = OPTIONAL_METHODS if keep_card else (m for m in OPTIONAL_METHODS if m not in offered)
    return [*DELAYED_METHODS, *left_out]


class ProviderError(AcademyError):
    """Stripe refused a call or did not answer. The cause is in the log, not in the message."""

    status = 502
    code = "provider_error"
    message = "No se pudo preparar el pago. Inténtalo de nuevo."


class ProviderBusy(ProviderError):
    """No request was sent: too many calls are waiting, or the circuit breaker is open."""

    status = 503
    code = "provider_busy"
    message = (
        "El sistema de pago no responde ahora mismo. Espera unos segundos e inténtalo de nuevo."
    )

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after


class PaymentsRehearsed(ProviderBusy):
    """No request was sent: this is a rehearsal (`apps.core.rehearsal`)."""

    message = "Esta es una copia de ensayo de la tienda: aquí no se cobra nada."


# What a call to Stripe can fail with, for the API's document.
STRIPE_ERRORS = (ProviderError, ProviderBusy)


class SpentKey(ProviderError):
    """An idempotency key can't be used again. Look up whether its work was done, then use another.

    Either Stripe has stored an internal error for the key, which it repeats for a day, or the key
    was used with other parameters, which happens after the shop's database was restored.
    """


class PaymentNotFound(NotFound):
    message = "Orden no encontrada. Verifica el enlace de pago."


@cache
def client() -> stripe.StripeClient:
    """The Stripe client of this process. Its limits apply to all calls of the process together."""
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
    except NotInRehearsal as refused:
        raise PaymentsRehearsed(refused.retry_after) from refused
    except CallNotMade as refused:
        raise ProviderBusy(refused.retry_after) from refused
    except stripe.StripeError as error:
        _log(error)
        raise _own_error(error) from error


def _own_error(error: stripe.StripeError) -> AcademyError:
    headers = error.headers or {}
    if isinstance(error, stripe.IdempotencyError):
        return SpentKey()
    if isinstance(error, stripe.InvalidRequestError):
        return PaymentNotFound() if error.code == "resource_missing" else ProviderError()
    if headers.get("Idempotent-Replayed") == "true" and (error.http_status or 0) >= 500:
        return SpentKey()
    return ProviderError()


def _log(error: stripe.StripeError) -> None:
    """Log why a call failed. Its message may name the buyer, so it is left out."""
    about = error.error
    facts = {
        "stripe_type": getattr(about, "type", None) or type(error).__name__,
        "stripe_code": error.code or "",
        "decline_code": getattr(about, "decline_code", None) or "",
        "stripe_status": error.http_status or 0,
        "stripe_request": error.request_id or "",
    }
    logger.warning(
        "Stripe: %(stripe_type)s %(stripe_code)s %(decline_code)s, status %(stripe_status)s, "
        "request %(stripe_request)s",
        facts,
        extra=facts,
    )


def receipt_of(email: str) -> dict[str, str]:
    """The parameter that lets Stripe mail a receipt of a payment, if that is Stripe's to do.

    With it Stripe mails one in live mode, whatever its dashboard says (docs/rules.md, "Card
    payments"). Without it the shop's own mail is the only one.
    """
    return {"receipt_email": email} if settings.STRIPE_RECEIPTS else {}


def path_id(provider_id: str) -> str:
    """An id of Stripe's, checked before it becomes a part of a URL.

    Ids are opaque: any text of up to 255 characters may be one. Stripe's library percent-encodes
    them. Raises PaymentNotFound for an id that would form the URL of something else, such as "..".
    """
    if provider_id in ("", ".", "..") or not provider_id.isprintable():
        raise PaymentNotFound
    return provider_id


def number_of(text: str | None) -> int | None:
    """A number from metadata. None for other texts, which other shops on the account may write."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 18 else None


def id_of(reference: Any) -> str:
    """The id of a reference that the API gives as an id, as an expanded object, or as null."""
    if reference is None:
        return ""
    return reference if isinstance(reference, str) else str(reference.id)
