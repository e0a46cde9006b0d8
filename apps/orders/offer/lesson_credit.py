"""What a student has paid for lessons of a subject, which its whole costs them less.

The rules are in docs/rules.md, "Credit for lessons".
"""

from collections.abc import Collection, Iterable

from django.db.models import Exists, OuterRef, Q, QuerySet, prefetch_related_objects

from apps.classroom.models import Enrolment, Provisioning
from apps.classroom.rights import access_end
from apps.core.dates import today
from apps.orders.ledger.lines import order_money
from apps.orders.ledger.locks import lock_orders
from apps.orders.models import Order, OrderLine, Payment, StaffOrder
from apps.orders.models.statuses import SOLD, OrderStatus

# Without instalments to come, which would be for the lessons, too.
COUNTED = (OrderStatus.PAID, OrderStatus.PARTIALLY_REFUNDED)


def paid_for_lessons(
    student_id: int, subject_ids: Collection[int] | None = None, *, but_for: Order | None = None
) -> dict[int, int]:
    """The cents that the student has paid for lessons of each subject, after discounts and refunds.

    Only lessons count that the student has until the whole's access would end, once each, and only
    of subjects of which they have no whole; of orders that are paid, not disputed and no gifts.
    `but_for` is an order whose subjects do not count as bought. None as `subject_ids` means all
    subjects.
    """
    lines = _own_lines(student_id).filter(lesson__isnull=False, order__status__in=COUNTED)
    if subject_ids is not None:
        lines = lines.filter(subject__in=subject_ids)
    waiting = StaffOrder.objects.filter(
        exchanged_line=OuterRef("pk"), exchanged_at=None, order__status=OrderStatus.CART
    )
    wholes = _wholes(student_id, but_for=but_for).filter(subject=OuterRef("subject"))
    # Lessons that were used for a whole semester do not pay the next one.
    ends_on = access_end(today()) or today()
    closed = Enrolment.objects.filter(
        Q(ends_on__lt=ends_on) | ~Q(state=Enrolment.State.OPEN),
        student=student_id,
        lesson=OuterRef("lesson"),
    )
    # Another order, which may cost nothing, gives the same lessons for longer.
    ended = Provisioning.objects.filter(order_id=OuterRef("order"), ends_on__lt=ends_on)
    lines = lines.exclude(Exists(waiting) | Exists(wholes) | Exists(closed) | Exists(ended))
    # Orders that cost nothing give no credit, and a code can make any number of them.
    money = Payment.objects.filter(order=OuterRef("order"), amount__gt=0)
    lines = lines.filter(Exists(money))
    # A lesson that was renewed or bought twice counts with its last purchase.
    latest = {
        row.lesson_id: row for row in lines.order_by("order__paid_at", "pk").select_related("order")
    }
    paid: dict[int, int] = {}
    for line, cents in _left_of(latest.values()):
        if cents:
            paid[line.subject_id] = paid.get(line.subject_id, 0) + cents
    return paid


def _own_lines(student_id: int) -> QuerySet[OrderLine]:
    return OrderLine.objects.filter(
        order__student=student_id, order__gift=None, order__disputed_at=None
    )


def _wholes(student_id: int, *, but_for: Order | None = None) -> QuerySet[OrderLine]:
    """The whole subjects that the student has bought or got, and that were not refunded."""
    rows = OrderLine.objects.filter(
        Q(order__student=student_id, order__gift=None) | Q(order__gift__recipient=student_id),
        order__status__in=SOLD,
        lesson=None,
    )
    rows = rows.exclude(refunds__reference__gt="")
    return rows if but_for is None else rows.exclude(order=but_for)


def _left_of(lines: Iterable[OrderLine]) -> Iterable[tuple[OrderLine, int]]:
    """Each line with what was paid for it and not refunded. Each order is looked at once."""
    of_order: dict[int, list[OrderLine]] = {}
    for line in lines:
        of_order.setdefault(line.order_id, []).append(line)
    for rows in of_order.values():
        money = {row.line.pk: row for row in order_money(rows[0].order).lines}
        for line in rows:
            found = money[line.pk]
            yield line, 0 if found.is_refunded else found.left


def lock_credited_orders(order: Order) -> None:
    """Lock the orders of the lessons that make this order cheaper.

    So a refund of a lesson and a payment that counts on it see each other. The caller holds the
    lock of `order`, which is locked before them. A cart with a lesson makes nothing cheaper, and
    would be locked after `order` where others lock both by their ids.
    """
    # The caller uses the lines, too.
    prefetch_related_objects([order], "lines")
    subjects = [line.subject_id for line in order.lines.all() if line.credit]
    if not subjects:
        return
    lessons = _own_lines(order.student_id).filter(
        lesson__isnull=False, subject__in=subjects, order__paid_at__isnull=False
    )
    ids = set(lessons.values_list("order", flat=True)) - {order.pk}
    lock_orders(Order.objects.filter(pk__in=ids))


def credited_lines(order: Order) -> dict[int, Order]:
    """The order's lessons that made another order cheaper which still stands, by the line's id."""
    lessons = [line for line in order.lines.all() if line.lesson_id is not None]
    if not lessons or order.paid_at is None:
        return {}
    wholes = (
        _wholes(order.student_id, but_for=order)
        .filter(
            order__student=order.student_id,
            credit__gt=0,
            subject__in={line.subject_id for line in lessons},
            order__paid_at__gte=order.paid_at,
        )
        .select_related("order")
    )
    by_subject = {row.subject_id: row.order for row in wholes}
    return {
        line.pk: by_subject[line.subject_id] for line in lessons if line.subject_id in by_subject
    }


def unpaid_wholes(order: Order, line_ids: Collection[int]) -> dict[int, Order]:
    """Return, by line id, the orders whose whole subject these lessons of `order` paid alone.

    No money can be given back for the subject, so it ends with the refund of the lesson.
    """
    subjects = {line.pk: line.subject_id for line in order.lines.all()}
    return {
        line_id: whole
        for line_id, whole in credited_lines(order).items()
        if line_id in line_ids and not _paid_for_whole(whole, subjects[line_id])
    }


def _paid_for_whole(order: Order, subject_id: int) -> int:
    """The cents that were paid for the whole subject besides its credit."""
    rows = order_money(order).lines
    return sum(row.paid for row in rows if row.line.subject_id == subject_id)
