"""The purchases that a renewal renews, without which it would have had no price of its own.

The rules are in docs/rules.md, "Renewals".
"""

from django.db.models import Q
from django.utils import timezone

from apps.orders.ledger.locks import lock_orders
from apps.orders.models import Order, OrderLine
from apps.orders.models.staff_order import is_renewal
from apps.orders.models.statuses import SOLD

Key = tuple[int, int | None]


def renewed_orders(renewal: Order) -> set[int]:
    """The ids of the orders that a renewal renews; none of another order.

    For each line that is the last purchase before the renewal, also one that was a gift for its
    student. Exchanged and refunded lines don't count: they opened nothing any more. A renewal at
    the price of the day, because the access was gone, renews none: it stands by itself.
    """
    if not (is_renewal(renewal) and _has_its_own_price(renewal)):
        return set()
    lines = {(line.subject_id, line.lesson_id) for line in renewal.lines.all()}
    bought = (
        OrderLine.objects.filter(
            Q(order__student=renewal.student_id, order__gift=None)
            | Q(order__gift__recipient=renewal.student_id),
            order__status__in=SOLD,
            order__paid_at__lte=renewal.paid_at or timezone.now(),
            subject__in={subject_id for subject_id, _ in lines},
        )
        .exclude(order=renewal)
        .exclude(exchanges__exchanged_at__isnull=False)
        .exclude(refunds__reference__gt="")
    )
    last: dict[Key, int] = {
        (subject_id, lesson_id): order_id
        for subject_id, lesson_id, order_id in bought.order_by("order__paid_at", "pk").values_list(
            "subject_id", "lesson_id", "order_id"
        )
    }
    return {last[key] for key in lines & last.keys()}


def renewals_of(order: Order) -> list[Order]:
    """The renewals of what the order opened that were paid at the price of a renewal."""
    if order.paid_at is None:
        return []
    gift = getattr(order, "gift", None)
    student_id = order.student_id if gift is None else gift.recipient_id
    found = Order.objects.filter(
        student=student_id,
        status__in=SOLD,
        paid_at__gte=order.paid_at,
        by_staff__renewal=True,
        lines__subject__in=[line.subject_id for line in order.lines.all()],
    ).exclude(pk=order.pk)
    return [row for row in found.distinct() if order.pk in renewed_orders(row)]


def _has_its_own_price(renewal: Order) -> bool:
    """Whether the order costs what was agreed for a renewal, and that is less than otherwise."""
    row = renewal.by_staff
    return row.discount > 0 and row.agreed == renewal.total_amount


def lock_renewed_orders(renewal: Order) -> None:
    """Lock the orders that a renewal renews.

    So a dispute of one of them and the payment of the renewal see each other. The caller holds the
    lock of `renewal`, which is locked before them.
    """
    lock_orders(Order.objects.filter(pk__in=renewed_orders(renewal)))
