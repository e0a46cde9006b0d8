"""Which payments and refunds count in a period: for the reports, and for the book of invoices.

All rows are in euros: other currencies are never added up (docs/rules.md, "Reports").
"""

from collections.abc import Iterator
from typing import Any

from django.db.models import Manager, Q, QuerySet

from apps.core.period import Period
from apps.orders.models import Payment, Refund
from apps.orders.models.statuses import REFUND_ELSEWHERE, WITHOUT_PROVIDER


def payments_in(period: Period) -> QuerySet[Payment]:
    """The period's payments of orders, in the form that the index `payment_by_success` answers."""
    return Payment.objects.filter(
        status=Payment.Status.SUCCEEDED, currency="eur", order__isnull=False,
        succeeded_at__gte=period.start, succeeded_at__lt=period.end,
    )  # fmt: skip


def unmatched_in(period: Period) -> QuerySet[Payment]:
    """The period's payments of this shop at Stripe that match no order: it has their money, too."""
    return Payment.objects.filter(
        by_stripe(), status=Payment.Status.SUCCEEDED, currency="eur", order=None,
        of_other_shop=False, succeeded_at__gte=period.start, succeeded_at__lt=period.end,
    )  # fmt: skip


def by_stripe(path: str = "") -> Q:
    """The filter for payments at Stripe. `path` leads to the payment: "payment__"."""
    return ~Q(**{f"{path}kind__in": WITHOUT_PROVIDER})


def in_euros(rows: Manager[Any]) -> QuerySet[Any]:
    """These refunds or disputes, if their payment is in euros. Only euros are added up."""
    return rows.filter(payment__currency="eur")


def refunds_at_stripe(period: Period) -> QuerySet[Refund]:
    """Refunds that Stripe made in the period, also those that a bank has sent back since."""
    return in_euros(Refund.objects).filter(
        ~Q(status=Refund.Status.FAILED, reference=""), ~Q(status=Refund.Status.CREDITED),
        by_stripe("payment__"),
        created_at__gte=period.start, created_at__lt=period.end,
    )  # fmt: skip


def refunds_sent_back(period: Period) -> QuerySet[Refund]:
    """Refunds whose money came back to the balance at Stripe in the period."""
    return in_euros(Refund.objects).filter(
        by_stripe("payment__"), sent_back_at__gte=period.start, sent_back_at__lt=period.end
    )


def refunds_of_transfers(period: Period) -> QuerySet[Refund]:
    """Refunds of payments without Stripe."""
    return in_euros(Refund.objects).filter(
        ~Q(status=Refund.Status.FAILED), ~by_stripe("payment__"),
        created_at__gte=period.start, created_at__lt=period.end,
    )  # fmt: skip


def refunds_by_other_means(period: Period) -> QuerySet[Refund]:
    """The period's refunds of payments at Stripe that Stripe has no part in.

    A bank sent them back and staff paid them, such as by transfer, or they pay another order.
    """
    return in_euros(Refund.objects).filter(
        by_stripe("payment__"), status__in=REFUND_ELSEWHERE,
        settled_at__gte=period.start, settled_at__lt=period.end,
    )  # fmt: skip


def movements_in(period: Period) -> Iterator[tuple[QuerySet[Any], str, int]]:
    """The payments of orders and the refunds that count, the path to their order, and their sign.

    Payments that match no order (`unmatched_in`) count as well.
    """
    yield payments_in(period), "order", 1
    yield refunds_at_stripe(period), "payment__order", -1
    yield refunds_sent_back(period), "payment__order", 1
    yield refunds_of_transfers(period), "payment__order", -1
    yield refunds_by_other_means(period), "payment__order", -1
