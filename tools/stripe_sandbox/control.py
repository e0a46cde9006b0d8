"""The control API under /_sandbox, which tests use. README.md lists its requests."""

import json
import re
import threading
from collections.abc import Callable
from typing import Any

from . import scenarios
from .cards import TEST_CARDS
from .faults import BadFault, Faults
from .http import Request, Response
from .ids import STYLES
from .resources import settlement
from .store import Store
from .webhooks import Deliverer

ANY_ORIGIN = (("Access-Control-Allow-Origin", "*"),)
FAULT = re.compile(r"/_sandbox/faults/(\d{1,18})")
# How long a reset waits for the API calls that are still being answered.
RESET_WAIT_SECONDS = 30


class Calls:
    """The number of API calls that are being answered. A slow call may outlive its client."""

    def __init__(self) -> None:
        self.count = 0
        self._change = threading.Condition()

    def __enter__(self) -> None:
        with self._change:
            self.count += 1

    def __exit__(self, *_: object) -> None:
        with self._change:
            self.count -= 1
            self._change.notify_all()

    def wait_for_end(self) -> bool:
        """Wait until no call is being answered. False where that takes too long."""
        with self._change:
            return self._change.wait_for(lambda: self.count == 0, RESET_WAIT_SECONDS)


class BadRequest(Exception):
    """The body of a control request is not valid. The text says why."""


class Control:
    def __init__(self, store: Store, deliverer: Deliverer, faults: Faults, calls: Calls) -> None:
        self.store = store
        self.deliverer = deliverer
        self.faults = faults
        self.calls = calls
        self._requests: dict[str, Callable[[], Response]] = {
            "GET /_sandbox/cards": lambda: Response.json(TEST_CARDS, headers=ANY_ORIGIN),
            "GET /_sandbox/receipts": lambda: Response.json({"receipts": self._receipts()}),
            "GET /_sandbox/state": lambda: Response.json(self._state()),
            # A browser asks before it sends DELETE across origins, as it does for JSON.
            "DELETE /_sandbox/state": self._reset,
            "GET /_sandbox/faults": lambda: Response.json({"faults": self.faults.all()}),
            "DELETE /_sandbox/faults": lambda: Response.json({"removed": self.faults.remove()}),
        }
        self._posts: dict[str, Callable[[Any], Any]] = {
            "/_sandbox/webhooks": self._switch_webhooks,
            "/_sandbox/wallet": self._switch_wallet,
            "/_sandbox/settlement": self._switch_settlement,
            "/_sandbox/deliver": lambda _: {"delivered": self.deliverer.deliver_now()},
            "/_sandbox/ids": self._set_id_style,
            "/_sandbox/faults": self.faults.add,
        }

    def answer(self, request: Request) -> Response:
        if request.method == "POST":
            return self._post(request)
        if answer := self._requests.get(f"{request.method} {request.path}"):
            return answer()
        if request.method == "DELETE" and (fault := FAULT.fullmatch(request.path)):
            return self._remove_fault(int(fault[1]))
        return _unknown()

    def _post(self, request: Request) -> Response:
        # A browser asks before it sends JSON across origins, so a form of another site fails here.
        if request.headers["content-type"].partition(";")[0].strip() != "application/json":
            return Response.json({"error": "A JSON body is needed."}, status=400)
        try:
            content = json.loads(request.body)
        except ValueError:
            return Response.json({"error": "The body is not JSON."}, status=400)
        if request.path not in self._posts:
            return scenarios.answer(self.store, request, content) or _unknown()
        try:
            return Response.json(self._posts[request.path](content))
        except (BadRequest, BadFault) as error:
            return Response.json({"error": str(error)}, status=400)

    def _switch_webhooks(self, content: Any) -> dict[str, Any]:
        enabled = _flag(content, "enabled")
        self.deliverer.set_enabled(enabled=enabled)
        return {"enabled": enabled}

    def _switch_wallet(self, content: Any) -> dict[str, Any]:
        """Whether the browsers of the customers have the test wallet."""
        available = _flag(content, "available")
        with self.store.writing() as tx:
            tx.set_setting("wallet_available", "1" if available else "0")
        return {"available": available}

    def _switch_settlement(self, content: Any) -> dict[str, Any]:
        """Whether banks settle slow payments and refunds."""
        enabled = _flag(content, "enabled")
        with self.store.writing() as tx:
            settlement.set_enabled(tx, enabled=enabled)
        return {"enabled": enabled}

    def _set_id_style(self, content: Any) -> dict[str, Any]:
        style = content.get("style") if isinstance(content, dict) else None
        if style not in STYLES:
            raise BadRequest('Expected {"style": "plain" or "opaque"}.')
        with self.store.writing() as tx:
            tx.set_setting("id_style", style)
        return {"style": style}

    def _remove_fault(self, id: int) -> Response:
        if not self.faults.remove(id):
            return Response.json({"error": "There is no such fault."}, status=404)
        return Response.json({"removed": 1})

    def _reset(self) -> Response:
        """Forget everything but the webhook endpoint of the command line."""
        self.faults.remove()
        if not self.calls.wait_for_end():
            return Response.json({"error": "API calls are still being answered."}, status=409)
        with self.store.writing() as tx:
            tx.forget_everything(keeping=tx.setting("registered_endpoint", ""))
            tx.set_setting("id_style", "plain")
            tx.set_setting("webhooks_enabled", "1")
            tx.set_setting("wallet_available", "1")
            settlement.set_enabled(tx, enabled=True)
        return Response.json({})

    def _receipts(self) -> list[dict[str, str]]:
        """The receipts that Stripe would have mailed in live mode, oldest first."""
        with self.store.reading() as tx:
            charges = tx.find("charge", where=[("$.status =", "succeeded")])
        return [
            {"to": charge["receipt_email"], "payment_intent": charge["payment_intent"]}
            for charge in reversed(charges)
            if charge["receipt_email"]
        ]

    def _state(self) -> dict[str, object]:
        grouped = "SELECT {0}, count(*) FROM objects WHERE kind = '{1}' GROUP BY 1"
        status = "json_extract(body, '$.status')"
        with self.store.reading() as tx:
            return {
                "payment_intents": tx.counts(grouped.format(status, "payment_intent")),
                "charges": tx.counts(grouped.format(status, "charge")),
                "events": tx.counts(grouped.format("json_extract(body, '$.type')", "event")),
                "objects": tx.counts("SELECT kind, count(*) FROM objects GROUP BY 1"),
                "deliveries": tx.counts("SELECT state, count(*) FROM deliveries GROUP BY 1"),
                "calls": self.calls.count,
                "webhooks_enabled": tx.setting("webhooks_enabled", "1") == "1",
            }


def _flag(content: Any, name: str) -> bool:
    value = content.get(name) if isinstance(content, dict) else None
    if not isinstance(value, bool):
        raise BadRequest(f'Expected {{"{name}": true or false}}.')
    return value


def _unknown() -> Response:
    return Response.json({"error": "There is no such control."}, status=404)
