"""The PDFs of a period in ZIP files of at most 500. A worker draws them: each takes 50 ms."""

import io
import zipfile
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django_tasks import task

from apps.core.period import Period, period_of
from apps.invoices.book.entries import invoices_in
from apps.invoices.models import InvoiceArchive

# The most invoices of one file: 10 MB, drawn in half a minute.
PART = 500
# A user keeps so many files, each for a day.
MOST_KEPT = 5
ARCHIVE_LIFE = timedelta(days=1)
# Mails that wait go first.
PRIORITY = -10
PROGRESS_EVERY = 25

State = InvoiceArchive.State


def parts_of(count: int) -> range:
    """The numbers, from 1, of the files that so many invoices take."""
    return range(1, -(-count // PART) + 1)


def request_archive(*, by: Any, period: Period, part: int) -> InvoiceArchive:
    """Have one file of the period made. The user's oldest files give way to it."""
    with transaction.atomic():
        mine = InvoiceArchive.objects.filter(requested_by=by)
        mine.filter(period=str(period), part=part).delete()
        kept = list(mine.order_by("-pk").values_list("pk", flat=True)[: MOST_KEPT - 1])
        mine.exclude(pk__in=kept).delete()
        archive = InvoiceArchive.objects.create(requested_by=by, period=str(period), part=part)
        make_archive.enqueue(archive_id=archive.pk)
    return archive


@task(queue_name="mail", priority=PRIORITY)
def make_archive(archive_id: int) -> None:
    """Draw the invoices of the file. A second run, after a killed worker, makes it again."""
    archive = InvoiceArchive.objects.filter(pk=archive_id, state=State.WAITING).first()
    if archive is None:
        return
    try:
        content = _zip(archive)
    except Exception:
        InvoiceArchive.objects.filter(pk=archive_id).update(state=State.FAILED)
        raise
    # Update and never insert: the user may have asked for other files, which has deleted this one.
    InvoiceArchive.objects.filter(pk=archive_id).update(state=State.READY, content=content)


def _zip(archive: InvoiceArchive) -> bytes:
    # Imported here because the library for PDF takes 15 MB of each process that imports it.
    from apps.invoices.pdf import invoice_pdf

    period = period_of(archive.period)
    if period is None:
        raise ValueError(f"archive {archive.pk} has no period: {archive.period!r}")
    first = (archive.part - 1) * PART
    invoices = invoices_in(period).prefetch_related("tax_records")[first : first + PART]
    data = io.BytesIO()
    # A PDF is compressed already.
    with zipfile.ZipFile(data, "w", zipfile.ZIP_STORED) as file:
        for number, invoice in enumerate(invoices):
            if number % PROGRESS_EVERY == 0:
                share = 100 * number // len(invoices)
                InvoiceArchive.objects.filter(pk=archive.pk).update(progress=share)
            file.writestr(f"{invoice.code}.pdf", invoice_pdf(invoice))
    return data.getvalue()


def purge_archives(now: datetime) -> int:
    """Delete the files of more than a day ago: they hold names and tax numbers."""
    _, deleted = InvoiceArchive.objects.filter(requested_at__lt=now - ARCHIVE_LIFE).delete()
    return sum(deleted.values())
