"""What becomes of orders when their student's address changes (docs/rules.md, "Students")."""

from apps.core.database import require_transaction
from apps.orders.ledger.history import note
from apps.orders.ledger.states import change_status
from apps.orders.models import Order, StaffOrder
from apps.orders.models.statuses import EVER_PAID, EventKind
from apps.orders.promo import uses as promo_uses
from apps.students.models import FormerEmail


def follow_student(order: Order, *, email: str, actor: str) -> bool:
    """Give the order its student's new address. False for an order that anybody may have prepared.

    Who prepared a cart in the student's name has its token, and would read the new address. So a
    cart expires, with the former address. One with an open payment goes on, without reminders: see
    `address_at_payment`. An order that a second person has approved waits for it again. The caller
    holds the order's lock.
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
    reason = "El correo del alumno ha cambiado: el carrito con el anterior ya no vale"
    change_status(order, Order.Status.EXPIRED, kind=EventKind.EXPIRED, actor=actor, reason=reason)
    return False


def _await_approval_again(order: Order, *, actor: str) -> None:
    """What was approved for one buyer is not approved for another address.

    Otherwise a clerk could put their own address on a discount approved for somebody else.
    """
    row: StaffOrder | None = getattr(order, "by_staff", None)
    # What arrives for an expired order is flagged, whoever has approved it.
    if row is None or not row.approved_by or order.status != Order.Status.CART:
        return
    reason = f"Lo aprobó {row.approved_by} para otro correo: espera aprobación otra vez"
    row.awaits_approval, row.approved_by = True, ""
    row.save(update_fields=["awaits_approval", "approved_by"])
    note(order, kind=EventKind.APPROVAL_ASKED, actor=actor, reason=reason)


def address_at_payment(order: Order) -> str:
    """The address of the order that is being paid: its student's, if that was changed meanwhile."""
    student = order.student
    former = FormerEmail.objects.filter(student=student, email=order.email.lower())
    has_changed = order.email.lower() != student.email.lower() and former.exists()
    return student.email if has_changed else order.email
