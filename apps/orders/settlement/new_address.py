"""What becomes of orders when their student's address changes (docs/rules.md, "Students")."""

from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Exists, OuterRef, Q

from apps.core.database import require_transaction
from apps.core.money import to_cents, to_euros
from apps.core.staff.limits import OverLimit, counted_cents_of, give_discount
from apps.orders.ledger.history import note
from apps.orders.ledger.states import change_status, expire_carts
from apps.orders.models import Order, Payment, PromoUse, StaffOrder
from apps.orders.models.order import OrderQuerySet
from apps.orders.models.statuses import EVER_PAID, UNPAID, EventKind
from apps.orders.promo import uses as promo_uses
from apps.students.models import FormerEmail

CART_EXPIRED = "El correo del alumno ha cambiado: el carrito con el anterior ya no vale"


def orders_that_follow(orders: OrderQuerySet) -> OrderQuerySet:
    """The orders, of these, that a change of their student's address changes, too."""
    return orders.filter(Q(status__in=(*EVER_PAID, Order.Status.CART)) | Q(by_staff__isnull=False))


def expire_plain_carts(*, student_id: int, email: str, actor: str) -> None:
    """Expire the student's carts with this address that nobody is paying, all at once.

    Anybody may have made them, in any number. The caller holds their locks.
    """
    payments = Payment.objects.filter(order=OuterRef("pk"))
    reserved = PromoUse.objects.filter(order=OuterRef("pk"), status=PromoUse.Status.RESERVED)
    plain = Order.objects.filter(
        ~Exists(payments.exclude(status=Payment.Status.CANCELED)),
        ~Exists(reserved),
        student=student_id,
        email__iexact=email,
        status=Order.Status.CART,
        by_staff=None,
    )
    ids = list(plain.order_by("pk").values_list("pk", flat=True))
    expire_carts(ids, kind=EventKind.EXPIRED, actor=actor, reason=CART_EXPIRED)


def follow_student(order: Order, *, email: str, actor: str) -> bool:
    """Give the order its student's new address. False for an order that anybody may have prepared.

    `actor` is the member of staff who changes it: a buyer corrects the address of a paid order
    alone, by a link that is mailed there (`email_correction`).

    Who prepared a cart in the student's name has its token, and would read the new address. So a
    cart expires, with the former address. One with an open payment goes on, without reminders: see
    `address_at_payment`. An order waits for approval, or does so again, if it gives away what was
    approved, or what the actor may not give alone. The caller holds the order's lock.
    """
    require_transaction("follow_student")
    by_staff = getattr(order, "by_staff", None)
    if order.status in EVER_PAID or (by_staff is not None and not by_staff.was_a_cart):
        order.email = email
        order.save(update_fields=["email", "updated_at"])
        _await_approval_again(order, actor=actor)
        return True
    if order.status != Order.Status.CART:
        return False
    if order.payments.open().exists() or order.payments.filter(status="succeeded").exists():
        order.saved_for_later = order.reminders_accepted = False
        order.save(update_fields=["saved_for_later", "reminders_accepted", "updated_at"])
        return False
    promo_uses.release(order)
    change_status(
        order, Order.Status.EXPIRED, kind=EventKind.EXPIRED, actor=actor, reason=CART_EXPIRED
    )
    return False


def _await_approval_again(order: Order, *, actor: str) -> None:
    """What was given or approved for one buyer is not for another address.

    Otherwise a clerk could put the address of a friend, or their own, on a discount that somebody
    with a higher limit gave somebody else.
    """
    row: StaffOrder | None = getattr(order, "by_staff", None)
    # A transfer may arrive for an order that has expired, or that staff have canceled.
    if row is None or order.status not in UNPAID:
        return
    # A clerk's row is locked before orders elsewhere. Here it is locked after them, so nobody waits
    # for it: while another request of the same clerk has it, the order asks for approval.
    users = get_user_model().objects.select_for_update(no_key=True, skip_locked=True)
    user = users.filter(username=actor).first()
    if row.awaits_approval:
        _count_anew(row, user)
        row.save(update_fields=["counted"])
        return
    if not row.approved_by and _gives_alone(row, user):
        reason = ""
    elif row.approved_by:
        reason = f"Lo aprobó {row.approved_by} para otro correo: espera aprobación otra vez"
    else:
        what = "El cambio lo hizo" if row.exchanged_line_id else "El descuento lo dio"
        reason = f"{what} {row.actor} para otro correo: espera aprobación"
    _count_anew(row, user)
    row.awaits_approval, row.approved_by = bool(reason), ""
    row.save(update_fields=["awaits_approval", "approved_by", "counted"])
    if reason:
        note(order, kind=EventKind.APPROVAL_ASKED, actor=actor, reason=reason)


def _count_anew(row: StaffOrder, user: Any) -> None:
    """Let the next edit count what has counted for others, who gave it to the address of before."""
    if row.can_be_edited:
        own_cents = counted_cents_of(user, str(row.order)) if user is not None else 0
        row.counted = min(row.counted, to_euros(own_cents))


def _gives_alone(row: StaffOrder, user: Any) -> bool:
    """Whether the user may give this discount to the new address alone.

    If so, it counts towards their day, unless it has counted for them before.
    """
    if not row.given_cents:
        return True
    if user is None:
        return False
    what = str(row.order)
    try:
        give_discount(
            user,
            full_cents=to_cents(row.agreed + row.discount + row.credit),
            discount_cents=row.given_cents,
            what=what,
            counted_cents=counted_cents_of(user, what),
        )
    except OverLimit:
        return False
    return True


def address_at_payment(order: Order) -> str:
    """The address of the order that is being paid: its student's, if that was changed meanwhile."""
    student = order.student
    former = FormerEmail.objects.filter(student=student, email=order.email.lower())
    has_changed = order.email.lower() != student.email.lower() and former.exists()
    return student.email if has_changed else order.email
