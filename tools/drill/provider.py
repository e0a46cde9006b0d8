"""Drills in which Stripe or the mail server misbehaves while buyers buy."""

from typing import Any

import requests

from tools.drill.buyer import buy_one_by_one
from tools.drill.count import losses, received
from tools.drill.outcome import Outcome
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
