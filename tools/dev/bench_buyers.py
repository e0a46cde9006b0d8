"""Buyers of `make bench`: they check out, pay at the Stripe sandbox and complete the payment.

    python -m tools.dev.bench_buyers '{"shop": PORT, "stripe": PORT, "key": KEY, "item": ITEM,
        "total": EUROS, "first": NUMBER, "buyers": COUNT, "seconds": SECONDS,
        "per_second": RATE or null}'

It is a process of its own and prints one line of JSON. Without `per_second` each buyer buys again
at once, with it purchases begin at that rate. Buyers and their orders are numbered from `first`.
"""

import http.client
import json
import sys
import threading
import time
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlencode

CARD = {
    "type": "card",
    "card[number]": "4242424242424242",
    "card[exp_month]": 12,
    "card[exp_year]": 2034,
    "card[cvc]": "123",
}
FORM = "application/x-www-form-urlencoded"
RETURN_URL = "http://127.0.0.1/success"
TIMEOUT_S = 60
AGAIN_AFTER_S = 0.5
MOST_REFUSALS = 500


@dataclass
class Buyers:
    """All buyers of one run, and what became of their purchases."""

    shop: int
    stripe: int
    key: str
    item: dict[str, Any]
    total: float
    first: int
    buyers: int
    seconds: float
    per_second: float | None
    done: list[float] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    def run(self) -> dict[str, Any]:
        self._numbers = count(self.first)
        self._began = time.monotonic()
        threads = [threading.Thread(target=self._buy_again) for _ in range(self.buyers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        times = sorted(self.done) or [0.0]
        return {
            "paid": len(self.done),
            "refused": len(self.refusals),
            "refusals": self.refusals[:5],
            "p95_s": times[len(times) * 95 // 100],
            "cpu_s": time.process_time(),
        }

    def _buy_again(self) -> None:
        shop = http.client.HTTPConnection("127.0.0.1", self.shop, timeout=TIMEOUT_S)
        stripe = http.client.HTTPConnection("127.0.0.1", self.stripe, timeout=TIMEOUT_S)
        while (number := next(self._numbers)) is not None:
            due = (number - self.first) / self.per_second if self.per_second else 0.0
            wait_s = self._began + due - time.monotonic()
            if wait_s > 0:
                time.sleep(wait_s)
            began = time.monotonic()
            if began - self._began >= self.seconds:
                return
            # A shop that refuses everything must not be asked for ever.
            while len(self.refusals) < MOST_REFUSALS:
                try:
                    self._buy(number, shop, stripe)
                except (OSError, http.client.HTTPException, LookupError) as error:
                    self.refusals.append(f"{type(error).__name__}: {error}"[:300])
                    shop.close()
                    stripe.close()
                    time.sleep(AGAIN_AFTER_S)
                else:
                    self.done.append(time.monotonic() - began)
                    break

    def _buy(
        self, number: int, shop: http.client.HTTPConnection, stripe: http.client.HTTPConnection
    ) -> None:
        headers = {
            "Content-Type": "application/json",
            # Each buyer has an address of their own.
            "X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}",
        }
        placed = _ask(shop, "/api/process-checkout", json.dumps(self._cart(number)), headers)
        if placed.get("code") == "already_paid":
            return
        payment, secret = placed["payment_intent_id"], placed["client_secret"]
        browser = {"Authorization": f"Bearer {self.key}", "Content-Type": FORM}
        card = _ask(stripe, "/v1/payment_methods", urlencode(CARD), browser)["id"]
        confirmed = _ask(
            stripe,
            f"/v1/payment_intents/{payment}/confirm",
            urlencode({"client_secret": secret, "payment_method": card, "return_url": RETURN_URL}),
            browser,
        )
        if confirmed["status"] != "succeeded":
            raise LookupError(confirmed["status"])
        body = json.dumps({"payment_intent_id": payment})
        _ask(shop, "/api/complete-payment", body, headers)

    def _cart(self, number: int) -> dict[str, Any]:
        return {
            "email": f"buyer{number}@example.com",
            "phone": f"+346{number:08}",
            "total_amount": self.total,
            "payment_type": "full_payment",
            "order_key": f"00000000-0000-4000-8000-{number:012}",
            "items": [self.item],
            "termsAccepted": True,
            "privacyAccepted": True,
            "adultConfirmed": True,
            "withdrawalWaived": True,
        }


def _ask(
    connection: http.client.HTTPConnection, path: str, body: str, headers: dict[str, str]
) -> dict[str, Any]:
    """The JSON answer to a POST. Raises LookupError for another status than 200."""
    connection.request("POST", path, body, headers)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200 and b'"already_paid"' not in content:
        raise LookupError(f"{path}: {answer.status} {content[:200]!r}")
    found: dict[str, Any] = json.loads(content)
    return found


if __name__ == "__main__":
    print(json.dumps(Buyers(**json.loads(sys.argv[1])).run()))
