"""Scheduled jobs of invoices."""

from datetime import time, timedelta

from django.conf import settings
from django.db import transaction

from apps.core.dates import today
from apps.core.jobs import job
from apps.core.mail.outbox import queue_mail
from apps.invoices.models import PendingInvoice, TaxChain, TaxRecord
from apps.invoices.pending import issue_all_pending
from apps.invoices.verifactu.records import problem_of
from apps.invoices.verifactu.sending import send_waiting_records


class BrokenChain(Exception):
    """A chain of tax records was changed. Its text says which, in Spanish."""


@job("issue_invoices", "Emitir las facturas en espera", when=timedelta(minutes=5))
def issue_invoices() -> str:
    """Issue the invoices that wait. Mail STAFF_EMAIL once a day if some can't be issued."""
    done, waiting = issue_all_pending()
    if waiting:
        with transaction.atomic():
            queue_mail(
                key=f"invoices-waiting:{today()}",
                template="invoices_waiting",
                to=settings.STAFF_EMAIL,
                context={"count": PendingInvoice.objects.count()},
            )
    return f"{done} emitidas, {waiting} en espera" if done or waiting else ""


@job("send_tax_records", "Enviar los registros de VERI*FACTU", when=timedelta(minutes=1))
def send_tax_records() -> str:
    counts = send_waiting_records()
    return ", ".join(f"{TaxRecord.State(state).label}: {n}" for state, n in counts.items())


@job("verify_tax_chains", "Comprobar las cadenas de VERI*FACTU", when=time(5, 10))
def verify_tax_chains() -> str:
    """Verify every chain. A broken one fails the job, which staff see on "Hoy" and by mail."""
    chains = list(TaxChain.objects.order_by("pk"))
    problems = [problem for problem in map(problem_of, chains) if problem]
    if problems:
        raise BrokenChain(" ".join(problems))
    return f"Cadenas sin cambios: {len(chains)}" if chains else ""
