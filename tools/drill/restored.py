"""Drills of a restored backup."""

import re
from collections.abc import Sequence
from typing import Any

import requests

from tools.drill.buyer import Buyer, buy_one_by_one
from tools.drill.count import Outcome, losses
from tools.drill.shop import MONITOR_TOKEN, Host, Shop
from tools.drill.staff import make_lost_orders_again

_DUE = """
from django.utils import timezone
from apps.orders.models import Instalment
rows = Instalment.objects.filter(order__in={orders}, number=2)
rows.update(due_on=timezone.localdate(), charge_on=timezone.localdate())
"""


def rehearsed_restore(shop: Shop) -> Outcome:
    """Restore a backup with due instalments as a rehearsal, and run all its processes."""
    plans = buy_one_by_one(shop, 2, plan=True)
    lost = losses(shop, plans)
    shop.host.stop()
    shop.host.manage_or_fail("shell", "--command", _DUE.format(orders=[p.order for p in plans]))
    archive = _backup(shop, "rehearsed")
    with shop.database.beside("rehearsal") as url:
        host = shop.add_host("rehearsal", DATABASE_URL=url, REHEARSAL="true")
        before = _outside(shop)
        status, output = host.manage("restore", archive, "--rehearsal")
        if status:
            lost.append(f"el ensayo no se restaura: {output[-300:]}")
        lost += _run_everything(host)
        if _outside(shop) != before:
            lost.append("el ensayo ha cobrado o ha enviado correos")
        host.env["REHEARSAL"] = ""
        if not host.manage("charge_instalments")[0]:
            lost.append("sin REHEARSAL, la base de datos del ensayo se puede usar")
    shop.host.start()
    return Outcome(
        "copia con dos plazos que vencen hoy, restaurada como ensayo en otra base de datos",
        "sus procesos no cobraron ni enviaron nada, y sin REHEARSAL no arrancan",
        [*lost, *losses(shop, plans)],
    )


def _run_everything(host: Host) -> list[str]:
    host.manage("collectstatic", "--noinput", "--verbosity", "0")
    host.start()
    page = requests.get(host.url, timeout=60).text
    token = {"Authorization": f"Bearer {MONITOR_TOKEN}"}
    seen = requests.get(f"{host.url}/monitor", headers=token, timeout=60).json()
    # Besides the processes: each job and each task that is due, to its end.
    for command in (("clock", "--once"), ("charge_instalments",), ("worker", "--batch")):
        host.manage(*command)
    host.stop()
    is_told = "No se cobra" in page and "rehearsal" in seen["problems"]
    return [] if is_told else ["la tienda del ensayo no dice que lo es"]


def _outside(shop: Shop) -> Any:
    """The payments at Stripe with their states, and the number of mails."""
    page = shop.sandbox.client().v1.payment_intents.list({"limit": 100})
    payments = {intent.id: intent.status for intent in page.auto_paging_iter()}
    return payments, len(shop.mail.taken)


def _backup(shop: Shop, name: str) -> str:
    folder = shop.folder / name
    shop.host.manage_or_fail("backup", "--unencrypted", "--folder", str(folder))
    [archive] = folder.iterdir()
    return str(archive)


def _numbers_given_twice(before: Sequence[Buyer], after: Sequence[Buyer]) -> list[str]:
    given = {buyer.order for buyer in before}
    return [f"número {one.order} dado dos veces" for one in after if one.order in given]


def restored_backup(shop: Shop) -> Outcome:
    """Back up, buy three, restore, buy three: the audit names the three that are missing."""
    before = buy_one_by_one(shop, 2)
    lost = losses(shop, before)
    archive = _backup(shop, "backups")
    missing = buy_one_by_one(shop, 3)
    lost += losses(shop, missing)
    shop.host.stop()
    _, output = shop.host.manage("restore", archive, "--over-existing")
    named = len(re.findall("^Cobro sin pedido", output, re.MULTILINE))
    shop.host.start()
    if named != 3:
        lost.append(f"la auditoría nombra {named} de 3: {output[-300:]}")
    made = make_lost_orders_again(shop)
    if made != 3:
        lost.append(f"creados de nuevo: {made} de 3")
    after = buy_one_by_one(shop, 3)
    lost += _numbers_given_twice([*before, *missing], after)
    for buyer in missing:
        buyer.confirmations = 2
    lost += losses(shop, [*before, *missing, *after])
    return Outcome(
        "copia, tres compras, restaurar, crear de nuevo, tres compras",
        f"la auditoría nombró {named} de 3; creados de nuevo {made}; las siguientes se pagaron con "
        "números nuevos",
        lost,
    )
