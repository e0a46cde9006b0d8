"""Refunds and disputes that no event told of, asked of the provider."""

import logging
from collections.abc import Callable
from dataclasses import astuple, dataclass
from datetime import timedelta
from functools import partial

from django.utils import timezone

from apps.core.errors import AcademyError
from apps.orders import refunds as returns
from apps.orders.models import Dispute, Payment, Refund
from apps.payments import disputes, refunds
from apps.payments import stripe_returns as stripe_side
from apps.payments.stripe_gateway import PaymentNotFound

logger = logging.getLogger(__name__)

# How far back the provider is asked. Events come within minutes; an outage may take days.
LOOK_BACK = timedelta(days=30)


@dataclass
class Returned:
    """What one run did, in counts."""

    settled: int = 0
    refunds: int = 0
    disputes: int = 0
    problems: int = 0

    def summary(self) -> str:
        """What was found as Spanish sentences; empty where there was nothing."""
        if not any(astuple(self)):
            return ""
        sentences = (
            f"Devoluciones aclaradas: {self.settled}. Pagos con novedades en sus devoluciones: "
            f"{self.refunds}. Disputas con novedades: {self.disputes}."
        )
        if self.problems:
            sentences += f" Sin respuesta de Stripe, se repetirán: {self.problems}."
        return sentences


def reconcile_returns() -> Returned:
    """Safe to run at any time, any number of times at once."""
    found = Returned()
    found.settled, found.problems = refunds.settle_requested()
    since = timezone.now() - LOOK_BACK
    try:
        listed = stripe_side.refunds_since(since)
        opened = stripe_side.disputes_since(since)
    except AcademyError:
        found.problems += 1
        return found
    # What is known already is not asked for payment by payment.
    told = [payment for payment, known in listed if returns.is_news(known)]
    on_the_way = Payment.objects.filter(refunds__status=Refund.Status.PENDING, order__isnull=False)
    for reference in dict.fromkeys([*told, *on_the_way.values_list("reference", flat=True)]):
        found.refunds += _ask(found, partial(refunds.learn, reference))
    for payment, known in opened:
        found.disputes += _ask(found, partial(disputes.record, payment, known))
    seen = {known.reference for _, known in opened}
    undecided = Dispute.objects.filter(status=Dispute.Status.OPEN).exclude(reference__in=seen)
    for reference in undecided.values_list("reference", flat=True):
        found.disputes += _ask(found, partial(disputes.learn, reference))
    return found


def _ask(found: Returned, learn: Callable[[], bool]) -> bool:
    try:
        return learn()
    except PaymentNotFound:
        # Somebody else's: one account may serve several shops.
        return False
    except AcademyError:
        found.problems += 1
    # One payment that nobody foresaw must not keep the others from being looked at.
    except Exception:
        logger.exception("a refund or dispute could not be recorded")
        found.problems += 1
    return False
