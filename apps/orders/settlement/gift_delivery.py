"""Access of a paid order for its buyer, or for the recipient of a gift on the chosen day.

The rules are in docs/rules.md, "Gifts". The row of the gift says whether it was delivered, so that
a job which runs twice or was killed delivers each gift once.
"""

import logging
import time
from datetime import date, timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.formats import date_format

from apps.classroom.provisioning import (
    MAX_RESENDS,
    RESEND_COOLDOWN,
    AccessNotReady,
    grant_access,
)
from apps.core.dates import today
from apps.orders.gifts.change import cancel_gift
from apps.orders.ledger.alerts import alert_staff
from apps.orders.ledger.history import flag, note
from apps.orders.ledger.lines import lines_left
from apps.orders.ledger.locks import locked_order
from apps.orders.models import Gift, Order, OrderLine, Refund
from apps.orders.models.order import CARD_MINIMUM_CENTS
from apps.orders.models.statuses import DELIVERABLE, EventKind
from apps.orders.offer.bought_before import lines_bought_before
from apps.students.models import Student
from apps.students.services import find_or_create_student

logger = logging.getLogger(__name__)

ACTOR = "sistema"
# The hour in Europe/Madrid from which gifts of the day are delivered: no mail arrives at night.
FROM_HOUR = 8
# The clock runs one job after another.
LONGEST_RUN_S = 60.0


def open_access(order: Order) -> None:
    """Open the access to everything in a paid order. Safe to repeat.

    Part of the caller's transaction. A gift that is due today is delivered, a later one waits.
    """
    if Gift.objects.filter(order=order).exists():
        deliver(order_id=order.pk)
        return
    grant_access(
        student=order.student,
        items=[(line.subject_id, line.lesson_id) for line in order.lines.all()],
        order_id=order.pk,
        costs_nothing=_costs_nothing(order),
    )


def _costs_nothing(order: Order) -> bool:
    # Most orders need no statement.
    is_free = order.total_cents < CARD_MINIMUM_CENTS
    return is_free and Order.objects.filter(pk=order.pk).free_by_code().exists()


def check_gift_is_delivered(order_id: int) -> None:
    """Raise AccessNotReady if the order is a gift that waits for its day."""
    gift = Gift.objects.waiting().filter(order_id=order_id).first()
    if gift is None:
        return
    day = date_format(gift.deliver_on, r"j \d\e F")
    raise AccessNotReady(
        f"El regalo se entrega el {day}: ese día enviaremos el acceso a quien lo recibe.",
        seconds_left=int(RESEND_COOLDOWN.total_seconds()),
        attempts_left=MAX_RESENDS,
    )


class NotDelivered(Exception):
    """Gifts failed for an unforeseen reason. The next run of the job tries them again."""


def deliver_due() -> int:
    """Deliver the gifts whose day has come, each in a transaction of its own; return how many.

    Those that cost most go first: a code makes any number of gifts for one day free. Who is left
    after a minute follows in the next run. Raises NotDelivered after all others if some failed:
    staff get a mail about a failed job.
    """
    due = Gift.objects.waiting().filter(
        deliver_on__lte=_last_day_due(), order__status__in=DELIVERABLE
    )
    dearest = due.order_by("-order__total_amount", "deliver_on", "pk")
    numbers = list(dearest.values_list("order_id", flat=True))
    done, failed, stops_at = 0, list[str](), time.monotonic() + LONGEST_RUN_S
    for order_id in numbers:
        if time.monotonic() > stops_at:
            break
        # An unforeseen error with one gift must not keep the others from being delivered.
        try:
            done += deliver(order_id=order_id)
        except Exception:
            logger.exception("the gift of order %s could not be delivered", order_id)
            failed.append(str(order_id))
    if failed:
        raise NotDelivered(f"Regalos sin entregar, por pedido: {', '.join(failed)}")
    return done


def _last_day_due() -> date:
    early = timezone.localtime().hour < FROM_HOUR
    return today() - timedelta(days=1) if early else today()


@transaction.atomic
def deliver(*, order_id: int) -> bool:
    """Give the recipient the access of a gift, once. False if it is not due, or was delivered.

    Due is a gift with an address whose day has come and whose order is paid as agreed: an overdue
    instalment, a dispute, or a refund that the provider has not answered hold it back.
    """
    order = locked_order(order_id)
    gift = Gift.objects.waiting().filter(order=order, deliver_on__lte=today()).first()
    if gift is None or not gift.recipient_email:
        return False
    if order.status not in DELIVERABLE or order.disputed_at is not None:
        return False
    if Refund.objects.unanswered().filter(payment__order=order).exists():
        return False
    lines = list(lines_left(order))
    if not lines:
        _cancel_without_lines(order)
        return False
    student = find_or_create_student(email=gift.recipient_email, phone="")
    _flag_if_owned(order, lines, student)
    grant_access(
        student=student,
        items=[(line.subject_id, line.lesson_id) for line in lines],
        order_id=order.pk,
        mail="gift_received",
        costs_nothing=_costs_nothing(order),
    )
    gift.status, gift.recipient, gift.delivered_at = (
        Gift.Status.DELIVERED,
        student,
        timezone.now(),
    )
    gift.save(update_fields=["status", "recipient", "delivered_at"])
    note(order, kind=EventKind.GIFT_DELIVERED, actor=ACTOR, reason="Regalo entregado")
    return True


def _cancel_without_lines(order: Order) -> None:
    """Cancel a gift of which nothing is left, and tell staff."""
    cancel_gift(order, actor=ACTOR, reason="no queda nada que entregar")
    reason = "El regalo se ha anulado: no queda nada que entregar."
    flag(order, kind=EventKind.GIFT_CANCELED, actor=ACTOR, reason=reason)
    if order.total_cents >= CARD_MINIMUM_CENTS:
        alert_staff(order, occasion=f"gift-empty-{order.pk}", reason=reason)


def _flag_if_owned(order: Order, lines: list[OrderLine], student: Student) -> None:
    """Flag the order if the recipient has some of it already. The buyer is not told.

    See docs/decisions/0044-gifts-disclose-nothing-about-their-recipients.md.
    """
    owned = lines_bought_before(lines, student_id=student.pk, but_for=order)
    if not owned:
        return
    names = ", ".join(row.name for row in owned)
    reason = f"Quien recibe el regalo ya tenía: {names}"
    flag(order, kind=EventKind.GIFT_OWNED_BEFORE, actor=ACTOR, reason=reason)
    # A gift that nobody had to pay is on the list alone: anybody can make many.
    if order.total_cents >= CARD_MINIMUM_CENTS:
        alert_staff(order, occasion=f"gift-owned-{order.pk}", reason=reason)
