"""Stripe and the mail server hang: they take connections and do not answer."""

import os
import time
from functools import partial

import requests

from tools.drill.buyer import Buyer, Crowd, wait
from tools.drill.count import has_access, losses
from tools.drill.outcome import Outcome
from tools.drill.shop import Shop

# Ten minutes would take half of all drills' time. The time-outs of one attempt are 12 and 20 s.
SECONDS = float(os.environ.get("DRILL_HANG_SECONDS", "45"))
SLOWEST_PAGE_S = 10.0
SLOWEST_ACCESS_S = 20.0


def neighbours_hang(shop: Shop) -> Outcome:
    """Stripe and the mail server hang; pages, free orders and access go on."""
    fault = {"calls": "*", "do": "timeout_before", "seconds": 600, "caller": "server"}
    shop.sandbox.fault(**fault)
    shop.mail.answers_at_all.clear()
    pages, accesses, free, lost = [], [], [], []
    with Crowd(shop, threads=2) as crowd:
        ends_at = time.monotonic() + SECONDS
        while time.monotonic() < ends_at:
            began = time.monotonic()
            requests.get(f"{shop.address}/compra", timeout=60).raise_for_status()
            pages.append(time.monotonic() - began)
            buyer = Buyer(shop, free=True)
            free.append(buyer)
            began = time.monotonic()
            buyer.buy()
            if not wait(partial(has_access, shop, buyer.email), 60):
                lost.append(f"{buyer.email}: sin acceso mientras tanto")
            accesses.append(time.monotonic() - began)
        paid_meanwhile = crowd.paid
        shop.sandbox.control("DELETE", "faults")
        shop.mail.answers_at_all.set()
        crowd.wait_for(2, seconds=90)
    for what, seconds, limit in (
        ("una página", pages, SLOWEST_PAGE_S),
        ("un acceso", accesses, SLOWEST_ACCESS_S),
    ):
        if max(seconds) > limit:
            lost.append(f"{what} tardó {max(seconds):.1f} s")
    lost += losses(shop, [*free, *crowd.buyers])
    return Outcome(
        f"Stripe y el servidor de correo se quedan colgados {SECONDS:.0f} s",
        f"{len(free)} pedidos gratis con acceso, el más lento en {max(accesses):.1f} s; la página "
        f"más lenta, {max(pages):.1f} s; {paid_meanwhile} pagos mientras tanto y "
        f"{crowd.paid - paid_meanwhile} después",
        lost,
    )
