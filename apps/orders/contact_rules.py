"""Rules for the contact data of an order. Step 1 of the payment dialog has the same rules."""

from typing import Any

from rest_framework import serializers

from apps.core.phones import in_e164

REQUIRED: dict[str, Any] = {
    "required": "Este campo es obligatorio.",
    "null": "Este campo es obligatorio.",
    "blank": "Este campo es obligatorio.",
}
EMAIL: dict[str, Any] = {
    **REQUIRED,
    "invalid": "Por favor, introduce un email válido",
    "max_length": "Por favor, introduce un email válido",
}
PHONE = {**REQUIRED, "max_length": "El teléfono no puede tener más de {max_length} caracteres"}


def clean_phone(value: str) -> str:
    """The phone of a form as E.164. Raises ValidationError.

    Step 1 of the payment dialog has the same rules (`static_src/islands/payment/contact.ts`);
    `contact_cases.json` tests both.
    """
    try:
        return in_e164(value)
    except ValueError as problem:
        raise serializers.ValidationError(str(problem)) from problem
