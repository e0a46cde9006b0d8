"""Lines that a student has bought before (docs/rules.md, "Orders and their states")."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q

from apps.classroom.models import Provisioning
from apps.core.dates import today
from apps.orders.models import Gift, Order, OrderLine
from apps.orders.models.staff_order import is_renewal
from apps.orders.models.statuses import ACTIVE
from apps.orders.offer.cart import CartLine


@dataclass(frozen=True)
class BoughtBefore:
    """A line of a cart that was bought before, whole or in part. The name says which part."""

    subject_id: int
    lesson_id: int | None
    name: str
    # False if only lessons of the whole subject were bought before.
    is_complete: bool = True

    @property
    def as_json(self) -> dict[str, object]:
        return {"subject_id": self.subject_id, "lesson_id": self.lesson_id, "name": self.name}


def lines_bought_before(
    lines: Iterable[CartLine | OrderLine], *, student_id: int, but_for: Order | None = None
) -> list[BoughtBefore]:
    """The lines that the student has bought before or got as a gift, found by one query.

    Refunded orders, exchanged lines, gifts for others and orders whose access has ended do not
    count. A lesson counts as bought if its whole subject was. If only lessons of a subject were
    bought, the subject's name lists them. `but_for` is an order to ignore.
    """
    lines = list(lines)
    ended = Provisioning.objects.filter(order_id=OuterRef("order_id"), ends_on__lt=today())
    bought = (
        OrderLine.objects.filter(
            Q(order__student=student_id, order__gift=None) | Q(order__gift__recipient=student_id),
            order__status__in=ACTIVE,
            subject__in={line.subject_id for line in lines},
        )
        .exclude(exchanges__exchanged_at__isnull=False)
        .exclude(Exists(ended))
        .order_by("lesson__position", "lesson_id")
        # Once each: a code can make any number of orders that cost nothing.
        .values_list("lesson__position", "subject_id", "lesson_id", "lesson__title")
        .distinct()
    )
    if but_for is not None:
        bought = bought.exclude(order=but_for)
    wholes: set[int] = set()
    lessons: dict[int, dict[int, str]] = {}
    for _, subject_id, lesson_id, title in bought:
        if lesson_id is None:
            wholes.add(subject_id)
        else:
            lessons.setdefault(subject_id, {})[lesson_id] = title
    owned = []
    for line in lines:
        parts = lessons.get(line.subject_id, {})
        if line.subject_id in wholes or line.lesson_id in parts:
            owned.append(BoughtBefore(line.subject_id, line.lesson_id, line.name))
        elif line.lesson_id is None and parts:
            name = f"{line.name} (de ella ya tienes: {', '.join(parts.values())})"
            owned.append(BoughtBefore(line.subject_id, None, name, is_complete=False))
    return owned


def order_lines_bought_before(order: Order) -> list[BoughtBefore]:
    """The lines of an order that its student has bought in other orders; none of a renewal."""
    if is_renewal(order):
        return []
    return lines_bought_before(order.lines.all(), student_id=order.student_id, but_for=order)


def names_bought_twice(order: Order) -> list[str]:
    """The names of the lines of a paid order that give its student nothing new.

    A gift gives the buyer nothing at all: `settlement.gift_delivery` looks at its recipient.
    """
    if Gift.objects.filter(order=order).exists():
        return []
    return [row.name for row in order_lines_bought_before(order) if row.is_complete]
