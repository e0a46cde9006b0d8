"""Removes client secrets from Stripe's objects: with them somebody could act as the buyer."""

from typing import Any

HIDDEN = "(oculto)"


def without_secrets(value: Any) -> Any:
    """A provider's object without its client secrets, as it is stored and as staff may read it."""
    if isinstance(value, dict):
        return {
            key: HIDDEN if "secret" in key and inner else without_secrets(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [without_secrets(inner) for inner in value]
    return value
