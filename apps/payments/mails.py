"""The mail about the accounts: `audit_differences` {"differences", "count"}, to the owner.

Its sentences name orders by their numbers and nobody by their name.
"""

from typing import Any

from apps.core.mail.registry import register_mail


def register() -> None:
    register_mail(
        "audit_differences",
        "Las cuentas no cuadran: {{ count }} diferencia{{ count|pluralize }}",
        differences_context,
    )


def differences_context(ids: dict[str, Any]) -> dict[str, Any]:
    """The first differences, and how many there are in all."""
    return {**ids, "more": ids["count"] - len(ids["differences"])}
