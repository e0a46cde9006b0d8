"""Rows of `make bench` about paid purchases: checkout, card payment, access and mails.

The shop runs as in production: gunicorn, the workers of the Procfile, and Stripe's events. The
Stripe sandbox, the mail server and the buyers run on the same processors, so the CPU time of each
is told.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from django.db import connection, connections
from django.db.models import Max
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from apps.catalogue.models import Subject
from apps.classroom.models import Provisioning
from apps.core.models import Mail
from apps.orders.models import Order
from tools.dev.bench_pages import fill_shop, running_shop
from tools.dev.bench_servers import LOG, PRODUCTION, Server
from tools.dev.bench_table import Row
from tools.dev.mail_server import running_mail_server
from tools.dev.processes import ROOT, SetupError, end, free_port, signals_held, start
from tools.dev.stack import PROCFILE
from tools.stripe_sandbox.testing import WEBHOOK_SECRET, SandboxProcess, running_sandbox

SECONDS = 15.0
BUYERS = 16
# With a slow Stripe most buyers wait. 32 are as many as the web processes have threads.
MANY_BUYERS = 32
GOAL_PER_SECOND = 25.0
GOAL_CPU_MS = 80.0
SOON_S = 5.0
LATENCY_S = 0.3
# How long the workers may need for what is left at the end of a run.
FINISHED_WITHIN_S = 300
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))


@dataclass
class Shop:
    """The running shop and what runs beside it."""

    web: Server
    workers: list[Server]
    stripe: SandboxProcess
    item: dict[str, Any]
    total: float
    bought: int = 0

    def cpu_seconds(self) -> dict[str, float]:
        return {
            "web": self.web.cpu_seconds(),
            "workers": sum(worker.cpu_seconds() for worker in self.workers),
            "PostgreSQL": _postgres_seconds(),
            "Stripe sandbox": _seconds([self.stripe.pid]),
            "mail server": time.process_time(),
        }


@dataclass(frozen=True)
class Run:
    """Purchases of one run until their access was given and their mails were sent."""

    per_second: float
    # CPU milliseconds of each part for one purchase.
    cpu_ms: Mapping[str, float]
    # Seconds from the payment to access and all mails, of the slowest 5 % of the purchases.
    p95_s: float
    # Requests that were refused, such as by a full queue for Stripe, and made again.
    refused: int

    @property
    def ours_ms(self) -> float:
        return sum(self.cpu_ms[name] for name in ("web", "workers", "PostgreSQL"))

    @property
    def note(self) -> str:
        return ", ".join(f"{name} {ms:.0f}" for name, ms in self.cpu_ms.items())


def checkout_rows() -> list[Row]:
    with _running() as shop:
        _run(shop, seconds=3.0)  # Fills caches and opens connections.
        at_once = [_run(shop) for _ in range(ROUNDS)]
        fastest = median(run.per_second for run in at_once)
        half = min(GOAL_PER_SECOND, fastest) / 2
        paced = [_run(shop, per_second=half, buyers=MANY_BUYERS) for _ in range(ROUNDS)]
        calls = {"calls": "*", "do": "slow", "seconds": LATENCY_S, "caller": "server"}
        shop.stripe.fault(**calls)
        late = [_run(shop, buyers=MANY_BUYERS) for _ in range(ROUNDS)]
    middle = sorted(at_once, key=lambda run: run.ours_ms)[len(at_once) // 2]
    return [
        Row("paid purchases, access and mails included", fastest, "/s", GOAL_PER_SECOND, "goal", 1),
        Row(f"… if Stripe answers after {LATENCY_S * 1000:.0f} ms",
            median(run.per_second for run in late), "/s", GOAL_PER_SECOND, "goal", 1,
            note=f"refused and tried again: {sum(run.refused for run in late)}"),
        Row("CPU of one purchase", middle.ours_ms, "ms of CPU", GOAL_CPU_MS, "goal", 1,
            more_is_better=False, note=middle.note),
        Row(f"p95: payment to access and mails, {half:.1f} purchases/s",
            median(run.p95_s for run in paced), "s", SOON_S, "goal", 1, more_is_better=False),
    ]  # fmt: skip


@contextmanager
def _running() -> Iterator[Shop]:
    """The shop with its workers, the sandbox and a mail server."""
    port = free_port()
    folder = Path(os.environ["VAR_DIR"])
    with ExitStack() as stack:
        stripe = stack.enter_context(
            running_sandbox(
                folder / "bench_stripe.sqlite3",
                "--quiet",
                environment={"SANDBOX_WEBHOOK_URL": f"http://127.0.0.1:{port}/api/stripe/webhook"},
            )
        )
        mail = stack.enter_context(running_mail_server())
        env = {
            "STRIPE_SANDBOX": "1",
            "STRIPE_API_BASE": stripe.url,
            "STRIPE_SECRET_KEY": stripe.secret_key,
            "STRIPE_PUBLISHABLE_KEY": stripe.publishable_key,
            "STRIPE_WEBHOOK_SECRET": WEBHOOK_SECRET,
            "EMAIL_URL": f"smtp://127.0.0.1:{mail.port}",
            "TRUSTED_PROXIES": "1",
        }
        fill_shop()
        item, total = _cart()
        connections.close_all()
        web = stack.enter_context(running_shop(port, **env))
        workers = [stack.enter_context(_worker(line, env)) for line in _worker_lines()]
        yield Shop(web, workers, stripe, item, total)


def _run(
    shop: Shop,
    *,
    seconds: float = SECONDS,
    buyers: int = BUYERS,
    per_second: float | None = None,
) -> Run:
    """Buy for so many seconds, and wait until the workers have finished."""
    options = {
        "shop": shop.web.port,
        "stripe": shop.stripe.port,
        "key": shop.stripe.publishable_key,
        "item": shop.item,
        "total": shop.total,
        "first": shop.bought + 1,
        "buyers": buyers,
        "seconds": seconds,
        "per_second": per_second,
    }
    before, began, last = shop.cpu_seconds(), time.monotonic(), _last_order()
    command = [sys.executable, "-m", "tools.dev.bench_buyers", json.dumps(options)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    found = json.loads(done.stdout)
    shop.bought += 100_000
    if found["refused"] > found["paid"]:
        raise SetupError(f"La compra falla: {found['refusals']}. Registro: {LOG}")
    while time.monotonic() < began + seconds + FINISHED_WITHIN_S and not _is_finished():
        time.sleep(0.05)
    elapsed, after = time.monotonic() - began, shop.cpu_seconds()
    paid = found["paid"]
    cpu_ms = {name: (after[name] - before[name]) * 1000 / paid for name in before}
    cpu_ms["buyers"] = found["cpu_s"] * 1000 / paid
    return Run(paid / elapsed, cpu_ms, _p95_s(last), found["refused"])


def _cart() -> tuple[dict[str, Any], float]:
    """A subject as an item of process-checkout, and its price less 5 % for paying at once."""
    subject = Subject.objects.on_sale().order_by("pk")[0]
    discount = (subject.final_price * 5 / 100).quantize(Decimal("0.01"), ROUND_HALF_UP)
    price = float(subject.final_price)
    item = {
        "subject_id": subject.pk,
        "lesson_ids": [],
        "subject_price": price,
        "lesson_prices": [],
    }
    return item, float(subject.final_price - discount)


def _worker_lines() -> list[str]:
    lines = PROCFILE.read_text(encoding="utf-8")
    return re.findall(r"^worker[\w-]*: (.+)$", lines, re.MULTILINE)


@contextmanager
def _worker(command: str, env: Mapping[str, str]) -> Iterator[Server]:
    """A worker of the Procfile. Its log is var/bench.log."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with LOG.open("ab") as log, signals_held():
        process = start(command, {**os.environ, **PRODUCTION, **env, "PATH": path}, log)
    try:
        yield Server(0, process)
    finally:
        end(process)


def _last_order() -> int:
    return Order.objects.aggregate(last=Max("pk"))["last"] or 0


def _is_finished() -> bool:
    """Whether no task, mail, access or event is left for the workers."""
    return not DBTaskResult.objects.filter(
        status__in=(TaskResultStatus.READY, TaskResultStatus.RUNNING)
    ).exists()


def _p95_s(last: int) -> float:
    """Seconds until the last mail of a purchase was sent, of all purchases after this order."""
    paid: dict[int, Any] = dict(
        Order.objects.filter(pk__gt=last, paid_at__isnull=False).values_list("pk", "paid_at")
    )
    sent: dict[int, datetime] = {}
    accesses = Provisioning.objects.filter(order_id__in=paid)
    order_of = dict(accesses.values_list("pk", "order_id"))
    mails = Mail.objects.filter(status=Mail.Status.SENT)
    for context, sent_at in mails.values_list("context", "sent_at"):
        order = context.get("order_id") or order_of.get(context.get("provisioning_id"))
        if order in paid and sent_at is not None:
            sent[order] = max(sent_at, sent.get(order, sent_at))
    if len(sent) < len(paid):
        raise SetupError(f"Faltan correos: {len(sent)} de {len(paid)} pedidos. Registro: {LOG}")
    seconds: list[float] = [(sent[order] - paid[order]).total_seconds() for order in paid]
    return quantiles(seconds, n=20)[-1]


def _postgres_seconds() -> float:
    """CPU time of the database server and of its processes, ended ones included."""
    connection.ensure_connection()
    backend = connection.connection.info.backend_pid
    server = int(_stat(backend)[1])
    return _seconds([server, *_children(server)], ended_children_of=server)


def _seconds(pids: Iterable[int], *, ended_children_of: int = 0) -> float:
    ticks = 0
    for pid in pids:
        with suppress(OSError):
            fields = _stat(pid)
            ticks += int(fields[11]) + int(fields[12])
            if pid == ended_children_of:
                ticks += int(fields[13]) + int(fields[14])
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name: state, parent…"""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return text.rpartition(")")[2].split()


def _children(pid: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
