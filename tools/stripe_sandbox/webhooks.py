"""Deliver events to webhook endpoints: signed as Stripe signs, repeated until accepted.

The queue is in the state file, so deliveries continue after a restart.
"""

import hashlib
import hmac
import json
import logging
import threading
import time
import urllib.error
import urllib.request
from typing import Any

from .context import Context
from .ids import random_text
from .resources import checkout_completion, payment_confirmation, refunds, settlement
from .store import Delivery, Store

SETTLE = {"payment_intent": payment_confirmation.settle, "refund": refunds.settle}

logger = logging.getLogger(__name__)

# Seconds before each repeat. Stripe repeats for three days.
RETRY_SECONDS = (1, 2, 5, 10, 30, 60, 300, 900, 3600, 3600, 3600)
TIMEOUT_SECONDS = 10
IDLE_SECONDS = 0.5
STOP_SECONDS = 2


# What forgeries use: the wrong secret, and the age of a replayed event.
FORGED_SECRET = "whsec_somebody_elses"  # noqa: S105 - it is wrong on purpose
REPLAY_AGE_SECONDS = 3600


def signature(payload: bytes, secret: str, at: int) -> str:
    """The `Stripe-Signature` header: HMAC-SHA256 over `<timestamp>.<payload>`."""
    mac = hmac.new(secret.encode(), f"{at}.".encode() + payload, hashlib.sha256)
    return f"t={at},v1={mac.hexdigest()}"


def forge(event: dict[str, Any], payload: bytes, secret: str, how: str) -> tuple[bytes, str]:
    """Body and signature of a forgery; `how` is one of `faults.FORGERIES`. "" is no signature."""
    now = int(time.time())
    if how == "no_signature":
        return payload, ""
    if how == "wrong_signature":
        return payload, signature(payload, FORGED_SECRET, now)
    if how == "old_timestamp":
        return payload, signature(payload, secret, now - REPLAY_AGE_SECONDS)
    # A well-formed event that claims a successful payment, but is not what was signed.
    claim = {**event["data"]["object"], "status": "succeeded"}
    other = {
        **event,
        "id": f"evt_{random_text(24)}",
        "type": "payment_intent.succeeded",
        "data": {"object": claim},
    }
    return json.dumps(other).encode(), signature(payload, secret, now)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None  # For Stripe a redirect is a failed delivery.


class Deliverer:
    """The background thread: does the scheduled work, then sends due deliveries, oldest first."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._wake = threading.Event()
        self._sending = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="webhooks", daemon=True)
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects())

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread, which has the state file open. Waits at most 2 s for a delivery."""
        self._stopped.set()
        self._wake.set()
        self._thread.join(timeout=STOP_SECONDS)

    def wake(self) -> None:
        self._wake.set()

    def set_enabled(self, *, enabled: bool) -> None:
        """Start or stop delivery. While it is stopped, events wait in the queue."""
        with self.store.writing() as tx:
            tx.set_setting("webhooks_enabled", "1" if enabled else "0")
        self.wake()

    def deliver_now(self) -> int:
        """Send all waiting deliveries now. Returns the number of accepted ones."""
        with self._sending:
            with self.store.reading() as tx:
                deliveries = tx.due_deliveries(now=None)
            return sum(self._attempt(delivery) for delivery in deliveries)

    def _loop(self) -> None:
        while not self._stopped.is_set():
            self._wake.wait(self._seconds_to_wait())
            self._wake.clear()
            try:
                _run_due_work(self.store)
                self._send_due()
            except Exception:
                # The thread must go on after any error. The next round tries again.
                logger.exception("webhook delivery failed")
                time.sleep(IDLE_SECONDS)

    def _seconds_to_wait(self) -> float:
        with self.store.reading() as tx:
            held = tx.setting("webhooks_enabled", "1") != "1"
            next_at = None if held else tx.next_delivery_at()
        if next_at is None:
            return IDLE_SECONDS
        return min(max(next_at - time.time(), 0.05), IDLE_SECONDS)

    def _send_due(self) -> None:
        with self._sending:
            with self.store.reading() as tx:
                if tx.setting("webhooks_enabled", "1") != "1":
                    return
                due = tx.due_deliveries(now=time.time())
            for delivery in due:
                if self._stopped.is_set():
                    return
                self._attempt(delivery)

    def _attempt(self, delivery: Delivery) -> bool:
        """Send an event to an endpoint and record the outcome. True if the endpoint accepted it."""
        with self.store.reading() as tx:
            event = tx.get("event", delivery.event_id)
            endpoint = tx.get("webhook_endpoint", delivery.endpoint_id)
            secret = tx.private(delivery.endpoint_id).get("secret", "")
            pending = tx.pending_webhooks(delivery.event_id)
        if event is None or endpoint is None or endpoint["status"] != "enabled":
            return self._record_outcome(delivery, "dropped", None)
        payload = json.dumps({**event, "pending_webhooks": pending}, indent=2).encode()
        if delivery.forgery:
            return self._attempt_forgery(delivery, endpoint["url"], event, payload, secret)
        signed = signature(payload, secret, int(time.time()))
        status = self._post(endpoint["url"], payload, signed)
        if status is not None and 200 <= status < 300:
            return self._record_outcome(delivery, "delivered", status)
        if delivery.attempts < len(RETRY_SECONDS):
            return self._record_outcome(delivery, "pending", status)
        return self._record_outcome(delivery, "dropped", status)

    def _attempt_forgery(
        self,
        delivery: Delivery,
        url: str,
        event: dict[str, Any],
        payload: bytes,
        secret: str,
    ) -> bool:
        """Send a forgery once. The delivery's state says whether the endpoint accepted it."""
        body, signed = forge(event, payload, secret, delivery.forgery)
        status = self._post(url, body, signed)
        accepted = status is not None and 200 <= status < 300
        self._record_outcome(delivery, "forgery taken" if accepted else "forgery refused", status)
        return False

    def _record_outcome(self, delivery: Delivery, state: str, status: int | None) -> bool:
        wait = RETRY_SECONDS[delivery.attempts] if state == "pending" else 0
        with self.store.writing() as tx:
            tx.record_attempt(delivery, state, time.time() + wait)
        answer = status or "no answer"
        logger.info(
            "webhook %s #%d: %s, %s", delivery.event_id, delivery.attempts + 1, answer, state
        )
        return state == "delivered"

    def _post(self, url: str, payload: bytes, signed: str) -> int | None:
        """The status of the answer, or None without an answer."""
        request = urllib.request.Request(  # noqa: S310 - `webhook_endpoints` checks the scheme
            url,
            data=payload,
            headers={
                "Content-Type": "application/json; charset=utf-8",
                **({"Stripe-Signature": signed} if signed else {}),
                "User-Agent": "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
                "X-Stripe-Sandbox": "true",
            },
        )
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        except (OSError, ValueError, urllib.error.URLError):
            return None


def _run_due_work(store: Store) -> None:
    """Do all work that is due. Each object has a transaction of its own."""
    _settle_payments_and_refunds(store)
    _expire_sessions(store)


def _settle_payments_and_refunds(store: Store) -> None:
    for kind, settle in SETTLE.items():
        with store.reading() as tx:
            ids = settlement.due_ids(tx, kind)
        for id in ids:
            with store.writing() as tx:
                ctx = Context(tx, base_url="")
                if settlement.claim(ctx, id):
                    settle(ctx, ctx.require(kind, id))


def _expire_sessions(store: Store) -> None:
    overdue = [("$.status =", "open"), ("$.expires_at <=", int(time.time()))]
    with store.reading() as tx:
        ids = [session["id"] for session in tx.find("checkout.session", where=overdue)]
    for id in ids:
        with store.writing() as tx:
            ctx = Context(tx, base_url="")
            # A request may have completed or removed the session in the meantime.
            session = tx.get("checkout.session", id)
            if session is not None and session["status"] == "open":
                checkout_completion.expire(ctx, session)
