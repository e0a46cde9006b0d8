"""The WSGI application: the API under /v1, pages and scripts, and the controls under /_sandbox."""

import logging
import re
import socket
import time
from contextlib import suppress
from typing import Any

from .api import Api, Keys
from .control import Calls, Control
from .faults import RATE_LIMIT, Fault, Faults, corrupted
from .http import CONNECTION, MAX_BODY_BYTES, Request, Response, StartResponse
from .pages import Pages
from .store import Store
from .webhooks import Deliverer

logger = logging.getLogger(__name__)

LOOPBACK_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d+)?")
# The log masks these paths: anybody who knows the path can answer the challenge or open the page.
CHALLENGE_TOKEN = re.compile(r"(/v3/challenge/[^/]+/|/c/pay/).*")

DROPPED = ("timeout_before", "timeout_after")
CORRUPTED = ("html", "truncated", "empty")


class Application:
    def __init__(self, store: Store, keys: Keys, deliverer: Deliverer) -> None:
        self.api = Api(store, keys)
        self.pages = Pages(store, keys.publishable)
        self.faults = Faults(store)
        self.calls = Calls()
        self.control = Control(store, deliverer, self.faults, self.calls)
        self.deliverer = deliverer

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
        started_at = time.monotonic()
        request = Request.from_environ(environ)
        fault = None
        try:
            fault = self._fault(request)
            response = self._answer(request, fault)
        except Exception:
            logger.exception("%s %s", request.method, CHALLENGE_TOKEN.sub(r"\1…", request.path))
            response = Response.json(
                {"error": {"type": "api_error", "message": "The Stripe sandbox failed."}},
                status=500,
                headers=(("Request-Id", request.id), ("Stripe-Should-Retry", "true")),
            )
        if request.method in ("POST", "DELETE"):
            self.deliverer.wake()
        drops = fault is not None and fault.kind in DROPPED
        if fault is not None and drops:
            self.faults.delay(fault)
        # The log has no query, body or headers, because they contain keys and client secrets.
        logger.info(
            "%s %s %s %s %.0f ms%s",
            request.method,
            CHALLENGE_TOKEN.sub(r"\1…", request.path),
            "no answer" if drops else response.status,
            request.id,
            (time.monotonic() - started_at) * 1000,
            f" (fault: {fault.kind})" if fault else "",
        )
        if drops:
            _drop_connection(environ[CONNECTION])
        return response.send(start_response)

    def _fault(self, request: Request) -> Fault | None:
        if not request.path.startswith("/v1/") or request.method == "OPTIONS":
            return None
        return self.faults.for_call(request)

    def _answer(self, request: Request, fault: Fault | None) -> Response:
        if not LOOPBACK_HOST.fullmatch(request.headers.get("host", "")):
            # DNS rebinding: a web page must not reach the controls through a name of its own.
            return Response.json({"error": {"message": "Loopback addresses only."}}, status=403)
        if len(request.body) > MAX_BODY_BYTES:
            return Response.json({"error": {"message": "Request too large."}}, status=413)
        if request.path.startswith("/v1/"):
            with self.calls:
                return self._api_answer(request, fault)
        if request.path.startswith("/_sandbox/"):
            return self.control.answer(request)
        return self.pages.answer(request)

    def _api_answer(self, request: Request, fault: Fault | None) -> Response:
        match fault.kind if fault else "":
            case "slow" if fault:
                self.faults.delay(fault)
            case "timeout_before":
                return Response()  # The connection is dropped before it is sent.
            case "error_429":
                # As at Stripe, libraries do not repeat the call, and it is not stored for a key.
                return Response.json(RATE_LIMIT, 429, (("Request-Id", request.id),))
        response = self.api.answer(request, fault)
        return corrupted(response, fault.kind) if fault and fault.kind in CORRUPTED else response


def _drop_connection(connection: socket.socket) -> None:
    """End the connection without an answer. Later writes of the server fail silently."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
