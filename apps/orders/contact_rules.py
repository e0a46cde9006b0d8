"""Rules for the contact data of an order. Step 1 of the payment dialog has the same rules."""

import re
from typing import Any

from rest_framework import serializers

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

# The country prefixes of E.164. All of three digits count as assigned.
_PREFIX = re.compile(
    r"\+(?:[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|[2-9][0-9]{2})"
)
_SHORTEST_PHONE = 9
# A plain address. Django's validator also accepts quoted names, addresses of hosts and `localhost`,
# which the shop's form refuses as typing errors.
_PLAIN_ADDRESS = re.compile(r"[!#-~]+@[^\[\]\"]+\.[^\[\]\"]+")


def check_email(value: str) -> None:
    """Raise ValidationError for an address that step 1 of the payment dialog refuses."""
    if not _PLAIN_ADDRESS.fullmatch(value):
        raise serializers.ValidationError(EMAIL["invalid"])


def clean_phone(value: str) -> str:
    """E.164 from the form's text: a country prefix, then at least 9 digits; at most 15 in all.

    Raises ValidationError. A number without a prefix is Spanish. Step 1 of the payment dialog has
    the same rules (`static_src/islands/payment/contact.ts`); `contact_cases.json` tests both.
    """
    compact = re.sub(r"[\s().-]", "", value)
    if re.fullmatch(r"[0-9]{9}", compact):
        compact = f"+34{compact}"
    prefix = _PREFIX.match(compact)
    if (
        not re.fullmatch(r"\+[0-9]{10,15}", compact)
        or prefix is None
        or len(compact) - prefix.end() < _SHORTEST_PHONE
    ):
        raise serializers.ValidationError("El teléfono debe tener al menos 9 dígitos")
    return compact
