"""Drills that kill processes with SIGKILL at random moments of each kind of work."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

from tools.dev.processes import ROOT
from tools.drill.buyer import Crowd, buy_one_by_one, make_due
from tools.drill.count import Outcome, losses
from tools.drill.shop import BACKGROUND, Host, Shop
from tools.drill.steps import Step, command_killed_at

WEB_KILLS = 6
COMMAND_KILLS = 3
_CHARGE = "POST /v1/payment_intents"
INSTALMENT = (
    Step("plazo: apuntado, sin llegar a Stripe", "", call=_CHARGE),
    Step("plazo: cobrado, sin respuesta", "", call=_CHARGE, after=True),
    Step("plazo: cobrado, sin anotar", "", table="orders_payment"),
)


def processes_killed(shop: Shop) -> Outcome:
    """Each process is killed with SIGKILL at a random moment under load, the web several times."""
    with Crowd(shop, threads=4) as crowd, Crowd(shop, threads=1, plan=True) as plans:
        for name in (*["web"] * WEB_KILLS, *BACKGROUND):
            crowd.wait_for(1)
            time.sleep(random.random())  # noqa: S311
            shop.host.kill(name)
            shop.host.start(name)
    return Outcome(
        f"kill -9 de la web {WEB_KILLS} veces, de cada trabajador y del reloj",
        f"{crowd.paid} compras y {plans.paid} a plazos, "
        f"{crowd.refusals + plans.refusals} intentos repetidos",
        losses(shop, [*crowd.buyers, *plans.buyers], killed=True),
    )


def instalments_killed(shop: Shop) -> Outcome:
    """The job that charges instalments is killed at each step and at random moments."""
    plans = buy_one_by_one(shop, 6, plan=True)
    lost = losses(shop, plans)
    make_due(shop, plans)
    for step in INSTALMENT:
        lost += command_killed_at(shop, step, "charge_instalments")
        # A killed run holds its instalment for 5 minutes; here the lease ends now.
        shop.host.manage("shell", "--command", _END_LEASES)
    for _ in range(COMMAND_KILLS):
        _killed_command(shop.host, 1.5, "charge_instalments")
    shop.host.manage("shell", "--command", _END_LEASES)
    shop.host.manage("charge_instalments")
    charged: Counter[int] = Counter()
    page = shop.sandbox.client().v1.payment_intents.list({"limit": 100})
    for intent in page.auto_paging_iter():
        metadata = intent.metadata.to_dict() if intent.metadata else {}
        if intent.status == "succeeded" and "instalments" in metadata:
            charged[int(metadata["order_id"])] += 1
    twice = [order for order, times in charged.items() if times > 1]
    lost += [f"pedido {order}: plazo cobrado dos veces" for order in twice]
    missing = [plan for plan in plans if not charged[plan.order]]
    lost += [f"pedido {plan.order}: plazo sin cobrar" for plan in missing]
    return Outcome(
        f"kill -9 del cobro de plazos en {len(INSTALMENT)} pasos y {COMMAND_KILLS} veces al azar",
        f"{sum(charged[plan.order] for plan in plans)} plazos cobrados de {len(plans)}",
        [*lost, *losses(shop, plans)],
    )


_END_LEASES = """
from apps.orders.models import Instalment
Instalment.objects.update(leased_until=None)
"""


def _killed_command(host: Host, begins_after: float, *arguments: str) -> None:
    """Run `manage.py` and kill it at a random moment of its first two seconds of work."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=host.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    time.sleep(begins_after + 2 * random.random())  # noqa: S311
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
