"""Orders whose invoices have to be looked at: a row for each, and the task that does it."""

import logging

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django_tasks import task

from apps.core.database import require_transaction
from apps.core.models import SiteSettings
from apps.invoices.issue import try_to_issue
from apps.invoices.models import BillingDetails, Invoice, PendingInvoice
from apps.orders.models import Order

logger = logging.getLogger(__name__)

# Attempts of one run of the job.
AT_ONCE = 200


def queue_invoices(order: Order) -> None:
    """Have the order's invoices brought up to date. Call it inside the transaction of the change.

    The row is committed with the change, so nothing is lost if the worker is away.
    """
    require_transaction("queue_invoices")
    PendingInvoice.objects.get_or_create(order=order)
    issue_pending.enqueue(order_id=order.pk)


def may_need_invoices(order: Order) -> bool:
    """Whether a change of this order's money can lead to an invoice."""
    return (
        Invoice.objects.filter(order=order).exists()
        or BillingDetails.objects.filter(order=order).exists()
        or SiteSettings.current().simplified_invoices
    )


@task(queue_name="mail")
def issue_pending(order_id: int) -> None:
    """Issue the invoices of an order that waits for them."""
    if PendingInvoice.objects.filter(order=order_id).exists():
        try_to_issue(order_id)


def issue_all_pending() -> tuple[int, int]:
    """Try orders that wait. Returns how many are done and how many still wait.

    Orders that were never tried come first, then those whose last attempt is the longest ago: an
    order that waits for its buyer's details does not keep newer ones from their turn.
    """
    done = waiting = 0
    rows = PendingInvoice.objects.order_by(F("tried_at").asc(nulls_first=True), "created_at")
    for order_id in list(rows.values_list("order", flat=True)[:AT_ONCE]):
        if try_alone(order_id):
            done += 1
        else:
            waiting += 1
    return done, waiting


def try_alone(order_id: int) -> bool:
    """Try one order. An error is kept with it, so that the others are tried all the same."""
    PendingInvoice.objects.filter(order=order_id).update(tried_at=timezone.now())
    try:
        with transaction.atomic():
            return try_to_issue(order_id)
    except Exception:
        logger.exception("invoice of order %s failed", order_id)
        PendingInvoice.objects.filter(order=order_id).update(problem=PendingInvoice.Problem.FAILED)
        return False
