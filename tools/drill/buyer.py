"""Buyers as browsers are: they check out, pay at Stripe, and tell the shop. They try again."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import requests
import stripe

from tools.drill.shop import Shop

CARD = "4242424242424242"
# 100 € less 5 % for paying at once.
PRICE = 95.0
PLAN_PRICE = 100.0
_numbers = count(1)


@dataclass
class Buyer:
    """One buyer of one subject. `order` is empty until the shop has answered."""

    shop: Shop
    plan: bool = False
    # Whether a promo code leaves nothing to pay.
    free: bool = False
    number: int = field(default_factory=lambda: next(_numbers))
    order: int = 0
    paid: bool = False
    # A buyer whose order was made again gets a second one, with the new number.
    confirmations: int = 1
    # Seconds that the buyer waits for an answer.
    patience_s: float = 30
    # The addresses that the buyer's requests go to in turn; without any, the shop's.
    entrances: Sequence[str] = ()
    _requests: "count[int]" = field(default_factory=count)
    refusals: list[str] = field(default_factory=list)
    _payment: str = ""
    _secret: str = ""

    @property
    def email(self) -> str:
        return f"buyer{self.number}@example.com"

    def buy(self, *, seconds: float = 120) -> bool:
        """Buy, and try again while the shop or Stripe fails. Returns whether the card was charged.

        Like a person, the buyer pays the card once: after that only the shop is told again.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                return self._attempt()
            except (requests.RequestException, stripe.StripeError, TryAgain) as error:
                self.refusals.append(f"{type(error).__name__} {error}"[:160])
                time.sleep(0.3 + random.random())  # noqa: S311
        return self.paid

    def _attempt(self) -> bool:
        self.place()
        if not self.paid:
            self.pay()
            self.tell()
        return True

    def place(self) -> None:
        """Place the order. The buyer has paid if nothing is left to pay."""
        placed = self._post("process-checkout", self._cart())
        if placed.get("already_paid") or placed.get("code") == "already_paid":
            self.paid = True
            return
        self.order = int(placed["order_id"])
        self.paid = bool(placed.get("completed"))
        self._payment, self._secret = placed["payment_intent_id"], placed.get("client_secret", "")

    def tell(self) -> None:
        """Report the charge to the shop, as the browser does. Stripe's event reports it, too."""
        self._post("complete-payment", {"payment_intent_id": self._payment})

    def pay(self) -> None:
        """Confirm the card at Stripe."""
        sandbox, secret = self.shop.sandbox, self._secret
        params: Any = {
            "client_secret": secret,
            "payment_method": sandbox.new_card(CARD).id,
            "return_url": f"{self.shop.address}/success",
        }
        try:
            sandbox.browser_client().v1.payment_intents.confirm(secret.split("_secret_")[0], params)
        except stripe.InvalidRequestError as error:
            if error.code != "payment_intent_unexpected_state":
                raise
            # The answer of an earlier try was lost: the card is charged already.
        self.paid = True

    def _cart(self) -> dict[str, Any]:
        subject = self.shop.subjects[self.number % len(self.shop.subjects)]
        total = 0.0 if self.free else PLAN_PRICE if self.plan else PRICE
        return {
            "email": self.email,
            "phone": f"+346{self.number:08}",
            "total_amount": total,
            "payment_type": "installment" if self.plan else "full_payment",
            "order_key": f"00000000-0000-4000-8000-{self.number:012}",
            "items": [
                {
                    "subject_id": subject,
                    "lesson_ids": [],
                    "subject_price": 100.0,
                    "lesson_prices": [],
                }
            ],
            "promo_code": self.shop.promo_code if self.free else "",
            "termsAccepted": True,
            "privacyAccepted": True,
            "adultConfirmed": True,
            "withdrawalWaived": True,
        }

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        # Each buyer has an address of their own.
        number = self.number
        address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        entrances = self.entrances or (self.shop.address,)
        entrance = entrances[next(self._requests) % len(entrances)]
        if self.entrances:
            # Without nginx, which adds the address that it sees.
            address += ", 127.0.0.1"
        answer = requests.post(
            f"{entrance}/api/{path}",
            json=body,
            timeout=self.patience_s,
            headers={"X-Forwarded-For": address, "Origin": self.shop.address},
        )
        try:
            content: dict[str, Any] = answer.json()
        except ValueError:
            content = {}
        if answer.status_code == 200 or content.get("code") == "already_paid":
            return content
        raise TryAgain(f"{path}: {answer.status_code} {content.get('code', '')}")


class TryAgain(Exception):
    """The shop did not answer as expected. The buyer tries again."""


def buy_one_by_one(
    shop: Shop, number: int, *, plan: bool = False, free: bool = False
) -> list[Buyer]:
    buyers = [Buyer(shop, plan=plan, free=free) for _ in range(number)]
    for buyer in buyers:
        buyer.buy()
    return buyers


def make_due(shop: Shop, plans: Sequence[Buyer]) -> None:
    """Make the second instalments of these plans due today."""
    emails = ", ".join(f"'{plan.email}'" for plan in plans)
    shop.host.manage("shell", "--command", _DUE.format(emails=emails))


_DUE = """
from django.utils import timezone
from apps.orders.models import Instalment
rows = Instalment.objects.filter(order__email__in=[{emails}], number=2)
rows.update(due_on=timezone.localdate(), charge_on=timezone.localdate())
"""


class Crowd:
    """Buyers who arrive all the time, in some threads, until the crowd is told to stop."""

    def __init__(
        self, shop: Shop, *, threads: int = 3, plan: bool = False, patience_s: float = 30
    ) -> None:
        self.buyers: list[Buyer] = []
        self._shop, self._plan, self._patience_s = shop, plan, patience_s
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._arrive) for _ in range(threads)]

    def __enter__(self) -> "Crowd":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, more: int, seconds: float = 60) -> None:
        """Wait until this many more buyers have paid."""
        wanted = self.paid + more
        wait(lambda: self.paid >= wanted, seconds)

    @property
    def paid(self) -> int:
        return sum(buyer.paid for buyer in self.buyers)

    @property
    def refusals(self) -> int:
        return sum(len(buyer.refusals) for buyer in self.buyers)

    def refused(self) -> list[str]:
        """Why each attempt was repeated."""
        return [text for buyer in self.buyers for text in buyer.refusals]

    def _arrive(self) -> None:
        while not self._over.is_set():
            buyer = Buyer(self._shop, plan=self._plan, patience_s=self._patience_s)
            self.buyers.append(buyer)
            buyer.buy()


def wait(condition: Callable[[], bool], seconds: float) -> bool:
    """Poll the condition; False if it did not become true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True
