"""What of a student's access may be renewed, at which price, and the order that does it.

A renewal is an order with an agreed total, as staff make them: it is paid by the same link, and
access follows the rules of any purchase, which lead to the end of the next semester.
"""

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import islice
from uuid import NAMESPACE_URL, UUID, uuid5

from django.core import signing
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.urls import reverse
from django.utils import timezone

from apps.classroom.backends.base import Item
from apps.classroom.models import Enrolment
from apps.classroom.rights import access_end, row_key
from apps.core.dates import today
from apps.core.errors import Conflict
from apps.core.keyed_digest import keyed_digest, matches
from apps.core.mail.outbox import queue_mail
from apps.core.mail.registry import absolute_url
from apps.core.models import Mail
from apps.core.money import to_euros
from apps.core.web.throttle import Limit
from apps.orders.checkout.request import Checkout
from apps.orders.checkout.write import PricedCheckout, write_order
from apps.orders.ledger.history import note
from apps.orders.ledger.states import change_status
from apps.orders.models import Order, OrderLine, StaffOrder
from apps.orders.models.staff_order import is_renewal
from apps.orders.models.statuses import PLAN_RUNNING, EventKind
from apps.orders.offer.cart import MOST_LINES, CheckoutItem, on_sale
from apps.orders.offer.offer import Asked, Offer, look_up, make_offer
from apps.pricing.payment_type import PaymentType
from apps.pricing.reads import current_terms
from apps.students.models import Student

FROM_BEFORE = timedelta(days=14)
UNTIL_AFTER = timedelta(days=60)
ACTOR = "renovación"
# Enrolments of which the first MOST_LINES that are still sold are renewed.
MOST_LOOKED_AT = 2 * MOST_LINES
# The clock runs one job after another.
LONGEST_RUN_S = 60.0

Key = tuple[int, int | None]

_SALT = "orders.renewals"
_signer = signing.Signer(salt=_SALT, sep=".")


class CannotRenew(Conflict):
    code = "cannot_renew"
    message = "Este acceso ya no se puede renovar aquí. Escríbenos y lo vemos contigo."


@dataclass(frozen=True)
class Renewal:
    """What ends on a day, its price today in cents, and the price of the renewal.

    `ends_on` is the last day after the renewal.
    """

    student: Student
    ended_on: date
    ends_on: date
    items: tuple[CheckoutItem, ...]
    full_cents: int
    agreed: Offer


def renewal_link(student: Student, ends_on: date) -> str:
    """The link of what ends on that day. It ends with a change of the student's address."""
    digest = keyed_digest(_SALT, student.email.lower())
    token = _signer.sign(f"{student.pk}:{ends_on.isoformat()}:{digest}")
    return absolute_url(f"{reverse('renovar')}?enlace={token}")


def renewal_of(token: str) -> Renewal | None:
    """The renewal of a link; None if the link is wrong. Raises CannotRenew."""
    try:
        number, day, digest = _signer.unsign(token).split(":")
    except (signing.BadSignature, ValueError):
        return None
    student = Student.objects.filter(pk=int(number), erased_at=None, blocked_at=None).first()
    if student is None or not matches(_SALT, student.email.lower(), digest):
        raise CannotRenew
    return price(student, date.fromisoformat(day))


def price(student: Student, ended_on: date) -> Renewal:
    """The renewal of what ends on that day. Raises CannotRenew."""
    percent, now = current_terms().renewal_percent, today()
    items = _items_ending(student, ended_on)
    if not percent or not items or not now - UNTIL_AFTER <= ended_on <= now + FROM_BEFORE:
        raise CannotRenew
    # Without the student: what they have bought before is no reason against a renewal.
    asked = Asked(items=items, payment_type=PaymentType.FULL)
    facts = replace(look_up(asked), is_renewal=True)
    full = make_offer(asked, facts)
    ends_on = access_end(now)
    if full.refusals or ends_on is None or ends_on <= ended_on:
        raise CannotRenew
    # Half a cent is the buyer's.
    agreed_cents = (full.total_cents * percent + 49) // 100
    agreed = make_offer(replace(asked, agreed_cents=agreed_cents), facts)
    return Renewal(student, ended_on, ends_on, items, full.total_cents, agreed)


def _items_ending(student: Student, ended_on: date) -> tuple[CheckoutItem, ...]:
    """The enrolments that end on the day: whole subjects, and lessons of other subjects.

    Without what is no longer sold, or is being paid in instalments: a plan that is not paid pauses
    its own access alone, and the renewal would keep it open. At most as many as a cart may have,
    those first that were paid with money: anybody may have made free orders in the student's name.
    """
    theirs = Q(student=student, gift=None) | Q(gift__recipient=student)
    being_paid = OrderLine.objects.filter(
        order__in=Order.objects.filter(theirs, status__in=PLAN_RUNNING)
    )
    was_paid = Order.objects.money_was_paid().filter(pk=OuterRef("provisioning"))
    rows = (
        Enrolment.objects.filter(student=student, ends_on=ended_on, state=Enrolment.State.OPEN)
        .exclude(subject__in=being_paid.values("subject"))
        .order_by(Exists(was_paid).desc(), "pk")
    )
    ending: list[Key] = list(rows.values_list("subject_id", "lesson_id")[:MOST_LOOKED_AT])
    wholes = {subject_id for subject_id, lesson_id in ending if lesson_id is None}
    # A lesson of a whole subject that ends, too, is renewed with it.
    keys = [key for key in ending if key[1] is None or key[0] not in wholes]
    lines, _ = on_sale(_grouped(keys))
    sold = {line.key for line in lines}
    return _grouped(islice((key for key in keys if key in sold), MOST_LINES))


def _grouped(keys: Iterable[Key]) -> tuple[CheckoutItem, ...]:
    lessons: defaultdict[int, list[int]] = defaultdict(list)
    for subject_id, lesson_id in keys:
        lessons[subject_id] += [] if lesson_id is None else [lesson_id]
    return tuple(
        CheckoutItem(subject_id, tuple(sorted(ids))) for subject_id, ids in lessons.items()
    )


@transaction.atomic
def open_order(token: str) -> Order:
    """The open order of the renewal, which is made once. Raises CannotRenew.

    Its agreed total binds until it expires; then another link press makes another order.
    """
    first = renewal_of(token)
    if first is None:
        raise CannotRenew
    Student.objects.select_for_update(no_key=True).get(pk=first.student.pk)
    # Read again under the lock: of two presses, the second finds the order of the first, and staff
    # may have changed the address meanwhile.
    renewal = renewal_of(token)
    if renewal is None:
        raise CannotRenew
    number = 0
    while (made := Order.objects.with_key(_key(renewal, number)).first()) is not None:
        if _is_of(made, renewal.student):
            if made.is_open and (_lines_of(made) == _asked(renewal) or not _give_up(made)):
                return made
            if made.paid_at is not None and _lines_of(made) & _asked(renewal):
                raise CannotRenew
        number += 1
    checkout = Checkout(
        email=renewal.student.email,
        phone=renewal.student.phone,
        first_name=renewal.student.first_name,
        last_name=renewal.student.last_name,
        payment_type=PaymentType.FULL,
        items=renewal.items,
        expected_total_cents=renewal.agreed.total_cents,
        order_key=_key(renewal, number),
    )
    order = write_order(None, PricedCheckout(checkout, renewal.agreed, actor=ACTOR))
    StaffOrder.objects.create(
        order=order,
        paid_by=StaffOrder.PaidBy.LINK,
        discount=to_euros(renewal.full_cents - renewal.agreed.total_cents),
        agreed=to_euros(renewal.agreed.total_cents),
        reason="Renovación",
        actor=ACTOR,
        renewal=True,
    )
    note(order, kind=EventKind.CHANGED, actor=ACTOR, reason="El alumno renueva su acceso")
    return order


def _is_of(order: Order, student: Student) -> bool:
    """Whether the order renews something of the student, at the student's present address.

    Staff could make another order with its key.
    """
    return (
        is_renewal(order)
        and order.student_id == student.pk
        and order.email.lower() == student.email.lower()
    )


def _lines_of(order: Order) -> set[tuple[bool, int]]:
    """The keys of the enrolments that the order is for: lessons move between subjects."""
    return {row_key(Item(line.subject_id, line.lesson_id)) for line in order.lines.all()}


def _asked(renewal: Renewal) -> set[tuple[bool, int]]:
    return {
        row_key(Item(item.subject_id, lesson_id))
        for item in renewal.items
        for lesson_id in item.lesson_ids or (None,)
    }


def _give_up(made: Order) -> bool:
    """Expire an order of other lines than those that are renewed today, unless it is being paid.

    Some are sold no more, or are no longer being paid in instalments. A transfer may be on its way.
    """
    # Others lock the student after the order: to wait for its row could be a deadlock.
    rows = Order.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
    order = rows.filter(pk=made.pk).first()
    if order is None or not order.is_open or order.by_staff.paid_by == StaffOrder.PaidBy.TRANSFER:
        return False
    if order.payments.open().exists():
        return False
    change_status(
        order,
        Order.Status.EXPIRED,
        kind=EventKind.EXPIRED,
        actor=ACTOR,
        reason="Lo que se puede renovar ha cambiado",
    )
    return True


def _key(renewal: Renewal, number: int) -> UUID:
    name = f"renewal:{renewal.student.pk}:{renewal.ended_on.isoformat()}:{number}"
    return uuid5(NAMESPACE_URL, name)


def queue_mails() -> int:
    """Queue one mail for each student and day on which access ends within two weeks.

    Who is left after a minute is told on the next of the days.
    """
    if not current_terms().renewal_percent:
        return 0
    now, stops_at = today(), time.monotonic() + LONGEST_RUN_S
    since = timezone.now() - FROM_BEFORE - timedelta(days=1)
    told = set(
        Mail.objects.filter(template="renewal", created_at__gt=since).values_list("key", flat=True)
    )
    ending = Enrolment.objects.filter(
        ends_on__gt=now, ends_on__lte=now + FROM_BEFORE, state=Enrolment.State.OPEN,
        student__erased_at=None, student__blocked_at=None,
    )  # fmt: skip
    queued = 0
    for student_id, ends_on in ending.order_by().values_list("student", "ends_on").distinct():
        if ends_on is None or _mail_key(student_id, ends_on) in told:
            continue
        if time.monotonic() > stops_at:
            break
        queued += _queue(student_id, ends_on)
    return queued


def _mail_key(student_id: int, ends_on: date) -> str:
    return f"renewal:{student_id}:{ends_on.isoformat()}"


# To students who have paid nothing, all together: a code makes orders of typed addresses free. The
# others are told on the next of the days.
FREE_RENEWALS = Limit("renewals-unpaid", times=300, seconds=3600)


@transaction.atomic
def _queue(student_id: int, ends_on: date) -> bool:
    student = Student.objects.get(pk=student_id)
    is_customer = Order.objects.money_was_paid_for(student_id).exists()
    if not is_customer and FREE_RENEWALS.seconds_until_free("all"):
        return False
    try:
        price(student, ends_on)
    except CannotRenew:
        return False
    mail = queue_mail(
        key=_mail_key(student_id, ends_on),
        template="renewal",
        to=student.email,
        context={"student_id": student_id, "ends_on": ends_on.isoformat()},
    )
    if mail is not None and not is_customer:
        FREE_RENEWALS.add("all")
    return mail is not None


def renewals_for(student: Student) -> list[tuple[date, str]]:
    """The days on which the student's access ends or has ended, each with its link."""
    days = Enrolment.objects.filter(
        student=student, ends_on__gte=today() - UNTIL_AFTER, ends_on__lte=today() + FROM_BEFORE
    )
    found = []
    for ends_on in days.order_by("ends_on").values_list("ends_on", flat=True).distinct():
        try:
            renewal = price(student, ends_on or today())
        except CannotRenew:
            continue
        found.append((renewal.ended_on, renewal_link(student, renewal.ended_on)))
    return found
