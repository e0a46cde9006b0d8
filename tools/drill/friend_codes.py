"""Many carts of one buyer at once, all with the code of a friend."""

import os
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import requests
import stripe

from tools.drill.buyer import PRICE, Buyer, TryAgain, wait
from tools.drill.count import Outcome, losses
from tools.drill.shop import Shop

ROUNDS = int(os.environ.get("DRILL_FRIEND_CODE_ROUNDS", "100"))
CARTS = 5
DISCOUNT = 15.0


@dataclass
class Tab(Buyer):
    """A tab with a cart of its own, another subject each, of the same person with the same code."""

    person: Buyer = field(kw_only=True)
    code: str = field(kw_only=True)

    def buy_once(self) -> None:
        """Check out and pay. A refusal, or a payment that was canceled, is the end of it."""
        with suppress(requests.RequestException, stripe.StripeError, TryAgain):
            self.place()
            self.pay()
            self.tell()

    def _cart(self) -> dict[str, Any]:
        theirs = self.person._cart()
        contact = {name: theirs[name] for name in ("email", "phone")}
        price = {"total_amount": PRICE - DISCOUNT, "promo_code": self.code}
        return {**super()._cart(), **contact, **price}


def friend_code_at_once(shop: Shop) -> Outcome:
    """Buy in five tabs at once with one friend code: the discount is given and charged once."""
    friend = Buyer(shop)
    friend.buy()
    wait(lambda: bool(shop.database.rows(_CODES)), 30)
    code = str(shop.database.rows(_CODES)[0][0])
    people = [_buyer_of_many_tabs(shop, code) for _ in range(ROUNDS)]
    lost = losses(shop, [friend, *people])
    flagged = shop.database.rows(_FLAGGED)
    lost += [f"pedido {order} con aviso: {flag}" for order, flag in flagged]
    return Outcome(
        f"{ROUNDS} veces {CARTS} compras a la vez de una persona con un código de amigo",
        f"{sum(person.paid for person in people)} descuentos, uno por persona",
        lost,
    )


def _buyer_of_many_tabs(shop: Shop, code: str) -> Buyer:
    """A buyer who has paid in one of several tabs, which did everything at the same time."""
    person = Buyer(shop)
    tabs = [Tab(shop, person=person, code=code) for _ in range(CARTS)]
    threads = [threading.Thread(target=tab.buy_once) for tab in tabs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # `losses` then wants one charge, one paid order, access and one confirmation.
    person.paid = True
    return person


_CODES = "SELECT code FROM pricing_promocode WHERE is_referral_code"
_FLAGGED = """
SELECT o.id, o.flag FROM orders_order o JOIN pricing_promocode code ON code.id = o.promo_code_id
WHERE code.is_referral_code AND o.flag <> ''
"""
