"""Parts of objects and parameters: null fields, metadata, e-mail addresses, nested hashes."""

import functools
import re
from typing import Any, get_args

from stripe._object_classes import get_object_class

from .errors import ApiError, invalid_params

EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")

# Fields that Stripe answers only on request, or only for some objects.
NOT_ALWAYS = (
    "account", "applies_to", "cash_balance", "context", "currency_options", "deleted",
    "failure_reason", "invoice_credit_balance", "line_items", "refunds", "secret", "sources",
    "subscriptions", "tax", "tax_ids",
)  # fmt: skip


@functools.cache
def nullable(kind: str) -> dict[str, None]:
    """The fields that may be null, all of them null, by the official package's class."""
    annotations: dict[str, Any] = {}
    for base in get_object_class("V1", kind).__mro__:
        annotations |= getattr(base, "__annotations__", {})
    return {
        name: None
        for name, annotation in annotations.items()
        if type(None) in get_args(annotation) and name[0] != "_" and name not in NOT_ALWAYS
    }


def merged_metadata(current: dict[str, str], changes: Any) -> dict[str, str]:
    """Metadata after an update. An empty value removes its key; an empty hash removes all keys.

    Raises ApiError 400 beyond Stripe's limits: 50 keys of 40 characters, values of 500 characters.
    """
    if changes is None:
        return current
    if changes == "":
        return {}
    for key, value in changes.items():
        if len(key) > 40:
            raise invalid_params(
                "Metadata keys must be under 40 characters. Invalid key: " + key, "metadata"
            )
        if len(value) > 500:
            raise invalid_params(
                f"Metadata values must be under 500 characters, but you passed in a value that is "
                f"{len(value)} characters. Invalid value: {value}",
                f"metadata[{key}]",
            )
    merged = {key: value for key, value in {**current, **changes}.items() if value != ""}
    if len(merged) > 50:
        raise invalid_params("You can have up to 50 metadata keys.", "metadata")
    return merged


def refuse_unsupported(params: dict[str, Any], supported: tuple[str, ...], path: str) -> None:
    """Raise ApiError 400 for the keys of a nested parameter that the sandbox does not implement."""
    for name in params:
        if name not in supported:
            raise ApiError(
                f"The Stripe sandbox does not implement the parameter {path}[{name}].",
                code="sandbox_unsupported",
                param=f"{path}[{name}]",
                replayable=False,
            )


def check_email(value: str, param: str) -> None:
    if value and not EMAIL.fullmatch(value):
        raise ApiError(f"Invalid email address: {value}", code="email_invalid", param=param)
