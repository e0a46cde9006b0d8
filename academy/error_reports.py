"""Reports of errors to Sentry, without personal data (docs/rules.md, "Logs")."""

from collections.abc import Callable
from typing import Any

from django_guid.context import guid

from apps.core.monitoring.logs import redacted

# The parts of a request that a report may name. Query, body, cookies and headers may not leave.
OF_REQUEST = ("method", "url")


def start_error_reports(dsn: str, transport: Callable[[Any], None] | None = None) -> None:
    """Report every logged error to this address, or to `transport`, from now on."""
    import sentry_sdk  # Takes 0.2 s, and few shops use it.

    sentry_sdk.init(
        dsn,
        transport=transport,
        before_send=without_personal_data,
        send_default_pii=False,
        include_local_variables=False,
        max_request_body_size="never",
        # Statements of the database, with their values, would be among the breadcrumbs.
        max_breadcrumbs=0,
        auto_session_tracking=False,
    )


def without_personal_data(event: Any, hint: dict[str, Any]) -> Any:
    """The event as Sentry may have it."""
    event.pop("user", None)
    event.pop("breadcrumbs", None)
    request = event.pop("request", {})
    kept = {name: request[name] for name in OF_REQUEST if name in request}
    event["request"] = {**kept, "url": kept.get("url", "").partition("?")[0]}
    event["tags"] = {**(event.get("tags") or {}), "request_id": guid.get()}
    return _redacted(event)


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {name: _redacted(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(inner) for inner in value]
    return value
