"""Drills of a restored backup."""

import re
from pathlib import Path

from tools.drill.buyer import buy_one_by_one
from tools.drill.count import losses
from tools.drill.outcome import Outcome
from tools.drill.shop import Shop
from tools.drill.staff import make_lost_orders_again


def restored_backup(shop: Shop) -> Outcome:
    """Back up, buy three, restore, buy three: the audit names the three that are missing."""
    before = buy_one_by_one(shop, 2)
    lost = losses(shop, before)
    folder = shop.folder / "backups"
    status, output = shop.host.manage("backup", "--unencrypted", "--folder", str(folder))
    if status:
        return Outcome("copia", output[-200:], [*lost, "no hay copia"])
    [archive] = Path(folder).iterdir()
    missing = buy_one_by_one(shop, 3)
    lost += losses(shop, missing)
    shop.host.stop()
    status, output = shop.host.manage("restore", str(archive), "--over-existing")
    named = len(re.findall("^Cobro sin pedido", output, re.MULTILINE))
    shop.host.start()
    if named != 3:
        lost.append(f"la auditoría nombra {named} de 3: {output[-300:]}")
    made = make_lost_orders_again(shop)
    if made != 3:
        lost.append(f"creados de nuevo: {made} de 3")
    after = buy_one_by_one(shop, 3)
    for buyer in missing:
        buyer.confirmations = 2
    lost += losses(shop, [*before, *missing, *after])
    return Outcome(
        "copia, tres compras, restaurar, crear de nuevo, tres compras",
        f"la auditoría nombró {named} de 3; creados de nuevo {made}; las siguientes se pagaron",
        lost,
    )
