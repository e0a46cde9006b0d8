"""Control requests that act as a bank, as a cardholder, or as a user of Stripe's dashboard."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from .cards import AUTHENTICATION_REQUIRED, DECLINES
from .context import Context
from .errors import ApiError, invalid_params
from .http import Request, Response
from .resources import balance, disputes, past_payments, payment_methods, refunds
from .store import Store

Scenario = Callable[..., dict[str, Any]]


def _refuse_card(ctx: Context, content: dict[str, Any], id: str) -> dict[str, Any]:
    """{"refuse": decline code, "authentication_required" or null}: decline a card from now on."""
    known = (*DECLINES, AUTHENTICATION_REQUIRED.code, None)
    if "refuse" not in content or content["refuse"] not in known:
        raise invalid_params(f"`refuse` is one of {', '.join(map(str, known))}.", "refuse")
    return payment_methods.set_refusal(ctx, id, content["refuse"])


def _open_dispute(ctx: Context, content: dict[str, Any]) -> dict[str, Any]:
    """{"charge" or "payment_intent", "amount"?, "reason"?}: the cardholder disputes a charge."""
    _check_types(content, charge=str, payment_intent=str, amount=int, reason=str)
    charge = refunds.charge_to_refund(ctx, content)
    return disputes.open_dispute(
        ctx, charge, amount=content.get("amount"), reason=content.get("reason", "fraudulent")
    )


def _decide_dispute(ctx: Context, content: dict[str, Any], id: str) -> dict[str, Any]:
    """{"status": "won" or "lost"}: the bank decides a dispute."""
    _check_types(content, status=str)
    return disputes.decide(ctx, id, content.get("status", ""))


def _refund(ctx: Context, content: dict[str, Any]) -> dict[str, Any]:
    """{"charge" or "payment_intent", "amount"?, "reason"?}: a refund made in the dashboard."""
    _check_types(content, charge=str, payment_intent=str, amount=int, reason=str)
    return refunds.create(ctx, content)


def _fail_refund(ctx: Context, content: dict[str, Any], id: str) -> dict[str, Any]:
    """{"status": "failed"}: the cardholder's bank rejects a refund."""
    _check_types(content, status=str)
    refund = ctx.require("refund", id)
    if content.get("status") != "failed" or refund["status"] == "failed":
        raise invalid_params("A refund that has not failed can be set to failed.", "status")
    refunds.fail(ctx, refund)
    return refund


def _pay_out(ctx: Context, content: dict[str, Any]) -> dict[str, Any]:
    """{}: the balance is paid to the bank, as Stripe does by itself."""
    _check_types(content)
    return balance.pay_out(ctx)


def _store_payments(ctx: Context, content: dict[str, Any]) -> dict[str, Any]:
    """{"payments", "saved_cards"}: lists of what was paid and saved elsewhere, see README.md."""
    return {
        "payments": past_payments.store(ctx, content["payments"]),
        "saved_cards": sum(past_payments.save_card(ctx, **card) for card in content["saved_cards"]),
    }


def _check_types(content: dict[str, Any], **types: type) -> None:
    for name, value in content.items():
        if name not in types or type(value) is not types[name]:
            raise invalid_params(f"Unknown, or of the wrong type: {name}.", name)


SCENARIOS: tuple[tuple[re.Pattern[str], Scenario], ...] = (
    (re.compile(r"/_sandbox/payment_methods/(?P<id>[^/]+)"), _refuse_card),
    (re.compile(r"/_sandbox/disputes"), _open_dispute),
    (re.compile(r"/_sandbox/disputes/(?P<id>[^/]+)"), _decide_dispute),
    (re.compile(r"/_sandbox/payments"), _store_payments),
    (re.compile(r"/_sandbox/payouts"), _pay_out),
    (re.compile(r"/_sandbox/refunds"), _refund),
    (re.compile(r"/_sandbox/refunds/(?P<id>[^/]+)"), _fail_refund),
)


def answer(store: Store, request: Request, content: Any) -> Response | None:
    """The answer to a POST, or None for an unknown path."""
    for pattern, scenario in SCENARIOS:
        if match := pattern.fullmatch(request.path):
            ids = {name: unquote(id) for name, id in match.groupdict().items()}
            return _play(store, request, scenario, content, ids)
    return None


def _play(
    store: Store, request: Request, scenario: Scenario, content: Any, ids: dict[str, str]
) -> Response:
    if not isinstance(content, dict):
        return Response.json({"error": "Expected a JSON object."}, status=400)
    try:
        with store.writing() as tx:
            # No request id: as at Stripe, only events of API calls have one.
            return Response.json(scenario(Context(tx, base_url=request.base_url), content, **ids))
    except ApiError as error:
        return Response.json({"error": error.error["message"]}, status=error.status)
