"""Counts the mails that tell of each payment, the shop's and Stripe's."""

from collections import Counter

from tools.drill.buyer import buy_one_by_one, make_due, wait
from tools.drill.count import losses, received
from tools.drill.outcome import Outcome
from tools.drill.shop import Shop

BUYERS = 3


def one_mail_for_each_payment(shop: Shop) -> Outcome:
    """Buy, pay first instalments and charge second ones: each payment has one mail, the shop's."""
    buyers = buy_one_by_one(shop, BUYERS)
    plans = buy_one_by_one(shop, BUYERS, plan=True)
    lost = losses(shop, [*buyers, *plans])
    make_due(shop, plans)
    shop.host.manage("charge_instalments")
    wanted = {buyer.email: 1 for buyer in buyers} | {plan.email: 2 for plan in plans}
    wait(lambda: _mails(shop, wanted) == wanted, 60)
    mails = _mails(shop, wanted)
    lost += [
        f"{email}: {mails[email]} correos de {payments} pagos"
        for email, payments in wanted.items()
        if mails[email] != payments
    ]
    return Outcome(
        f"correos de {BUYERS} compras y de {BUYERS} planes con dos pagos",
        f"{sum(mails.values())} correos de {sum(wanted.values())} pagos",
        lost,
    )


def _mails(shop: Shop, emails: dict[str, int]) -> dict[str, int]:
    """The number of mails about payments that each address got, from the shop and from Stripe."""
    receipts = shop.sandbox.control("GET", "receipts")["receipts"]
    count = Counter(receipt["to"] for receipt in receipts)
    count.update(
        to for to, subject in received(shop) if subject.startswith(("Confirmación", "Recibo"))
    )
    return {email: count[email] for email in emails}
