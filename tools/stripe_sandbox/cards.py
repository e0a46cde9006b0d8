"""Stripe's test cards and the result of paying with each (https://docs.stripe.com/testing).

Every other number is declined, as Stripe declines real cards in test mode.
"""

from dataclasses import dataclass
from typing import TypedDict


@dataclass(frozen=True)
class Decline:
    code: str
    message: str
    decline_code: str | None = None


@dataclass(frozen=True)
class Card:
    """How a card behaves.

    `label` is Spanish; a card without a label is not shown to people.
    `authentication`: "always" requires 3-D Secure for every payment. "unless_saved" requires it
    until the card has been saved with an authenticated payment or setup.
    `settles_later`: the payment is `processing` for a while before it succeeds or is declined.
    Stripe has no such card.
    `dispute` is the reason of the dispute that opens right after a charge.
    `slow_refund`: refunds are pending for a while.
    """

    number: str
    brand: str
    label: str = ""
    decline: Decline | None = None
    attachable: bool = True
    authentication: str = ""
    settles_later: bool = False
    dispute: str = ""
    slow_refund: bool = False


class TestCard(TypedDict):
    number: str
    label: str


# What a buyer does at Bizum or PayPal, and the error that Stripe reports for it.
REFUSED_AT_PROVIDER = {
    "decline": Decline(
        "payment_method_customer_decline", "The customer did not approve the payment."
    ),
    "expire": Decline(
        "payment_intent_payment_attempt_expired",
        "The latest attempt to make the payment has expired.",
    ),
}
GENERIC_DECLINE = Decline("card_declined", "Your card was declined.", "generic_decline")
INSUFFICIENT_FUNDS = Decline(
    "card_declined", "Your card has insufficient funds.", "insufficient_funds"
)
LIVE_CARD_DECLINE = Decline(
    "card_declined",
    "Your card was declined. Your request was in test mode, but used a non test (live) card. For a "
    "list of valid test cards, visit: https://stripe.com/docs/testing.",
    "test_mode_live_card",
)
AUTHENTICATION_REQUIRED = Decline(
    "authentication_required",
    "Your card was declined. This transaction requires authentication.",
    "authentication_required",
)

EXPIRED_CARD = Decline("expired_card", "Your card has expired.")
INCORRECT_CVC = Decline("incorrect_cvc", "Your card's security code is incorrect.")
PROCESSING_ERROR = Decline(
    "processing_error",
    "An error occurred while processing your card. Try again in a little bit.",
)
# By decline code. Declines without one are listed by their error code.
DECLINES = {
    decline.decline_code or decline.code: decline
    for decline in (
        GENERIC_DECLINE,
        INSUFFICIENT_FUNDS,
        EXPIRED_CARD,
        INCORRECT_CVC,
        PROCESSING_ERROR,
        Decline("card_declined", "Your card was declined.", "do_not_honor"),
        Decline("card_declined", "Your card was declined.", "lost_card"),
        Decline("card_declined", "Your card was declined.", "stolen_card"),
        Decline(
            "card_declined",
            "Your card does not support this type of purchase.",
            "card_not_supported",
        ),
        Decline(
            "card_declined",
            "Your card was declined for making repeated attempts too frequently or exceeding its "
            "amount limit.",
            "card_velocity_exceeded",
        ),
    )
}

_CARDS = (
    Card("4242424242424242", "visa", "Pago correcto (Visa)"),
    Card("5555555555554444", "mastercard", "Pago correcto (Mastercard)"),
    Card("4000000000000002", "visa", "Tarjeta rechazada", GENERIC_DECLINE, attachable=False),
    Card("4000000000009995", "visa", "Fondos insuficientes", INSUFFICIENT_FUNDS, attachable=False),
    Card("4000000000000069", "visa", "Tarjeta caducada", EXPIRED_CARD, attachable=False),
    Card("4000000000000127", "visa", "CVC incorrecto", INCORRECT_CVC, attachable=False),
    Card("4000000000000119", "visa", "Error de procesamiento", PROCESSING_ERROR, attachable=False),
    Card("4000002500003155", "visa", "3-D Secure la primera vez", authentication="unless_saved"),
    Card("4000002760003184", "visa", "3-D Secure en cada pago", authentication="always"),
    Card(
        "4000008400001629",
        "visa",
        "3-D Secure y después rechazada",
        GENERIC_DECLINE,
        authentication="always",
    ),
    Card(
        "4000000000000341",
        "visa",
        "Se puede guardar, pero se rechaza al cobrar",
        GENERIC_DECLINE,
    ),
    Card("4000000000000259", "visa", dispute="fraudulent"),
    Card("4000000000007726", "visa", slow_refund=True),
    Card("4000009990000013", "visa", decline=GENERIC_DECLINE, settles_later=True),
    Card(
        "4000009990000005",
        "visa",
        "Pago que tarda en procesarse (solo en esta simulación)",
        settles_later=True,
    ),
)

CARDS = {card.number: card for card in _CARDS}

# How Bizum and PayPal behave once the buyer has approved a payment.
APPROVED = Card(number="", brand="")

TEST_CARDS: list[TestCard] = [
    {"number": card.number, "label": card.label} for card in _CARDS if card.label
]

# Names of payment methods, so that servers need not send card numbers. The names are Stripe's.
NAMED_PAYMENT_METHODS = {
    "pm_card_visa": "4242424242424242",
    "pm_card_chargeDeclined": "4000000000000002",
    "pm_card_chargeDeclinedInsufficientFunds": "4000000000009995",
    "pm_card_chargeDeclinedExpiredCard": "4000000000000069",
    "pm_card_chargeCustomerFail": "4000000000000341",
    "pm_card_createDispute": "4000000000000259",
    "pm_card_authenticationRequired": "4000002760003184",
}


def luhn_valid(number: str) -> bool:
    digits = [int(digit) for digit in reversed(number)]
    doubled = [
        digit if i % 2 == 0 else sum(divmod(2 * digit, 10)) for i, digit in enumerate(digits)
    ]
    return sum(doubled) % 10 == 0
