"""Counts what each buyer has paid at Stripe, and got from the shop. The difference is the loss."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tools.drill.buyer import Buyer, wait
from tools.drill.shop import Shop


@dataclass
class Outcome:
    """`tried` and `happened` are Spanish phrases; each entry of `lost` is one loss."""

    tried: str
    happened: str
    lost: list[str] = field(default_factory=list)


def losses(shop: Shop, buyers: Sequence[Buyer], *, killed: bool = False) -> list[str]:
    """One Spanish sentence for each thing that was lost or done twice, once the shop has settled.

    Waits while orders, access or mails are on their way. Work of a killed process is taken up by a
    job after its lease of some minutes; here the leases end after 30 seconds, or at once if the
    drill has `killed` a process. Then nothing may be unfinished for ever.
    """
    if killed or not wait(lambda: not _of_buyers(shop, buyers), 30):
        settle_killed(shop)
        # One worker sends all mails, after a long absence of the server hundreds of them.
        wait(lambda: not _of_buyers(shop, buyers), 120 + len(buyers))
    found = _of_buyers(shop, buyers)
    if killed:
        wait(lambda: not _unfinished(shop), 60)
        found += _unfinished(shop)
    # The audit asks Stripe about each order.
    status, output = shop.host.manage("audit_money", "--after-restore", seconds=1200)
    if status:
        found += [line for line in output.splitlines() if line.strip()][-8:]
    return found


def settle_killed(shop: Shop) -> None:
    """End the leases of killed processes, and run the jobs that take up their work."""
    shop.host.manage("shell", "--command", _END_LEASES)


def _unfinished(shop: Shop) -> list[str]:
    """Tasks that no worker ends, and events of Stripe without an outcome."""
    tasks = shop.database.rows(_RUNNING)
    events = shop.database.rows(_UNPROCESSED)
    return [f"tarea a medias: {path}" for (path,) in tasks] + [
        f"aviso de Stripe sin tramitar: {kind}" for (kind,) in events
    ]


def _of_buyers(shop: Shop, buyers: Sequence[Buyer]) -> list[str]:
    charges = charges_by_buyer(shop)
    orders = Counter(str(email) for (email,) in shop.database.rows(_PAID))
    access = {str(email) for (email,) in shop.database.rows(_WITH_ACCESS)}
    mails = Counter(recipient for recipient, subject in received(shop) if "pedido" in subject)
    found = []
    for buyer in buyers:
        email = buyer.email
        wanted = 1 if buyer.paid else 0
        if charges[email] > 1:
            found.append(f"{email}: cobrado {charges[email]} veces")
        if buyer.paid and not charges[email] and not buyer.free:
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
from apps.core.jobs import run_due_jobs, run_soon
from django_tasks_db.models import DBTaskResult
for model in apps.get_models():
    fields = {field.name for field in model._meta.fields}
    if "leased_until" in fields and model.__name__ != "ScheduledJob":
        rows = model._base_manager.exclude(leased_until=None)
        # A job takes up work that has been due for two minutes.
        past = timezone.now() - timedelta(minutes=5)
        is_retried = "due_at" in fields
        rows.update(leased_until=past, **({"due_at": past} if is_retried else {}))
# A task that has run for more than 15 minutes was killed with its worker.
running = DBTaskResult.objects.filter(status="RUNNING")
running.update(started_at=timezone.now() - timedelta(minutes=20))
for name in ("provision_due", "send_due_mails", "lost_tasks"):
    run_soon(name)
for name in ("reconcile_payments", "reconcile_returns"):
    run_soon(name)
run_due_jobs()
"""
# The worker of mails may be busy for minutes. None of its tasks takes half a minute.
_RUNNING = """
SELECT task_path FROM django_tasks_database_dbtaskresult
WHERE status = 'RUNNING' AND started_at < now() - interval '30 seconds'
"""
_UNPROCESSED = "SELECT kind FROM payments_providerevent WHERE processed_at IS NULL"
_PAID = "SELECT email FROM orders_order WHERE paid_at IS NOT NULL"
_WITH_ACCESS = """
SELECT DISTINCT student.email FROM classroom_enrolment
JOIN students_student student ON student.id = classroom_enrolment.student_id
"""


def has_access(shop: Shop, email: str) -> bool:
    return (email,) in shop.database.rows(_WITH_ACCESS)


def charges_by_buyer(shop: Shop) -> Counter[str]:
    """How many charges of first payments each address has at Stripe."""
    page = shop.sandbox.client().v1.payment_intents.list(
        {"limit": 100, "expand": ["data.customer"]}
    )
    paid: Counter[str] = Counter()
    for intent in page.auto_paging_iter():
        metadata = intent.metadata.to_dict() if intent.metadata else {}
        if intent.status == "succeeded" and "instalments" not in metadata:
            paid[getattr(intent.customer, "email", "")] += 1
    return paid


def received(shop: Shop) -> list[tuple[str, str]]:
    """Recipient and subject of each mail that the mail server has taken.

    A mail that was sent again, because its answer was lost, has the same Message-ID: it is one.
    """
    mails = {str(mail["Message-ID"]): mail for mail in shop.mail.messages()}
    return [(str(mail["To"]), str(mail["Subject"])) for mail in mails.values()]
