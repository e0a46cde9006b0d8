"""Counts what each buyer has paid at Stripe, and got from the shop. The difference is the loss."""

from collections import Counter
from collections.abc import Sequence

from tools.drill.buyer import Buyer, wait
from tools.drill.shop import Shop


def losses(shop: Shop, buyers: Sequence[Buyer]) -> list[str]:
    """One Spanish sentence for each thing that was lost or done twice, once the shop has settled.

    Waits while orders, access or mails are on their way. Work of a killed process is taken up by a
    job after its lease of some minutes; here the leases end after 30 seconds.
    """
    if not wait(lambda: not _of_buyers(shop, buyers), 30):
        shop.host.manage("shell", "--command", _END_LEASES)
        shop.host.manage("clock", "--once")
        wait(lambda: not _of_buyers(shop, buyers), 120)
    found = _of_buyers(shop, buyers)
    # It asks Stripe about each order.
    status, output = shop.host.manage("audit_money", "--after-restore", seconds=1200)
    if status:
        found += [line for line in output.splitlines() if line.strip()][-8:]
    return found


def _of_buyers(shop: Shop, buyers: Sequence[Buyer]) -> list[str]:
    charges = charges_by_buyer(shop)
    orders = Counter(
        str(email)
        for (email,) in shop.database.rows(
            "SELECT email FROM orders_order WHERE paid_at IS NOT NULL"
        )
    )
    access = {str(email) for (email,) in shop.database.rows(_WITH_ACCESS)}
    mails = Counter(recipient for recipient, subject in received(shop) if "pedido" in subject)
    found = []
    for buyer in buyers:
        email = buyer.email
        wanted = 1 if buyer.paid else 0
        if charges[email] > 1:
            found.append(f"{email}: cobrado {charges[email]} veces")
        if buyer.paid and not charges[email]:
            found.append(f"{email}: pagó y en Stripe no consta")
        wanted = max(wanted, min(1, charges[email]))
        if orders[email] != wanted:
            found.append(f"{email}: {orders[email]} pedidos pagados, {charges[email]} cobros")
        if wanted and email not in access:
            found.append(f"{email}: sin acceso")
        if wanted and mails[email] != buyer.confirmations:
            found.append(f"{email}: {mails[email]} confirmaciones")
    return found


_END_LEASES = """
from datetime import timedelta
from django.apps import apps
from django.utils import timezone
from apps.core.jobs import run_soon
for model in apps.get_models():
    fields = {field.name for field in model._meta.fields}
    if "leased_until" in fields and model.__name__ != "ScheduledJob":
        rows = model._base_manager.exclude(leased_until=None)
        # A job takes up work that has been due for two minutes.
        past = timezone.now() - timedelta(minutes=5)
        is_retried = "due_at" in fields
        rows.update(leased_until=past, **({"due_at": past} if is_retried else {}))
for name in ("provision_due", "send_due_mails", "reconcile_payments", "lost_tasks"):
    run_soon(name)
"""
_PAID = "SELECT email FROM orders_order WHERE paid_at IS NOT NULL"
_WITH_ACCESS = """
SELECT DISTINCT student.email FROM classroom_enrolment
JOIN students_student student ON student.id = classroom_enrolment.student_id
"""


def charges_by_buyer(shop: Shop) -> Counter[str]:
    """How many charges of first payments each address has at Stripe."""
    page = shop.sandbox.client().v1.payment_intents.list(
        {"limit": 100, "expand": ["data.customer"]}
    )
    paid: Counter[str] = Counter()
    for intent in page.auto_paging_iter():
        metadata = intent.metadata.to_dict() if intent.metadata else {}
        if intent.status == "succeeded" and "instalments" not in metadata:
            paid[intent.receipt_email or ""] += 1
    return paid


def received(shop: Shop) -> list[tuple[str, str]]:
    """Recipient and subject of each mail that the mail server has taken."""
    return [(str(mail["To"]), str(mail["Subject"])) for mail in shop.mail.messages()]
