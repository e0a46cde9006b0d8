"""Kills at each step of a purchase: checkout, confirmation, Stripe's event, access and mail."""

from tools.drill.buyer import Buyer
from tools.drill.count import Outcome, losses
from tools.drill.shop import Shop
from tools.drill.steps import Step, killed_at

CREATE, RETRIEVE = "POST /v1/payment_intents", "GET /v1/payment_intents/*"
CHECKOUT = (
    Step("pedido: antes de escribirlo", "web", table="orders_order"),
    Step("pedido: escrito, sin llegar a Stripe", "web", call=CREATE),
    Step("pedido: pago abierto en Stripe, sin respuesta", "web", call=CREATE, after=True),
)
CONFIRMATION = (
    Step("confirmación: sin consultar a Stripe", "web", call=RETRIEVE),
    Step("confirmación: antes de anotar el pago", "web", table="orders_payment"),
)
EVENT = (
    Step("aviso: antes de guardarlo", "web", table="payments_providerevent"),
    Step("aviso: guardado, sin consultar a Stripe", "worker-provider", call=RETRIEVE),
    Step("aviso: antes de anotar el pago", "worker-provider", table="orders_payment"),
)
AFTERWARDS = (
    Step("acceso: antes de darlo", "worker", table="classroom_enrolment"),
    Step("correo: antes de entregarlo", "worker-mail"),
)


def purchases_killed(shop: Shop) -> Outcome:
    """Kill a process at each step of a purchase; afterwards everything is there once."""
    buyers, lost = [], []
    for step in CHECKOUT:
        buyer = Buyer(shop)
        lost += killed_at(shop, step, buyer.place)
        buyer.buy()
        buyers.append(buyer)
    shop.sandbox.control("POST", "webhooks", {"enabled": False})
    for step in CONFIRMATION:
        buyer = _paid_at_stripe(shop)
        lost += killed_at(shop, step, buyer.tell)
        buyer.tell()
        buyers.append(buyer)
    shop.sandbox.control("POST", "webhooks", {"enabled": True})
    for step in EVENT:
        buyer = Buyer(shop)
        buyer.place()
        # The browser is closed after the payment: only Stripe's event tells the shop.
        lost += killed_at(shop, step, buyer.pay)
        buyers.append(buyer)
    for step in AFTERWARDS:
        buyer = Buyer(shop)
        lost += killed_at(shop, step, buyer.buy)
        buyers.append(buyer)
    steps = len(CHECKOUT + CONFIRMATION + EVENT + AFTERWARDS)
    lost += losses(shop, buyers, killed=True)
    return Outcome(
        f"kill -9 en {steps} pasos de una compra: pedido, confirmación, aviso, acceso y correo",
        f"{sum(buyer.paid for buyer in buyers)} de {len(buyers)} compras terminadas",
        lost,
    )


def _paid_at_stripe(shop: Shop) -> Buyer:
    buyer = Buyer(shop)
    buyer.place()
    buyer.pay()
    return buyer
