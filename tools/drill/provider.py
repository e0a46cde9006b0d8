"""Drills in which Stripe or the mail server misbehaves while buyers buy."""

import os
import time
from functools import partial
from typing import Any

import requests

from tools.drill.buyer import Buyer, Crowd, buy_one_by_one, wait
from tools.drill.count import Outcome, has_access, losses, received
from tools.drill.shop import Shop

# What Stripe does, by the name that the table shows.
TROUBLE: dict[str, tuple[dict[str, Any], ...]] = {
    "lento": ({"calls": "*", "do": "slow", "seconds": 1.5, "caller": "server"},),
    "a veces sin respuesta": (
        {"calls": "*", "do": "timeout_after", "probability": 0.3, "seed": 1, "caller": "server"},
        {"calls": "*", "do": "timeout_before", "probability": 0.2, "seed": 2, "caller": "server"},
    ),
    "con errores 500 y 429": (
        {"calls": "*", "do": "error_500", "probability": 0.2, "seed": 3, "caller": "server"},
        {"calls": "*", "do": "error_429", "probability": 0.2, "seed": 4, "caller": "server"},
    ),
    "con respuestas ilegibles": (
        {"calls": "*", "do": "html", "probability": 0.15, "seed": 5, "caller": "server"},
        {"calls": "*", "do": "truncated", "probability": 0.15, "seed": 6, "caller": "server"},
    ),
    "con avisos tardíos": ({"events": "*", "do": "late", "seconds": 8},),
    "con avisos repetidos y falsos": (
        {"events": "*", "do": "twice"},
        {"events": "*", "do": "forged", "how": "old_timestamp"},
    ),
}


def provider_in_trouble(shop: Shop) -> Outcome:
    """Stripe is slow, loses answers, fails, sends events late, twice and forged."""
    buyers, lost, refused = [], [], []
    for name, faults in TROUBLE.items():
        for fault in faults:
            try:
                shop.sandbox.fault(**fault)
            except requests.HTTPError as error:
                lost.append(f"«{name}» no se puede simular: {error}")
        bought = buy_one_by_one(shop, 3)
        shop.sandbox.control("DELETE", "faults")
        buyers += bought
        paid = sum(buyer.paid for buyer in bought)
        refused.append(f"{name}: {paid} de 3, {sum(len(b.refusals) for b in bought)} repetidos")
    # A breaker may be open for 15 s, and a webhook is sent again after up to 30 s.
    lost += losses(shop, buyers)
    return Outcome("Stripe " + ", ".join(TROUBLE), "; ".join(refused), lost)


def mail_server_away(shop: Shop) -> Outcome:
    """The mail server is away; the mails of that time arrive once, afterwards."""
    before = len(received(shop))
    shop.stop_mail()
    buyers = buy_one_by_one(shop, 4)
    away = len(received(shop)) - before
    shop.start_mail()
    lost = losses(shop, buyers)
    return Outcome(
        "sin servidor de correo durante 4 compras",
        f"{away} correos mientras tanto, {len(received(shop)) - before} al volver",
        lost,
    )


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
