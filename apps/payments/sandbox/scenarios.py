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
from .resources import payment_methods
from .store import Store

Scenario = Callable[..., dict[str, Any]]


def _refuse_card(ctx: Context, content: dict[str, Any], id: str) -> dict[str, Any]:
    """{"refuse": decline code, "authentication_required" or null}, until it is told again."""
    known = (*DECLINES, AUTHENTICATION_REQUIRED.code, None)
    if "refuse" not in content or content["refuse"] not in known:
        raise invalid_params(f"`refuse` is one of {', '.join(map(str, known))}.", "refuse")
    return payment_methods.tell(ctx, id, content["refuse"])


SCENARIOS: tuple[tuple[re.Pattern[str], Scenario], ...] = (
    (re.compile(r"/_sandbox/payment_methods/(?P<id>pm_\w+)"), _refuse_card),
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
