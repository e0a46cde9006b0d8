"""What of a cart its buyer has bought before, and how they are told before they pay again.

A student who is signed in is told in the dialog. Everybody else typed an e-mail that may be
another's: the answer, and the time it takes, are the same whatever that address owns, and what
there is to say goes to the address by e-mail. So it is the worker that looks it up, for each order.
"""

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from django.db import transaction
from django_tasks import task

from apps.core.errors import TooManyRequests
from apps.core.mail.outbox import queue_mail
from apps.core.throttle import Limit
from apps.orders.models import Order, OrderLine
from apps.orders.reads import PAID_FOR

# Whoever types another's address into order after order must not fill their mailbox.
MAILS_PER_STUDENT = Limit("already-bought", times=3, seconds=24 * 3600)


@dataclass(frozen=True)
class Wanted:
    """A line of a cart: a whole subject, or one of its lessons."""

    subject_id: int
    lesson_id: int | None
    name: str


@dataclass(frozen=True)
class Owned:
    """A line of a cart that is owned, or of which something is: then its name says what."""

    subject_id: int
    lesson_id: int | None
    name: str

    @property
    def as_json(self) -> dict[str, object]:
        return {"subject_id": self.subject_id, "lesson_id": self.lesson_id, "name": self.name}


def already_owned(
    wanted: Iterable[Wanted], *, student_id: int, but_for: Order | None = None
) -> list[Owned]:
    """What of the lines the student has bought in orders that stand; refunded ones do not count.

    A lesson is owned with its subject, too; a subject with all of itself, and where only lessons
    of it are owned they are named. One query.
    """
    lines = list(wanted)
    bought = OrderLine.objects.filter(
        order__student=student_id,
        order__status__in=PAID_FOR,
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
            owned.append(Owned(line.subject_id, line.lesson_id, line.name))
        elif line.lesson_id is None and parts:
            name = f"{line.name} (de ella ya tienes: {', '.join(parts.values())})"
            owned.append(Owned(line.subject_id, None, name))
    return owned


def owned_of(order: Order) -> list[Owned]:
    """What of an order its student has bought in other orders."""
    lines = [Wanted(row.subject_id, row.lesson_id, row.name) for row in order.lines.all()]
    return already_owned(lines, student_id=order.student_id, but_for=order)


@task
def tell_owner(order_id: int) -> None:
    """Owe the mail to the order's address where something in it is owned already.

    Once for each content of an order and at most three a day. Safe to repeat.
    """
    order = Order.objects.select_related("student").filter(pk=order_id).first()
    owned = owned_of(order) if order is not None else []
    if order is None or not owned:
        return
    content = json.dumps([[row.subject_id, row.lesson_id] for row in owned])
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    # Beyond the limit the mail is undone with its count, and nobody is told of it.
    with suppress(TooManyRequests), transaction.atomic():
        mail = queue_mail(
            key=f"already-bought:{order.pk}:{digest}",
            template="already_bought",
            to=order.student.email,
            context={"order_id": order.pk},
        )
        if mail is not None:
            MAILS_PER_STUDENT.count_key(order.student.email)
