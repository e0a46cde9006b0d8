"""The buyer corrects the mistyped address of a paid order (docs/rules.md, "Students")."""

from contextlib import suppress
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from apps.classroom.models import Account
from apps.classroom.provisioning import AccessNotReady, send_access_mail_again
from apps.core.errors import Conflict
from apps.core.mail.outbox import queue_mail
from apps.orders.back_office.merge_students import CannotMerge, merge_students
from apps.orders.errors import OrderNotFound
from apps.orders.ledger.history import flag
from apps.orders.ledger.locks import locked_order
from apps.orders.models import Gift, Order
from apps.orders.models.statuses import EVER_PAID, EventKind
from apps.students.models import Student
from apps.students.services import EmailTaken, change_email

CORRECTION_TIME = timedelta(hours=24)
ACTOR = "comprador"
_CHANGES = (EventKind.EMAIL_CHANGED, EventKind.STUDENTS_MERGED)


class CorrectionClosed(Conflict):
    code = "correction_closed"
    message = "El correo de esta compra ya no se puede cambiar aquí. Escríbenos y lo cambiamos."


@transaction.atomic
def correct_email(*, order_id: int, token: str, email: str) -> None:
    """Give a paid order, its student and its access the address that the buyer meant.

    Once for each order, within 24 hours after its payment. Confirmation and access mail are sent
    again. If the mistyped address may be that of another buyer, nothing changes and the order is
    flagged for staff; the caller is not told, because that would say who has bought
    (docs/decisions/0023-earlier-purchases-are-disclosed-by-email-only.md).

    Raises OrderNotFound if id and token do not match a paid order, and CorrectionClosed.
    """
    student_id = Order.objects.filter(pk=order_id).values_list("student", flat=True).first()
    # All orders of the student, as a payment locks them: a second correction waits here.
    list(Order.objects.select_for_update(no_key=True).filter(student=student_id).order_by("pk"))
    order = Order.objects.filter(pk=order_id, status__in=EVER_PAID).first()
    if order is None or not order.opens_with(token):
        raise OrderNotFound
    corrected = order.events.filter(kind__in=_CHANGES, actor=ACTOR).exists()
    if corrected or order.paid_at is None or timezone.now() > order.paid_at + CORRECTION_TIME:
        raise CorrectionClosed
    email = email.strip().lower()
    if email == order.student.email:
        return
    if not _is_new_student(order) or not _move(order.student, email):
        flag(
            order,
            kind=EventKind.EMAIL_CHANGED,
            actor=ACTOR,
            reason=f"El comprador dice que su correo es {email}. Hay que cambiarlo a mano.",
        )
        return
    _mail_again(order_id)


def _is_new_student(order: Order) -> bool:
    """Whether nobody but this buyer has used the student.

    That is: no other purchase, no sign-in, and no account in the classroom that is older than it.
    """
    student = order.student
    others = student.orders.exclude(pk=order.pk)
    own_carts = others.exclude(status__in=EVER_PAID).filter(phone=order.phone)
    account = Account.objects.filter(student=student).first()
    # An account that existed in the classroom before is somebody's, and staff decide about one with
    # powers.
    is_used = account is not None and (
        account.password != "" or account.held_id != "" or not account.takes_links
    )
    used = is_used or student.sign_ins.exists()
    return not used and others.count() == own_carts.count()


def _move(student: Student, email: str) -> bool:
    """Change the student's address, or merge the student into the one who has it."""
    other = Student.objects.with_email(email)
    try:
        if other is None:
            return change_email(student_id=student.pk, email=email, actor=ACTOR)
        return merge_students(merged_id=student.pk, into_id=other.pk, actor=ACTOR)
    except (EmailTaken, CannotMerge):
        return False


def _mail_again(order_id: int) -> None:
    order = locked_order(order_id)
    queue_mail(
        key=f"order-confirmation:{order.pk}:corrected",
        template="order_confirmation",
        to=order.email,
        context={"order_id": order.pk},
    )
    if Gift.objects.filter(order=order).exists():
        # The access is not the buyer's.
        return
    # An access that is not ready yet is mailed to the new address by the worker.
    with suppress(AccessNotReady):
        send_access_mail_again(order_id=order.pk, occasion="corrected")
