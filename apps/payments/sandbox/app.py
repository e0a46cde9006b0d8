"""The WSGI application: /v1 the API, /v3 what browsers load, /_sandbox controls for tests."""

import logging
import re
import time
from typing import Any

from .api import Api, Keys
from .control import Control
from .http import MAX_BODY_BYTES, Request, Response, StartResponse
from .pages import Pages
from .store import Store
from .webhooks import Deliverer

logger = logging.getLogger(__name__)

LOOPBACK_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d+)?")
# The paths of a challenge and of a Checkout Session's page are secrets of the customer.
CHALLENGE_TOKEN = re.compile(r"(/v3/challenge/[^/]+/|/c/pay/).*")


class Application:
    def __init__(self, store: Store, keys: Keys, deliverer: Deliverer) -> None:
        self.api = Api(store, keys)
        self.pages = Pages(store, keys.publishable)
        self.control = Control(store, deliverer)
        self.deliverer = deliverer

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
        started_at = time.monotonic()
        request = Request.from_environ(environ)
        try:
            response = self._answer(request)
        except Exception:
            logger.exception("%s %s", request.method, CHALLENGE_TOKEN.sub(r"\1…", request.path))
            response = Response.json(
                {"error": {"type": "api_error", "message": "The local Stripe stand-in failed."}},
                status=500,
                headers=(("Request-Id", request.id), ("Stripe-Should-Retry", "true")),
            )
        if request.method in ("POST", "DELETE"):
            self.deliverer.wake()
        # No query, no body, no headers: they hold keys and client secrets.
        logger.info(
            "%s %s %d %s %.0f ms",
            request.method,
            CHALLENGE_TOKEN.sub(r"\1…", request.path),
            response.status,
            request.id,
            (time.monotonic() - started_at) * 1000,
        )
        return response.send(start_response)

    def _answer(self, request: Request) -> Response:
        if not LOOPBACK_HOST.fullmatch(request.headers.get("host", "")):
            # A name that somebody points at 127.0.0.1 must not reach the controls from a web page.
            return Response.json({"error": {"message": "Loopback addresses only."}}, status=403)
        if len(request.body) > MAX_BODY_BYTES:
            return Response.json({"error": {"message": "Request too large."}}, status=413)
        if request.path.startswith("/v1/"):
            return self.api.answer(request)
        if request.path.startswith("/_sandbox/"):
            return self.control.answer(request)
        return self.pages.answer(request)
