"""Lines of a cart that the student has bought before.

A signed-in student sees them in the dialog. A visitor may have typed somebody else's address, so
neither the answer nor its response time depends on that student's purchases: the worker looks them
up for each order and mails the address (docs/rules.md, "Orders and their states", and
docs/decisions/0023-earlier-purchases-are-disclosed-by-email-only.md).
"""

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q
from django_tasks import task

from apps.core.errors import TooManyRequests
from apps.core.mail.outbox import queue_mail
from apps.core.mail.recipient_limits import count_form_mail
from apps.core.throttle import Limit
from apps.orders.models import Gift, Order, OrderLine
from apps.orders.models.statuses import ACTIVE

# Repeated checkouts with somebody else's address must not fill that person's mailbox.
MAILS_PER_STUDENT = Limit("already-bought", times=3, seconds=24 * 3600)


@dataclass(frozen=True)
class LineToBuy:
    """A line of a cart: a whole subject, or one of its lessons."""

    subject_id: int
    lesson_id: int | None
    name: str


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
    lines: Iterable[LineToBuy], *, student_id: int, but_for: Order | None = None
) -> list[BoughtBefore]:
    """The lines that the student has bought before or got as a gift, found by one query.

    Refunded orders and gifts for others do not count. A lesson counts as bought if its whole
    subject was. If only lessons of a subject were bought, the subject's name lists them. `but_for`
    is an order to ignore.
    """
    lines = list(lines)
    bought = OrderLine.objects.filter(
        Q(order__student=student_id, order__gift=None) | Q(order__gift__recipient=student_id),
        order__status__in=ACTIVE,
        subject__in={line.subject_id for line in lines},
    ).select_related("lesson")
    if but_for is not None:
        bought = bought.exclude(order=but_for)
    wholes: set[int] = set()
    lessons: dict[int, dict[int, str]] = {}
    for row in bought.order_by("lesson__position", "lesson_id"):
        if row.lesson is None:
            wholes.add(row.subject_id)
        else:
            lessons.setdefault(row.subject_id, {})[row.lesson.pk] = row.lesson.title
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
    """The lines of an order that its student has bought in other orders."""
    lines = [LineToBuy(row.subject_id, row.lesson_id, row.name) for row in order.lines.all()]
    return lines_bought_before(lines, student_id=order.student_id, but_for=order)


def names_bought_twice(order: Order) -> list[str]:
    """The names of the lines of a paid order that give its student nothing new.

    A gift gives the buyer nothing at all: `settlement.gift_delivery` looks at its recipient.
    """
    if Gift.objects.filter(order=order).exists():
        return []
    return [row.name for row in order_lines_bought_before(order) if row.is_complete]


@task(queue_name="mail")
def mail_already_bought(order_id: int) -> None:
    """Queue a mail to the student if something in the order was bought before.

    One mail for each content of an order, and at most 3 a day for each student. Safe to repeat.
    """
    order = Order.objects.select_related("student").filter(pk=order_id).first()
    owned = order_lines_bought_before(order) if order is not None else []
    if order is None or not owned:
        return
    content = json.dumps([[row.subject_id, row.lesson_id] for row in owned])
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    # Beyond the limit the transaction rolls the mail back, and no error is reported.
    with suppress(TooManyRequests), transaction.atomic():
        mail = queue_mail(
            key=f"already-bought:{order.pk}:{digest}",
            template="already_bought",
            to=order.student.email,
            context={"order_id": order.pk},
        )
        if mail is not None:
            MAILS_PER_STUDENT.count_key(order.student.email)
            count_form_mail(order.student.email)
