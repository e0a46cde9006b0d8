"""Reconciliation of refunds and disputes: asks the provider for those that no event reported."""

import logging
from collections.abc import Callable
from dataclasses import astuple, dataclass
from datetime import timedelta
from functools import partial

from django.utils import timezone

from apps.core.errors import AcademyError
from apps.orders.models import Dispute, Payment, Refund
from apps.orders.refunds.disputes import ReportedDispute
from apps.orders.refunds.record import ReportedRefund, is_unrecorded
from apps.payments.refunds.at_stripe import (
    fetch_and_record_dispute,
    fetch_and_record_refunds,
    record_reported_dispute,
    settle_requested,
)
from apps.payments.stripe import refunds as stripe_refunds
from apps.payments.stripe.client import PaymentNotFound

logger = logging.getLogger(__name__)

# How far back Stripe is asked. Events arrive within minutes, but an outage may take days.
LOOK_BACK = timedelta(days=30)


@dataclass
class MoneyBackCounts:
    """The counts of one run."""

    settled: int = 0
    refunds: int = 0
    disputes: int = 0
    problems: int = 0
    errors: int = 0

    def summary(self) -> str:
        """The counts as Spanish sentences. Empty if nothing was done."""
        if not any(astuple(self)):
            return ""
        sentences = (
            f"Devoluciones aclaradas: {self.settled}. Pagos con novedades en sus devoluciones: "
            f"{self.refunds}. Disputas con novedades: {self.disputes}."
        )
        if self.problems:
            sentences += f" Sin respuesta de Stripe, se repetirán: {self.problems}."
        if self.errors:
            sentences += f" Con un error inesperado, que está en el registro: {self.errors}."
        return sentences


def reconcile_returns() -> MoneyBackCounts:
    """Settle requested refunds, then record refunds and disputes that no event reported.

    Safe to run at any time, also in parallel.
    """
    counts = MoneyBackCounts()
    counts.settled, counts.problems, counts.errors = settle_requested()
    since = timezone.now() - LOOK_BACK
    try:
        refunds = stripe_refunds.refunds_since(since)
        disputes = stripe_refunds.disputes_since(since)
    except AcademyError:
        counts.problems += 1
        return counts
    _record_listed_refunds(counts, refunds)
    _record_listed_disputes(counts, disputes)
    return counts


def _record_listed_refunds(
    counts: MoneyBackCounts, listed: list[tuple[str, ReportedRefund]]
) -> None:
    """Look up the payments whose listed refunds are new to the shop or still pending."""
    unrecorded = [payment for payment, report in listed if is_unrecorded(report)]
    pending = Payment.objects.filter(refunds__status=Refund.Status.PENDING, order__isnull=False)
    for reference in dict.fromkeys([*unrecorded, *pending.values_list("reference", flat=True)]):
        counts.refunds += _run(counts, partial(fetch_and_record_refunds, reference))


def _record_listed_disputes(
    counts: MoneyBackCounts, listed: list[tuple[str, ReportedDispute]]
) -> None:
    for payment, report in listed:
        counts.disputes += _run(counts, partial(record_reported_dispute, payment, report))
    # Disputes opened before the period are looked up one by one until they are decided.
    seen = {report.reference for _, report in listed}
    undecided = Dispute.objects.filter(status=Dispute.Status.OPEN).exclude(reference__in=seen)
    for reference in undecided.values_list("reference", flat=True):
        counts.disputes += _run(counts, partial(fetch_and_record_dispute, reference))


def _run(counts: MoneyBackCounts, record: Callable[[], bool]) -> bool:
    try:
        return record()
    except PaymentNotFound:
        # The payment belongs to another shop on the same Stripe account.
        return False
    except AcademyError:
        counts.problems += 1
    # An unforeseen error with one payment must not keep the others from being recorded.
    except Exception:
        logger.exception("a refund or dispute could not be recorded")
        counts.errors += 1
    return False
