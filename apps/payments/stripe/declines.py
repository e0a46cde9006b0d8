"""Why Stripe, a bank or the buyer refused a payment."""

from typing import Any

from apps.orders.models.statuses import PaymentKind, RefusalKind

# Stripe's types of payment methods that have a kind of their own in the shop.
OWN_KINDS = {"bizum": PaymentKind.BIZUM, "paypal": PaymentKind.PAYPAL}


def refusal_code(refusal: Any) -> str:
    """The bank's decline code if there is one, else Stripe's error code."""
    return (
        getattr(refusal, "decline_code", None)
        or getattr(refusal, "code", None)
        or ("card_declined" if refusal else "")
    )


# Refusals after which Stripe advises against charging the same card again
# (https://docs.stripe.com/declines/codes and https://docs.stripe.com/error-codes).
PERMANENT = frozenset(
    {
        "card_not_supported",
        "currency_not_supported",
        "do_not_try_again",
        "fraudulent",
        "incorrect_number",
        "invalid_account",
        "invalid_expiry_month",
        "invalid_expiry_year",
        "invalid_number",
        "lost_card",
        "merchant_blacklist",
        "new_account_information_available",
        "no_action_taken_permanent",
        "pickup_card",
        "restricted_card",
        "revocation_of_all_authorizations",
        "revocation_of_authorization",
        "security_violation",
        "service_not_allowed",
        "stolen_card",
        "stop_payment_order",
        "transaction_not_allowed",
    }
)
# The bank wants to authenticate the cardholder, so only a payment by hand can succeed.
AUTHENTICATION = frozenset({"authentication_required", "authentication_not_handled"})
# The buyer did not approve the payment in time (https://docs.stripe.com/error-codes).
EXPIRED = frozenset({"payment_intent_payment_attempt_expired", "payment_method_provider_timeout"})


def refusal_kind(code: str) -> RefusalKind:
    """The kind of a refusal, from Stripe's decline code or error code."""
    if code in AUTHENTICATION:
        return RefusalKind.AUTHENTICATION
    if code in PERMANENT:
        return RefusalKind.PERMANENT
    kinds_with_own_code = (
        RefusalKind.INSUFFICIENT_FUNDS,
        RefusalKind.EXPIRED_CARD,
        RefusalKind.CARD_MISSING,
    )
    return RefusalKind(code) if code in kinds_with_own_code else RefusalKind.OTHER


def refusal_text(code: str, *, method: str = "card") -> str:
    """The refusal in words for staff, with the code by which Stripe's dashboard names it."""
    text = f"Tarjeta rechazada: {refusal_kind(code).label.lower()}"
    if method in OWN_KINDS:
        what = "caducado" if code in EXPIRED else "no aprobado"
        text = f"Pago con {OWN_KINDS[method].label} {what}"
    return f"{text} ({code})" if code else text
