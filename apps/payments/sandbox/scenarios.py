"""/_sandbox controls that make things happen to objects: what a bank, a cardholder or somebody in
Stripe's dashboard would do."""

import json
import re
from collections.abc import Callable
from typing import Any

from .cards import AUTHENTICATION_REQUIRED, DECLINES
from .errors import ApiError, invalid_params
from .http import Request, Response
from .objects import Context
from .resources import disputes, payment_methods, refunds
from .store import Store

Scenario = Callable[..., dict[str, Any]]


def _refuse_card(ctx: Context, content: dict[str, Any], id: str) -> dict[str, Any]:
    """{"refuse": decline code, "authentication_required" or null}, until it is told again."""
    known = (*DECLINES, AUTHENTICATION_REQUIRED.code, None)
    if "refuse" not in content or content["refuse"] not in known:
        raise invalid_params(f"`refuse` is one of {', '.join(map(str, known))}.", "refuse")
    return payment_methods.tell(ctx, id, content["refuse"])


def _open_dispute(ctx: Context, content: dict[str, Any]) -> dict[str, Any]:
    """{"charge" or "payment_intent", "amount"?, "reason"?}: a cardholder goes to their bank."""
    _only(content, charge=str, payment_intent=str, amount=int, reason=str)
    charge = refunds.charge_of(ctx, content)
    return disputes.open_on(
        ctx, charge, amount=content.get("amount"), reason=content.get("reason", "fraudulent")
    )


def _decide_dispute(ctx: Context, content: dict[str, Any], id: str) -> dict[str, Any]:
    """{"status": "won" or "lost"}: the bank has decided."""
    _only(content, status=str)
    return disputes.decide(ctx, id, content.get("status", ""))


def _refund(ctx: Context, content: dict[str, Any]) -> dict[str, Any]:
    """{"charge" or "payment_intent", "amount"?, "reason"?}: somebody refunds in the dashboard."""
    _only(content, charge=str, payment_intent=str, amount=int, reason=str)
    return refunds.create(ctx, content)


def _fail_refund(ctx: Context, content: dict[str, Any], id: str) -> dict[str, Any]:
    """{"status": "failed"}: the bank can't give the money to the cardholder."""
    _only(content, status=str)
    refund = ctx.require("refund", id)
    if content.get("status") != "failed" or refund["status"] == "failed":
        raise invalid_params("A refund that has not failed can be set to failed.", "status")
    refunds.fail(ctx, refund, "lost_or_stolen_card")
    return refund


def _only(content: dict[str, Any], **types: type) -> None:
    for name, value in content.items():
        if name not in types or type(value) is not types[name]:
            raise invalid_params(f"Unknown, or of the wrong type: {name}.", name)


SCENARIOS: tuple[tuple[re.Pattern[str], Scenario], ...] = (
    (re.compile(r"/_sandbox/payment_methods/(?P<id>pm_\w+)"), _refuse_card),
    (re.compile(r"/_sandbox/disputes"), _open_dispute),
    (re.compile(r"/_sandbox/disputes/(?P<id>du_\w+)"), _decide_dispute),
    (re.compile(r"/_sandbox/refunds"), _refund),
    (re.compile(r"/_sandbox/refunds/(?P<id>re_\w+)"), _fail_refund),
)


def answer(store: Store, request: Request) -> Response | None:
    """The answer to a POST with JSON, or None where the path is no scenario's."""
    for pattern, scenario in SCENARIOS:
        if match := pattern.fullmatch(request.path):
            return _play(store, request, scenario, match.groupdict())
    return None


def _play(store: Store, request: Request, scenario: Scenario, ids: dict[str, str]) -> Response:
    try:
        content = json.loads(request.body)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        return Response.json({"error": "Expected a JSON object."}, status=400)
    try:
        with store.writing() as tx:
            # No request id: in Stripe's events neither, where nobody called the API.
            return Response.json(scenario(Context(tx, base_url=request.base_url), content, **ids))
    except ApiError as error:
        return Response.json({"error": error.error["message"]}, status=error.status)
