"""The Stripe test cards that the "Modo de pruebas" badge lists.

Stripe documents them at https://docs.stripe.com/testing. The last one exists in the local Stripe
sandbox alone. A test compares this list with the cards that the sandbox accepts.
"""

from typing import TypedDict


class TestCard(TypedDict):
    """A card number, and in Spanish what happens to a payment with it."""

    number: str
    label: str


TEST_CARDS: tuple[TestCard, ...] = (
    {"number": "4242424242424242", "label": "Pago correcto (Visa)"},
    {"number": "5555555555554444", "label": "Pago correcto (Mastercard)"},
    {"number": "4000000000000002", "label": "Tarjeta rechazada"},
    {"number": "4000000000009995", "label": "Fondos insuficientes"},
    {"number": "4000000000000069", "label": "Tarjeta caducada"},
    {"number": "4000000000000127", "label": "CVC incorrecto"},
    {"number": "4000000000000119", "label": "Error de procesamiento"},
    {"number": "4000002500003155", "label": "3-D Secure la primera vez"},
    {"number": "4000002760003184", "label": "3-D Secure en cada pago"},
    {"number": "4000008400001629", "label": "3-D Secure y después rechazada"},
    {"number": "4000000000000341", "label": "Se puede guardar, pero se rechaza al cobrar"},
    {
        "number": "4000009990000005",
        "label": "Pago que tarda en procesarse (solo en esta simulación)",
    },
)
