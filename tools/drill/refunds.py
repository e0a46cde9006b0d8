"""Kills at each step of a refund that a member of staff makes in the admin."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tools.drill.buyer import PRICE, Buyer, buy_one_by_one, wait
from tools.drill.count import Outcome, losses, received, settle_killed
from tools.drill.shop import Shop
from tools.drill.staff import Staff
from tools.drill.steps import Step, killed_at

UNWRITTEN = Step("devolución: antes de escribirla", "web", table="orders_refund")
WRITTEN = (
    Step("devolución: escrita, sin llegar a Stripe", "web", call="POST /v1/refunds"),
    Step("devolución: hecha, sin respuesta", "web", call="POST /v1/refunds", after=True),
    # The first list is asked for before the refund is made, the second one to record it.
    Step("devolución: contestada, sin anotar", "web", call="GET /v1/refunds", nth=2),
)


def refunds_killed(shop: Shop) -> Outcome:
    """Kill the web process at each step of a refund; each buyer gets the money back once."""
    steps = (UNWRITTEN, *WRITTEN)
    buyers = buy_one_by_one(shop, len(steps))
    lost = losses(shop, buyers)
    staff = Staff(shop)
    for step, buyer in zip(steps, buyers, strict=True):
        lost += killed_at(shop, step, _confirmed_refund(staff, buyer))
    # Nothing was written down at the first step: staff see that, and do it again.
    _confirmed_refund(staff, buyers[0])()
    # A refund without an answer is settled after 2 minutes; here they are over now.
    shop.host.manage("shell", "--command", _TWO_MINUTES_LATER)
    settle_killed(shop)
    wait(lambda: not _not_refunded(shop, buyers), 60)
    lost += _not_refunded(shop, buyers)
    status, output = shop.host.manage("audit_money", "--after-restore")
    if status:
        lost += output.splitlines()[-8:]
    return Outcome(
        f"kill -9 en {len(steps)} pasos de una devolución",
        f"{len(buyers) - len(_not_refunded(shop, buyers))} de {len(buyers)} devueltas una vez",
        lost,
    )


_TWO_MINUTES_LATER = """
from datetime import timedelta
from django.db.models import F
from apps.orders.models import Refund
Refund.objects.unanswered().update(created_at=F("created_at") - timedelta(minutes=3))
"""


def _confirmed_refund(staff: Staff, buyer: Buyer) -> Callable[[], object]:
    """The second of the two requests of a refund. The first one is the preview."""
    path = f"/admin/devolver/{buyer.order}"
    fields = {"amount": f"{PRICE:.2f}", "reason": "Simulacro"}
    page = staff.post(path, preview="1", **fields).text
    keys = {name: staff.hidden(page, name) for name in ("batch", "seen")}
    return partial(staff.post, path, confirm="1", **fields, **keys)


def _not_refunded(shop: Shop, buyers: list[Buyer]) -> list[str]:
    """One sentence for each buyer without exactly one refund at Stripe, in the shop and by mail."""
    page = shop.sandbox.client().v1.payment_intents.list(
        {"limit": 100, "expand": ["data.latest_charge", "data.customer"]}
    )
    returned = {
        getattr(intent.customer, "email", ""): intent.latest_charge.amount_refunded  # type: ignore[union-attr]
        for intent in page.auto_paging_iter()
        if intent.status == "succeeded" and intent.latest_charge
    }
    orders: Any = shop.database.rows(_STATUSES)
    statuses = dict(orders)
    rows = shop.database.rows(_REFUNDS)
    mails = received(shop)
    found = []
    for buyer in buyers:
        cents = returned.get(buyer.email, 0)
        recorded = [status for order, status in rows if order == buyer.order]
        told = sum(to == buyer.email and "devuelto" in subject for to, subject in mails)
        facts = (cents, recorded, statuses.get(buyer.order), told)
        if facts != (round(PRICE * 100), ["succeeded"], "refunded", 1):
            found.append(f"{buyer.email}: céntimos, devoluciones, pedido y correos son {facts}")
    return found


_STATUSES = "SELECT id, status FROM orders_order"
_REFUNDS = """
SELECT payment.order_id, refund.status FROM orders_refund refund
JOIN orders_payment payment ON payment.id = refund.payment_id
"""
