"""Scheduled jobs of invoices."""

from datetime import timedelta

from django.conf import settings
from django.db import transaction

from apps.core.dates import today
from apps.core.jobs import job
from apps.core.mail.outbox import queue_mail
from apps.invoices.models import PendingInvoice, TaxRecord
from apps.invoices.pending import issue_all_pending
from apps.invoices.verifactu.sending import send_waiting_records


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
