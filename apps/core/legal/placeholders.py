"""Placeholders in a legal text, such as `{{ legal_name }}`, for the owner's data."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.html import escape
from django.utils.safestring import SafeString

from apps.core.legal.staff_html import clean_html

PLACEHOLDER = re.compile(r"\{\{\s*+(\w*+)\s*+\}\}")
# A placeholder, with the full stop that ends its sentence.
_ENDING = re.compile(PLACEHOLDER.pattern + r"(\.(?=[\s<]|$))?")
# Fields of `SiteSettings`, and values of the Django settings.
OWNER_FIELDS = (
    "legal_name", "tax_id", "legal_address", "support_email", "support_phone",
    "other_payments", "payment_methods", "payments_by_request",
)  # fmt: skip
SITE_FIELDS = ("brand", "site_url")


@dataclass(frozen=True)
class Numbers:
    """Placeholders for the numbers of the sale, which an app further left knows.

    `upgraded` puts placeholders into a text that states the numbers literally.
    """

    of_a_new_shop: Mapping[str, str]
    current: Callable[[], Mapping[str, str]]
    upgraded: Callable[[str], str]


_numbers: list[Numbers] = []


def register_numbers(numbers: Numbers) -> None:
    """Called once when the program starts."""
    _numbers[:] = [numbers]


def numbers_of_a_new_shop() -> dict[str, str]:
    return {name: value for numbers in _numbers for name, value in numbers.of_a_new_shop.items()}


def current_numbers() -> dict[str, str]:
    return {name: value for numbers in _numbers for name, value in numbers.current().items()}


def upgraded(body: str) -> str:
    """The body with placeholders for the numbers that it states literally, where we know them."""
    for numbers in _numbers:
        body = numbers.upgraded(body)
    return body


def numbers_in(body: str) -> Iterable[str]:
    """The names of the numbers that a body states."""
    return {name for name in PLACEHOLDER.findall(body) if name in numbers_of_a_new_shop()}


def fill_placeholders(body: str, owner: Mapping[str, str]) -> SafeString:
    """Replace each placeholder in the body with the escaped value of `owner` or of the site.

    The body is HTML that staff wrote, and is cleaned. It is not a Django template.
    """
    values = {**owner, "brand": settings.BRAND_NAME, "site_url": settings.SITE_URL}

    def fill(match: re.Match[str]) -> str:
        name, full_stop = match[1], match[2] or ""
        if name not in values:
            return match[0]
        # "Academia Faro, S. L." ends with a full stop of its own.
        return escape(values[name]) + ("" if values[name].endswith(".") else full_stop)

    filled = _ENDING.sub(fill, body)
    return clean_html(filled)


def check_placeholders(body: str) -> None:
    """Model validator: refuse a body with an unknown placeholder."""
    known = {*OWNER_FIELDS, *SITE_FIELDS, *numbers_of_a_new_shop()}
    unknown = [name for name in PLACEHOLDER.findall(body) if name not in known]
    if unknown:
        raise ValidationError(
            "No se conoce el hueco «{{ %(name)s }}». Los que hay: %(known)s.",
            params={"name": unknown[0], "known": ", ".join(sorted(known))},
        )
